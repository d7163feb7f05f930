// Which streams are open for a session? So many at most, and all of them end with it.

import type { Session } from './session.ts';

export interface LiveStreams {
  /** Gives a function that removes it; undefined if there are too many. */
  add(session: Pick<Session, 'id'>, end: () => void): (() => void) | undefined;
  /** The session is over. */
  end(session: Pick<Session, 'id'>): void;
  endAll(): void;
  /** Of all sessions. */
  count(): number;
}

const perSessionMax = 8;
const allMax = 2_000;

export function openLiveStreams(): LiveStreams {
  const streams = new Map<string, Set<() => void>>();
  let count = 0;
  const endThose = (ends: Iterable<() => void>): void => {
    for (const end of [...ends]) end();
  };
  return {
    add({ id }, end) {
      const own = streams.get(id) ?? new Set();
      if (own.size >= perSessionMax || count >= allMax) return undefined;
      streams.set(id, own.add(end));
      count += 1;
      return () => {
        if (!own.delete(end)) return;
        count -= 1;
        if (own.size === 0) streams.delete(id);
      };
    },
    end: ({ id }) => endThose(streams.get(id) ?? []),
    endAll: () => endThose([...streams.values()].flatMap((own) => [...own])),
    count: () => count,
  };
}
