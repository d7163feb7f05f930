// How does a view get its data? It asks, keeps the old data while it asks again, and is notified of changes.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RightName, RightsAnswer, WatchChange } from '../../api-types.ts';
import type { KubeObject, Plural } from '../words/kube.ts';
import { namespacePattern } from '../words/names.ts';
import { ApiError, searchOf } from './api.ts';
import { type AskedState, shownOf } from './asked-state.ts';
import { useShell } from './context.tsx';
import { followChanges } from './follow-changes.ts';
import { type Heard, heardSince, keyOf, mergeHeard, newer, versionOf } from './live-list.ts';
import { serverClock } from './server-clock.ts';

export interface Asked<Answer> {
  readonly answer: Answer | undefined;
  readonly error: ApiError | undefined;
  readonly isAsking: boolean;
  readonly again: () => void;
}

/**
 * @param question what is asked, as text: another text is another question, and undefined none.
 * @param view what the answer is shown as: while another question of the same view is asked, the earlier answer stays. Left out:
 * each question is its own view.
 * @param moment at each other one the same question is asked again: the clock is no part of it, or what was known would be of another question.
 */
export function useAsked<Answer>(
  question: string | undefined,
  ask: (signal: AbortSignal) => Promise<Answer>,
  view = question,
  moment = 0,
): Asked<Answer> {
  const [state, setState] = useState<AskedState<Answer, ApiError>>({ isAsking: question !== undefined });
  const [round, setRound] = useState(0);
  const asking = useRef(ask);
  asking.current = ask;
  useEffect(() => {
    if (question === undefined) {
      setState({ isAsking: false });
      return;
    }
    const controller = new AbortController();
    setState((before) => ({ ...before, isAsking: true }));
    asking.current(controller.signal).then(
      (answer) => {
        if (!controller.signal.aborted) setState({ question, view, answer, isAsking: false });
      },
      (thrown: unknown) => {
        if (controller.signal.aborted) return;
        const error = thrown instanceof ApiError ? thrown : new ApiError(0, 'failed', String(thrown));
        // The last answer to this very question stays, marked as old; an answer to another question would be wrong.
        setState((before) => ({
          question,
          view,
          ...(before.question === question && before.answer !== undefined ? { answer: before.answer } : {}),
          error,
          isAsking: false,
        }));
      },
    );
    return () => controller.abort();
  }, [question, round, moment]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    addEventListener('online', again);
    return () => removeEventListener('online', again);
  }, [again]);
  return { ...shownOf(state, question, view), again };
}

const lookAgainMs = 15_000;

/**
 * Calls when something of the kind has changed; `whenReset` where any of it may have. A hidden page gets no events, and holds no
 * connection: it keeps what it has, and asks again when it is visible.
 *
 * @param everyMs resets at this interval while no event arrives: many windows share few streams.
 */
export function useWatch(
  kind: Plural | undefined,
  namespace: string | undefined,
  whenChanged: (change: WatchChange) => void,
  whenReset: (version?: number) => void,
  everyMs = lookAgainMs,
): void {
  const { isEnded } = useShell();
  const isVisible = useVisible();
  const [isLive, setLive] = useState(false);
  const wasHidden = useRef(false);
  const callbacks = useRef({ whenChanged, whenReset });
  callbacks.current = { whenChanged, whenReset };
  useEffect(() => {
    if (kind === undefined || isEnded) return;
    if (!isVisible) {
      wasHidden.current = true;
      return;
    }
    // Without waiting for a stream, which there may be none of.
    if (wasHidden.current) callbacks.current.whenReset();
    wasHidden.current = false;
    const over = new AbortController();
    const heard = {
      change: (change: WatchChange) => callbacks.current.whenChanged(change),
      reset: (version?: number) => callbacks.current.whenReset(version),
      live: setLive,
    };
    void followChanges(`/api/watch${searchOf({ kind, namespace })}`, heard, over.signal);
    return () => {
      over.abort();
      setLive(false);
    };
  }, [kind, namespace, isVisible, isEnded]);
  useEffect(() => {
    if (kind === undefined || !isVisible || isLive) return;
    const timer = setInterval(() => callbacks.current.whenReset(), everyMs);
    return () => clearInterval(timer);
  }, [kind, namespace, isVisible, isLive, everyMs]);
}

/** Many changes at once are one question; one that waits is not put off by the next, or where things change all the time it never came. */
export function useSoon(ask: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      ask();
    }, 1_000);
  }, [ask]);
}

/** Asks again soon when something of the kind has changed, and until the answer has what was heard: it may come of another pod than the word of it. */
export function useAgainWhenChanged(
  kind: Plural,
  namespace: string | undefined,
  { answer, again }: Pick<Asked<{ readonly resourceVersion: number }>, 'answer' | 'again'>,
): void {
  const heard = useRef(0);
  const askSoon = useSoon(again);
  useWatch(
    kind,
    namespace,
    ({ object }) => {
      heard.current = Math.max(heard.current, versionOf(object as unknown as KubeObject));
      askSoon();
    },
    (version = heard.current) => {
      heard.current = version;
      askSoon();
    },
  );
  useEffect(() => {
    if (answer !== undefined && answer.resourceVersion < heard.current) askSoon();
  }, [answer, askSoon]);
}

export function useVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return isVisible;
}

export function kubePath(plural: Plural, namespace?: string, name?: string): string {
  const within = namespace === undefined ? '' : `namespaces/${encodeURIComponent(namespace)}/`;
  return `kube/apis/penstock.dev/v1alpha1/${within}${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;
}

/** One object, as it is now. */
export function useObject<Kind extends KubeObject>(plural: Plural, namespace: string, name: string) {
  const { api } = useShell();
  const asked = useAsked(`${plural}/${namespace}/${name}`, (signal) =>
    api.call<Kind>(kubePath(plural, namespace, name), { signal }),
  );
  const [changed, setChanged] = useState<Kind | 'deleted' | undefined>(undefined);
  useWatch(
    plural,
    namespace,
    ({ type, object }) => {
      const given = object as unknown as Kind;
      if (given.metadata?.name !== name) return;
      setChanged(type === 'DELETED' ? 'deleted' : given);
      // The object was created after the first question, so a 404 is out of date.
      const isOld = asked.answer === undefined || asked.error?.status === 404;
      if (type !== 'DELETED' && isOld) asked.again();
    },
    asked.again,
    // A user who has just created the object waits for its first status.
    5_000,
  );
  const isDeleted = changed === 'deleted';
  const object = newer(asked.answer, changed === 'deleted' ? undefined : changed);
  return { ...asked, object, isDeleted };
}

/** All objects of a kind, as they are now; where a moment is given, as they were at that one, without a stream. */
export function useObjects<Kind extends KubeObject>(
  plural: Plural,
  namespace: string | undefined,
  moment?: number,
) {
  const { api } = useShell();
  const [heard, setHeard] = useState<ReadonlyMap<string, Heard<Kind>>>(new Map());
  const question = `${plural} ${namespace ?? '*'}`;
  const ask = async (signal: AbortSignal) => {
    const items: Kind[] = [];
    let version: string | undefined;
    let next: string | undefined;
    do {
      const page: List<Kind> = await api.call(kubePath(plural, namespace), {
        query: { limit: 500, continue: next },
        signal,
      });
      items.push(...page.items);
      version = page.metadata?.resourceVersion;
      next = page.metadata?.continue;
    } while (next);
    setHeard((before) => heardSince(before, version));
    return items;
  };
  const asked = useAsked(question, ask, question, moment);
  useWatch(
    moment === undefined ? plural : undefined,
    namespace,
    ({ type, object }) => {
      const given = object as unknown as Kind;
      setHeard((before) =>
        new Map(before).set(keyOf(given), { isDeleted: type === 'DELETED', object: given }),
      );
    },
    asked.again,
  );
  const objects = useMemo(
    () => (asked.answer === undefined ? undefined : mergeHeard(asked.answer, heard)),
    [asked.answer, heard],
  );
  return { ...asked, objects };
}

interface List<Kind> {
  readonly items: readonly Kind[];
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
}

export type May = (right: RightName) => { readonly isAllowed: boolean; readonly missing: string | undefined };

/** For what only opens a form, in which the namespace is chosen: the form asks what may be done there. */
export const mayAnywhere: May = () => ({ isAllowed: true, missing: undefined });

/** The user's rights in a namespace; none while they are unknown. */
export function useRights(namespace: string | undefined): May {
  const { api } = useShell();
  const { answer, error } = useAsked(`rights ${namespace ?? '*'}`, (signal) =>
    api.call<RightsAnswer>('rights', { method: 'POST', body: { namespace: namespace ?? null }, signal }),
  );
  return useCallback(
    (right) => {
      const found = answer?.rights[right];
      if (found !== undefined) return { isAllowed: found.allowed, missing: found.missing ?? undefined };
      return {
        isAllowed: false,
        missing: error === undefined ? undefined : `${right} (your rights could not be loaded)`,
      };
    },
    [answer, error],
  );
}

/** The same of a namespace that is typed, once it is: each letter would ask for all rights of another one. */
export function useRightsWhereTyped(namespace: string): May {
  const typed = useSettled(namespace, 500);
  const isName = namespacePattern.test(typed);
  const may = useRights(isName ? typed : undefined);
  // No rights are asked for in what is no namespace: sending the form reports the field.
  return typed === '' || isName ? may : mayAnywhere;
}

/** As the `moment` of a question: the interval at which it is asked again. */
export const everyMinuteMs = 60_000;

/** Rises every so often, so that "5 minutes ago" stays true. */
export function useNow(everyMs = 30_000): number {
  const [nowMs, setNow] = useState(serverClock.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(serverClock.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}

/** The text of a field, after a pause in typing. */
export function useSettled(value: string, delayMs = 250): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
}
