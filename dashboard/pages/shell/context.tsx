// What does every view need to know? Who is signed in, where we are, and how to ask; handed down by the shell.

import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { NamespacesAnswer, SessionAnswer } from '../../api-types.ts';
import type { Formats } from '../words/format.ts';
import type { Api } from './api.ts';
import type { Keeping } from './keeping.ts';

export interface Shell {
  readonly session: SessionAnswer;
  /** The session is over, and the page stays as it is: the browser's cookie may now be another person's. */
  readonly isEnded: boolean;
  readonly api: Api;
  readonly formats: Formats;
  readonly namespaces: NamespacesAnswer;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  readonly path: string;
  readonly search: string;
  /** @param to a path with its search; the namespace is kept. */
  readonly go: (to: string, options?: { readonly replaces?: boolean }) => void;
  /** Does it at once, or after the user agrees to lose a key that was not copied. */
  readonly leave: (then: () => void) => void;
  readonly keeping: Keeping;
  /** Announced to screen readers. */
  readonly announce: (text: string) => void;
}

/** In the address, as the choice of all. */
export const ALL_NAMESPACES = '*';

const ShellContext = createContext<Shell | undefined>(undefined);
export const ShellProvider = ShellContext.Provider;

export function useShell(): Shell {
  const shell = useContext(ShellContext);
  if (shell === undefined) throw new Error('a view is shown inside the shell alone');
  return shell;
}

/** The last announcement. A dialog repeats it, because a screen reader does not hear the page under a dialog. */
const SaidContext = createContext('');
export const SaidProvider = SaidContext.Provider;

export function Said() {
  return (
    <p class="unseen" role="status" aria-live="polite">
      {useContext(SaidContext)}
    </p>
  );
}

export interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A link within the dashboard: changes the address without reloading the page. */
export function Link({ to, class: name, current = false, children }: LinkProps) {
  const { go, search } = useShell();
  const href = withNamespace(to, search);
  return (
    <a
      href={href}
      class={name}
      aria-current={current ? 'page' : undefined}
      onClick={(event) => {
        if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}

/** For a link to what may be of other namespaces than the picked one. Undefined: the person chooses among those that they know. */
export function useAllNamespaces(): string | undefined {
  const { namespaces, isComplete } = useShell().namespaces;
  return isComplete && namespaces.length !== 1 ? ALL_NAMESPACES : undefined;
}

/** The namespace that was picked goes along from view to view. */
export function withNamespace(to: string, search: string): string {
  const namespace = new URLSearchParams(search).get('namespace');
  const [path = '/', query = ''] = to.split('?');
  const next = new URLSearchParams(query);
  if (namespace !== null && !next.has('namespace')) next.set('namespace', namespace);
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}
