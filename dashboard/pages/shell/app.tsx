// Is somebody signed in? Then the frame with its views, else the sign-in page. The address is kept either way.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SessionAnswer, SignedOutAnswer } from '../../api-types.ts';
import { Button, Notice } from '../parts/basics.tsx';
import { type ApiError, openApi } from './api.ts';
import { Frame, type NotSignedOut } from './frame.tsx';
import { openKeeping } from './keeping.ts';
import { takeLinkedToken } from './linked-token.ts';
import { openLookUps } from './look-ups.ts';
import { serverClock } from './server-clock.ts';
import { SignIn, takeSignInError } from './sign-in.tsx';

type State =
  | { readonly is: 'asking' }
  | { readonly is: 'failed'; readonly message: string }
  | {
      readonly is: 'signed-out';
      readonly signIn: SignedOutAnswer['signIn'];
      readonly note: string | undefined;
      readonly linked: string | undefined;
    }
  | {
      readonly is: 'signed-in';
      readonly session: SessionAnswer;
      /** Why the session is over, while what is shown has to stay. */
      readonly ended?: string;
      /** That it goes on, though somebody has signed out. */
      readonly notSignedOut?: NotSignedOut | undefined;
    };

type Found =
  | { readonly session: SessionAnswer; readonly error?: never }
  | { readonly session?: never; readonly error: ApiError };

const pastEndMs = 30_000;
const answerMs = 30_000;
const ofAnother = 'Another person has signed in in this browser.';
const noSession = openApi(undefined, async () => undefined);

/** Bounded, as all wait for the one that is under way. */
function lookUp(): Promise<Found> {
  return noSession.call<SessionAnswer>('session', { signal: AbortSignal.timeout(answerMs) }).then(
    (session) => ({ session }),
    (error: ApiError) => ({ error }),
  );
}

export function App() {
  const [state, setState] = useState<State>({ is: 'asking' });
  const keeping = useMemo(openKeeping, []);
  const lookUps = useMemo(() => openLookUps<Found, SessionAnswer | undefined>(lookUp), []);
  const session = state.is === 'signed-in' ? state.session : undefined;
  const shownTo = useRef<string | undefined>(undefined);
  shownTo.current = session?.user.name;
  /** Of the link by which somebody has come: for the next page to sign in; while a session lives none is needed, and it stays good for another browser. */
  const linked = useRef<string | undefined>(undefined);

  /** @returns the session that is there now; undefined where there is none, or it is another's than what has to stay. */
  const ask = useCallback(
    (note?: string) =>
      lookUps.ask(({ session: present, error }) => {
        const isAnothers = shownTo.current !== undefined && shownTo.current !== present?.user.name;
        const isKept = isAnothers && keeping.isHeld();
        const keep = (ended: string) =>
          setState((before) => (before.is === 'signed-in' ? { ...before, ended } : before));
        if (present !== undefined) {
          if (isKept) {
            keep(ofAnother);
            return undefined;
          }
          linked.current = undefined;
          setState({ is: 'signed-in', session: present });
          return present;
        }
        const signIn = (error.body as SignedOutAnswer | undefined)?.signIn;
        const why = error.code === 'renewal_refused' ? error.message : note;
        const token = linked.current;
        const isAsIs = (before: State) => before.is === 'signed-out' && token === undefined;
        if (error.status !== 401 || signIn === undefined)
          // It is not known that the session is over: with the page would go whatever was typed.
          setState((before) =>
            before.is === 'signed-in' || isAsIs(before) ? before : { is: 'failed', message: error.message },
          );
        else if (isKept) keep(why ?? error.message);
        else {
          setState((before) =>
            isAsIs(before) ? before : { is: 'signed-out', signIn, note: why, linked: token },
          );
          linked.current = undefined;
        }
        return undefined;
      }),
    [keeping, lookUps],
  );
  useEffect(() => {
    const follow = () => {
      const token = takeLinkedToken();
      if (token === undefined) return;
      linked.current = token;
      void ask();
    };
    linked.current = takeLinkedToken();
    void ask(takeSignInError());
    // A link that is opened in a tab that is there already loads nothing.
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, [ask]);

  const whenSignedOut = useCallback(
    (why?: ApiError) =>
      ask(why?.code === 'renewal_refused' ? why.message : 'Your session has ended. Sign in again.'),
    [ask],
  );
  const api = useMemo(() => openApi(session, whenSignedOut), [session?.user.name, whenSignedOut]);

  // A session that ends by its own time says so before a click fails.
  useEffect(() => {
    if (session === undefined) return;
    const leftMs = Date.parse(session.expiresAt) - serverClock.now();
    // Longer than a timer can count, it is asked for at the next call.
    if (leftMs > 2 ** 31 - 1) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const askIn = (ms: number) => {
      timer = setTimeout(async () => {
        await whenSignedOut();
        // As long as it is the same one: the server may be away at its end.
        if (timer !== undefined) askIn(pastEndMs);
      }, ms);
    };
    // The server has just called it good: where its end is past here, the clocks disagree, and it is not asked for each second.
    askIn(leftMs > 0 ? leftMs + 1_000 : pastEndMs);
    return () => {
      clearTimeout(timer);
      timer = undefined;
    };
  }, [session, whenSignedOut]);

  /** Somebody has signed in or out: what was asked before is heard by nobody, and a link of before signs nobody in. */
  const overtake = () => {
    lookUps.overtake();
    linked.current = undefined;
  };

  const signOut = async () => {
    const refusal = await api
      .call<undefined>('session', { method: 'DELETE', signal: AbortSignal.timeout(answerMs) })
      .catch((error: ApiError) => error);
    overtake();
    if (refusal === undefined) setState({ is: 'asking' });
    const left = await ask('You are signed out.');
    if (refusal === undefined) return;
    const why = refusal.code === 'csrf_missing' ? ofAnother : refusal.message;
    const notSignedOut = { isKnown: left !== undefined, why };
    setState((before) => (before.is === 'signed-in' ? { ...before, notSignedOut } : before));
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
            <Button onClick={() => void ask()}>Try again</Button>
          </Notice>
        </main>
      );
    case 'signed-out':
      return (
        <SignIn
          signIn={state.signIn}
          note={state.note}
          linked={state.linked}
          whenSeen={ask}
          whenSignedIn={(signedIn) => {
            overtake();
            setState({ is: 'signed-in', session: signedIn });
          }}
        />
      );
    case 'signed-in':
      return (
        <Frame
          // Of one person nothing stays for another.
          key={state.session.user.name}
          session={state.session}
          api={api}
          keeping={keeping}
          ended={state.ended}
          notSignedOut={state.notSignedOut}
          whenRead={() =>
            setState((before) =>
              before.is === 'signed-in' ? { ...before, notSignedOut: undefined } : before,
            )
          }
          signIn={async () => (await ask('Your session has ended. Sign in again.')) !== undefined}
          signOut={signOut}
        />
      );
  }
}
