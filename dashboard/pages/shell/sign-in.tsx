// How does somebody sign in? With a token that they paste, with the issuer of their company, or on a laptop by the link that was printed.

import { useEffect, useState } from 'preact/hooks';
import type { SessionAnswer, SignedOutAnswer } from '../../api-types.ts';
import { Button, CodeText, CopyText, Notice } from '../parts/basics.tsx';
import { TextField } from '../parts/fields.tsx';
import { type ApiError, openApi } from './api.ts';

interface SignInProps {
  readonly signIn: SignedOutAnswer['signIn'];
  readonly note: string | undefined;
  /** Of the link by which somebody has come. */
  readonly linked: string | undefined;
  /** Again: somebody may have signed in in another tab. */
  readonly whenSeen: () => void;
  readonly whenSignedIn: (session: SessionAnswer) => void;
}

const api = openApi(undefined, async () => undefined);

/** What `signInError` says in the address that somebody comes back to from an issuer. */
const signInErrors = {
  sign_in_failed:
    'The sign-in by the issuer failed: it said no, or it took too long, or it was begun in another browser. Try again; the log of the dashboard holds the reason.',
  unknown_token:
    'Kubernetes does not take the token that the issuer gave. Sign in with another one; whoever runs the cluster can let its API server take tokens of this issuer and client.',
  token_too_long:
    'The token that the issuer gave is longer than cookies can hold. Sign in with another one, or have the issuer leave groups and claims out of it that Kubernetes does not need.',
  too_many_attempts: 'Too many attempts to sign in have failed; wait a minute, and try again.',
  issuer_unreachable: 'The issuer does not answer; try again in a moment, or sign in with a token.',
  cluster_unreachable: 'Kubernetes does not answer at this moment; try again.',
} as const;

/** Once: whoever loads the page again has not failed again. */
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

  const isLocal = signIn.mode === 'local';
  useEffect(() => {
    // On a cluster nobody prints a link: it would sign people in as whoever has sent it to them.
    if (isLocal && linked !== undefined) void send(linked);
    // Each link that is opened asks for the session, and so brings its own `signIn`: the same one, too, is tried again.
  }, [signIn, linked]);

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
          <p>Open the link that was printed when Penstock started. Each link works once.</p>
        )}
        {isLocal && problem !== undefined && <Notice tone="bad">{problem}</Notice>}
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
                <p>Make a token with your own account, and paste what it prints:</p>
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
              hint="It stays in an encrypted cookie of this browser until you sign out, and is never shown again."
            />
            <Button type="submit" look={signIn.oidc === null ? 'main' : 'plain'} disabled={isSending}>
              {isSending ? 'Signing in…' : 'Sign in'}
            </Button>
          </form>
        )}
      </div>
      <p class="faint small">You see and do here what Kubernetes lets you, and nothing more.</p>
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
