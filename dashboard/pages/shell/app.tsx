// Is the user signed in? Then the frame with its views, else the sign-in page. A new session loads a new page, so that nothing of the
// last session stays.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SessionAnswer, SignedOutAnswer } from '../../api-types.ts';
import { Button, Notice } from '../parts/basics.tsx';
import { ApiError, openApi } from './api.ts';
import { Frame } from './frame.tsx';
import { openKeeping } from './keeping.ts';
import { followLinks, takeLinkedToken } from './linked-token.ts';
import { serverClock } from './server-clock.ts';
import { SignIn, takeSignInError } from './sign-in.tsx';

type State =
  | { readonly is: 'asking' }
  | { readonly is: 'failed'; readonly message: string }
  | {
      readonly is: 'signed-out';
      readonly signIn: SignedOutAnswer['signIn'];
      readonly note: string | undefined;
      /** The token of the one-time link that was opened. */
      readonly linked: string | undefined;
    }
  | {
      readonly is: 'signed-in';
      readonly session: SessionAnswer;
      /** Why the session is over, while a key that is shown once has to stay. */
      readonly ended?: string;
    };

const answerMs = 30_000;
const overWords = 'Your session has ended. Sign in again.';
const noSession = openApi(undefined, () => {});
const lookUp = () => noSession.call<SessionAnswer>('session', { signal: AbortSignal.timeout(answerMs) });

/** @param isHeld what is shown would be lost. @param note for the page to sign in. */
function stateAfter(
  before: State,
  found: SessionAnswer | ApiError,
  isHeld: boolean,
  note: string | undefined,
  linked: string | undefined,
): State {
  const isSession = !(found instanceof ApiError);
  const signIn = isSession ? undefined : (found.body as SignedOutAnswer | undefined)?.signIn;
  // Not known: with the page, whatever was typed would go.
  if (!isSession && (found.status !== 401 || signIn === undefined))
    return before.is === 'asking' ? { is: 'failed', message: found.message } : before;
  const isOther = before.is === 'signed-in' && !(isSession && found.csrf === before.session.csrf);
  if (isOther && isHeld) return { ...before, ended: note ?? overWords };
  if (isSession) return { is: 'signed-in', session: found };
  return signIn === undefined
    ? before
    : {
        is: 'signed-out',
        signIn,
        note: note ?? (before.is === 'signed-out' ? before.note : undefined),
        linked,
      };
}

export function App() {
  const [state, setState] = useState<State>({ is: 'asking' });
  const keeping = useMemo(openKeeping, []);
  const session = state.is === 'signed-in' ? state.session : undefined;
  const shown = useRef<string | undefined>(undefined);
  shown.current = session?.csrf;
  const round = useRef(0);

  /** Asks for the session. Of several questions at once the last one counts, and none from before a sign-in. */
  const look = useCallback(async (note?: string, linked?: string) => {
    round.current += 1;
    const own = round.current;
    const found = await lookUp().catch((error: ApiError) => error);
    if (own === round.current)
      setState((before) => stateAfter(before, found, keeping.isHeld(), note, linked));
  }, []);
  useEffect(() => {
    void look(takeSignInError(), takeLinkedToken());
    return followLinks();
  }, [look]);

  const api = useMemo(
    () =>
      openApi(session, (why) => {
        // A late refusal says nothing about a newer session.
        if (shown.current === session?.csrf)
          void look(why.code === 'renewal_refused' ? why.message : overWords);
      }),
    [session?.csrf, look],
  );

  // A session that ends by its own time says so before a click fails.
  useEffect(() => {
    if (session === undefined) return;
    const timer = setInterval(() => {
      if (serverClock.now() > Date.parse(session.expiresAt)) void look(overWords);
    }, 30_000);
    return () => clearInterval(timer);
  }, [session, look]);

  /** @throws Error why the session may not have ended. */
  const signOut = async () => {
    const end = (whose: typeof session) =>
      openApi(whose, () => {}).call('session', {
        method: 'DELETE',
        signal: AbortSignal.timeout(answerMs),
      });
    await end(session).catch(async (error: ApiError) => {
      if (error.status === 401) return;
      if (error.code !== 'csrf_missing') throw error;
      // Another tab has a new session. It ends only if it belongs to the same user.
      const present = await lookUp();
      if (present.user.name === session?.user.name) await end(present);
    });
    setState({ is: 'asking' });
    await look('You are signed out.');
  };

  switch (state.is) {
    case 'asking':
      return (
        <main class="alone">
          <p role="status">Loading…</p>
        </main>
      );
    case 'failed':
      return (
        <main class="alone">
          <h1>Penstock</h1>
          <Notice tone="bad" title="The dashboard could not be loaded">
            <p>{state.message}</p>
            <Button onClick={() => location.reload()}>Try again</Button>
          </Notice>
        </main>
      );
    case 'signed-out':
      return (
        <SignIn
          signIn={state.signIn}
          note={state.note}
          linked={state.linked}
          whenSeen={look}
          whenSignedIn={(signedIn) => {
            round.current += 1;
            setState({ is: 'signed-in', session: signedIn });
          }}
        />
      );
    case 'signed-in':
      return (
        <Frame
          key={state.session.csrf}
          session={state.session}
          api={api}
          keeping={keeping}
          ended={state.ended}
          signOut={signOut}
        />
      );
  }
}
