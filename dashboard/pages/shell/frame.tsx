// What surrounds every view? Navigation, namespace, the signed-in person, and announcements for screen readers.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { NamespacesAnswer, SessionAnswer } from '../../api-types.ts';
import { tabKeys } from '../keys/tab-keys.ts';
import { Button, Notice } from '../parts/basics.tsx';
import { openFormats } from '../words/format.ts';
import type { Api } from './api.ts';
import { AskNamespace } from './ask-namespace.tsx';
import {
  ALL_NAMESPACES,
  Link,
  Said,
  SaidProvider,
  type Shell,
  ShellProvider,
  withNamespace,
} from './context.tsx';
import { HeldBack } from './held-back.tsx';
import type { Keeping } from './keeping.ts';
import { useLeaveGuard } from './leaving.tsx';
import { NamespacePicker } from './namespace-picker.tsx';
import { placeOf } from './place.ts';
import { Mark } from './sign-in.tsx';
import { View } from './view.tsx';

interface FrameProps {
  readonly session: SessionAnswer;
  readonly api: Api;
  readonly keeping: Keeping;
  /** Why the session has ended, where what is shown stays for a key that is kept. */
  readonly ended: string | undefined;
  /** @throws Error why the person may still be signed in. */
  readonly signOut: () => Promise<void>;
}

const ways = [
  { to: '/', label: 'Overview', views: ['overview'] },
  { to: '/requests', label: 'Requests', views: ['requests'] },
  { to: '/keys', label: 'Keys', views: ['keys', 'key', 'new-key'] },
  { to: '/models', label: 'Models', views: ['models', 'plan'] },
  { to: '/playground', label: 'Playground', views: ['playground'] },
  {
    to: '/providers',
    label: 'Providers and routes',
    /** Where there is little room. */
    short: 'Routes',
    views: ['providers', 'provider', 'route', 'new-provider', 'new-route'],
  },
] as const;

const formats = openFormats();

/** Where the browser is. */
const here = () => ({ path: location.pathname, search: location.search });

export function Frame({ session, api, keeping, ended, signOut }: FrameProps) {
  const [{ path, search }, setAddress] = useState(here);
  const [namespaces, setNamespaces] = useState<NamespacesAnswer | undefined>(undefined);
  const [said, setSaid] = useState('');
  const [notSignedOut, setNotSignedOut] = useState<string | undefined>(undefined);
  const isOnline = useOnline();
  const { leave, question } = useLeaveGuard(keeping);

  useEffect(() => {
    const follow = () => {
      if (location.pathname !== path && keeping.isHeld()) {
        // The browser has gone there already: it is brought back, and goes there again once it may.
        history.pushState(null, '', `${path}${search}`);
        leave(() => history.back());
      } else setAddress(here());
    };
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, [path, search, keeping, leave]);

  // Another session has another frame.
  useEffect(() => tabKeys.forget, []);

  useEffect(() => {
    const own = session.namespace === null ? [] : [session.namespace];
    api.call<NamespacesAnswer>('namespaces').then(setNamespaces, () =>
      // A user who cannot list them can still type one.
      setNamespaces({ namespaces: own, isComplete: false }),
    );
  }, [api, session.namespace]);

  const go = useCallback<Shell['go']>(
    (to, { replaces = false } = {}) => {
      const next = withNamespace(to, location.search);
      const move = () => {
        if (replaces) history.replaceState(null, '', next);
        else history.pushState(null, '', next);
        setAddress(here());
      };
      const [there] = next.split('?');
      if (there === location.pathname) move();
      else leave(move);
    },
    [leave],
  );

  // Announced again even if the text is the same.
  const announce = useCallback((text: string) => {
    setSaid('');
    setTimeout(() => setSaid(text), 50);
  }, []);

  const picked = new URLSearchParams(search).get('namespace');
  // A single namespace, as on a laptop, leaves no choice.
  const hasSeveral = namespaces?.isComplete && namespaces.namespaces.length !== 1;
  const usual = session.namespace ?? (hasSeveral ? ALL_NAMESPACES : (namespaces?.namespaces[0] ?? ''));
  // Empty is no name: it would be asked for as all of them.
  const namespace = picked || usual;
  const place = placeOf(path);
  const isOfOne = 'namespace' in place || place.view === 'not-found';
  useEffect(() => {
    // On a phone the row of views is wider than the screen.
    const current = document.querySelector('.ways [aria-current]');
    current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [place.view]);
  const isLoading = namespaces === undefined;
  const isNamespaceAsked = !isLoading && namespace === '' && !isOfOne;

  const shell = useMemo<Shell>(
    () => ({
      session,
      isEnded: ended !== undefined,
      api,
      formats,
      namespaces: namespaces ?? { namespaces: [], isComplete: false },
      namespace: namespace === ALL_NAMESPACES || namespace === '' ? undefined : namespace,
      path,
      search,
      go,
      leave,
      keeping,
      announce,
    }),
    [session, ended, api, namespaces, namespace, path, search, go, leave, keeping, announce],
  );

  const pick = (next: string) => {
    const at = new URLSearchParams(location.search);
    if (next === usual) at.delete('namespace');
    else at.set('namespace', next);
    // The choice holds for the present view, but not for its page and its filters.
    at.delete('offset');
    const text = at.toString();
    history.pushState(null, '', `${location.pathname}${text === '' ? '' : `?${text}`}`);
    setAddress(here());
  };

  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // Where a view comes in place of another, the focus goes to its heading, which is read out; of a question, to its field.
  useEffect(() => {
    const heading = main.current?.querySelector('h1');
    document.title = `${heading?.textContent ?? 'Dashboard'} · Penstock`;
    const field = main.current?.querySelector<HTMLElement>('.ask input');
    if (field) field.focus();
    else if (!isFirst.current) heading?.focus({ preventScroll: false });
    isFirst.current = isLoading;
    scrollTo(0, 0);
  }, [path, isLoading, isNamespaceAsked]);

  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <SaidProvider value={said}>
        <ShellProvider value={shell}>
          <header class="top">
            <div class="top-row">
              <Link to="/" class="brand">
                <Mark /> Penstock
              </Link>
              {!isLoading && !isNamespaceAsked && (
                <NamespacePicker all={ALL_NAMESPACES} value={namespace} onPick={pick} />
              )}
              <details class="person" ref={useClosing()}>
                <summary>
                  <span class="person-name">{shortName(session.user.name)}</span>
                </summary>
                <div class="person-menu">
                  <p class="small">{session.user.name}</p>
                  <p class="small faint">Signed in until {formats.time(session.expiresAt)}</p>
                  <Button
                    onClick={() =>
                      leave(() => {
                        setNotSignedOut(undefined);
                        signOut().catch(({ message }: Error) => setNotSignedOut(message));
                      })
                    }
                  >
                    Sign out
                  </Button>
                </div>
              </details>
            </div>
            <nav class="ways" aria-label="Views">
              {ways.map(({ to, label, views, ...more }) => (
                <Link key={to} to={to} current={(views as readonly string[]).includes(place.view)}>
                  {'short' in more ? (
                    <>
                      <span class="roomy">{label}</span>
                      <span class="tight">{more.short}</span>
                    </>
                  ) : (
                    label
                  )}
                </Link>
              ))}
            </nav>
          </header>
          <main id="main" ref={main} tabIndex={-1}>
            {ended !== undefined && (
              <Notice tone="bad" title="Copy the key before you sign in again">
                <p>{ended}</p>
                <Button onClick={() => leave(() => location.reload())}>Continue</Button>
              </Notice>
            )}
            {notSignedOut !== undefined && (
              <Notice tone="bad" title="You may still be signed in">
                <p>{notSignedOut}</p>
              </Notice>
            )}
            <HeldBack session={session} api={api} path={path} />
            {!isOnline && (
              <Notice tone="warn" title="You are offline">
                <p>The page may be outdated. It refreshes when the connection is back.</p>
              </Notice>
            )}
            {isLoading ? (
              <div class="loading" role="status">
                <h1 tabIndex={-1}>Loading…</h1>
              </div>
            ) : isNamespaceAsked ? (
              <AskNamespace onPick={pick} />
            ) : (
              <View key={path} place={place} />
            )}
          </main>
          {question}
          <footer class="foot">
            <p>
              Penstock {session.version}
              {session.mode === 'local' && ' · local mode'} · {zoneWords(zoneName())}
            </p>
          </footer>
        </ShellProvider>
        <Said />
      </SaidProvider>
    </>
  );
}

/** A menu closes on Escape and on a click elsewhere. */
function useClosing() {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (isFocused: boolean) => {
      if (menu.current === null || !menu.current.open) return;
      menu.current.open = false;
      if (isFocused) menu.current.querySelector('summary')?.focus();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close(true);
    };
    const onClick = (event: MouseEvent) => {
      if (event.target instanceof Node && !menu.current?.contains(event.target)) close(false);
    };
    addEventListener('keydown', onKey);
    addEventListener('click', onClick);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('click', onClick);
    };
  }, []);
  return menu;
}

function useOnline(): boolean {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    addEventListener('online', look);
    addEventListener('offline', look);
    return () => {
      removeEventListener('online', look);
      removeEventListener('offline', look);
    };
  }, []);
  return isOnline;
}

/** A ServiceAccount by its own name, as its namespace is shown elsewhere. */
function shortName(name: string): string {
  return /^system:serviceaccount:[^:]+:(.+)$/.exec(name)?.[1] ?? name;
}

/** Budgets and days of the ledger are in UTC for everybody. */
function zoneWords(zone: string): string {
  return zone === 'UTC' ? 'all times in UTC' : `times in ${zone}; budgets and ledger days in UTC`;
}

function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
