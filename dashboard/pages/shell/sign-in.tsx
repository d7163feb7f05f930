// How does a person sign in? With a pasted token, by single sign-on, or in local mode with the printed link.

import { useEffect, useState } from 'preact/hooks';
import type { SessionAnswer, SignedOutAnswer } from '../../api-types.ts';
import { Button, CodeText, CopyText, Notice } from '../parts/basics.tsx';
import { TextField } from '../parts/fields.tsx';
import { ApiError, openApi } from './api.ts';

interface SignInProps {
  readonly signIn: SignedOutAnswer['signIn'];
  readonly note: string | undefined;
  /** The token of the one-time link that was opened. */
  readonly linked: string | undefined;
  /** The person may have signed in in another tab. */
  readonly whenSeen: () => void;
  readonly whenSignedIn: (session: SessionAnswer) => void;
}

const api = openApi(undefined, () => {});

/** The codes of `signInError` in the address after single sign-on. */
const signInErrors = {
  sign_in_failed:
    'Single sign-on failed: it was denied, timed out, or started in another browser. Try again. The dashboard log has the reason.',
  unknown_token:
    'Kubernetes rejects the token of the issuer. Sign in with another token, or ask the cluster administrator to trust this issuer and client.',
  token_too_long:
    'The token of the issuer is too long for a cookie. Sign in with another token, or remove groups and claims from it at the issuer.',
  too_many_attempts: 'Too many failed sign-ins. Try again in a minute.',
  issuer_unreachable: 'The issuer does not answer. Try again, or sign in with a token.',
  cluster_unreachable: 'Kubernetes does not answer. Try again.',
} as const;

/** Once: a reload is no second failure. */
export function takeSignInError(): string | undefined {
  const at = new URL(location.href);
  const code = at.searchParams.get('signInError');
  if (code === null) return undefined;
  at.searchParams.delete('signInError');
  history.replaceState(null, '', at);
  return signInErrors[
    Object.hasOwn(signInErrors, code) ? (code as keyof typeof signInErrors) : 'sign_in_failed'
  ];
}

export function SignIn({ signIn, note, linked, whenSeen, whenSignedIn }: SignInProps) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [isPrinted, setPrinted] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Penstock';
  }, []);
  useEffect(() => {
    const follow = () => {
      if (document.visibilityState === 'visible') whenSeen();
    };
    addEventListener('focus', follow);
    addEventListener('visibilitychange', follow);
    return () => {
      removeEventListener('focus', follow);
      removeEventListener('visibilitychange', follow);
    };
  }, [whenSeen]);

  const send = async (text: string) => {
    if (text.trim() === '') {
      setProblem('Paste a token first.');
      return;
    }
    setSending(true);
    setProblem(undefined);
    try {
      const session = await api.call<SessionAnswer>('session', {
        method: 'POST',
        body: { token: text.trim() },
      });
      setToken('');
      whenSignedIn(session);
    } catch (error) {
      setProblem((error as ApiError).message);
      setSending(false);
    }
  };

  /** A token that is no link's: the process prints the link that works. */
  const printLink = async () => {
    const refusal = await api
      .call('session', { method: 'POST', body: { token: 'none' } })
      .catch((error: ApiError) => error);
    if (refusal instanceof ApiError && refusal.code !== 'unknown_token') setProblem(refusal.message);
    else setPrinted(true);
  };

  const isLocal = signIn.mode === 'local';
  useEffect(() => {
    // Not on a cluster: a link would sign people in as its sender.
    if (isLocal && linked !== undefined) void send(linked);
  }, [linked]);

  const to = encodeURIComponent(location.pathname + location.search);
  return (
    <main class="alone">
      <div class="brand large">
        <Mark /> Penstock
      </div>
      <div class="panel">
        <h1>Sign in</h1>
        {note !== undefined && (
          <p role="status" class="note">
            {note}
          </p>
        )}
        {isLocal && problem === undefined && (
          <p>Open the link in the terminal where Penstock runs. Each link works once.</p>
        )}
        {isLocal && problem !== undefined && <Notice tone="bad">{problem}</Notice>}
        {isLocal && (
          <div class="row note">
            <Button onClick={() => void printLink()}>Print a new link in the terminal</Button>
            <span role="status">{isPrinted && 'Printed.'}</span>
          </div>
        )}
        {signIn.oidc !== null && (
          <>
            <a class="button main block" href={`/api/oidc/start?to=${to}`}>
              Sign in with {signIn.oidc.name}
            </a>
            <p class="or">
              <span>or with a token</span>
            </p>
          </>
        )}
        {!isLocal && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void send(token);
            }}
          >
            {signIn.tokenCommand !== '' && (
              <>
                <p>Create a token with your own account and paste it:</p>
                <div class="code">
                  <CodeText text={signIn.tokenCommand} label="Command that prints a token" />
                  <CopyText text={signIn.tokenCommand} label="Copy" />
                </div>
              </>
            )}
            <TextField
              label="Token"
              type="password"
              value={token}
              onInput={setToken}
              problem={problem}
              hint="Kept in an encrypted cookie until you sign out."
            />
            <Button type="submit" look={signIn.oidc === null ? 'main' : 'plain'} disabled={isSending}>
              {isSending ? 'Signing in…' : 'Sign in'}
            </Button>
          </form>
        )}
      </div>
      <p class="faint small">
        {isLocal
          ? 'Local mode: only this machine can open the dashboard.'
          : 'The dashboard has exactly your Kubernetes rights.'}
      </p>
    </main>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M8 7v18M8 12h9a7 7 0 0 1 7 7v6M8 19h6a3 3 0 0 1 3 3v3" />
    </svg>
  );
}
