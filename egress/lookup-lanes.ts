// Which name is looked up at once, and which one waits? The system's resolver occupies one of the process's few threads for as
// long as it takes, five seconds and more for a name whose servers are dead. Names that were slow or failed the last time share
// a part of those threads, so that no number of dead names keeps a healthy one waiting.

import type { Resolve } from './resolve.ts';

export interface LookupLanesOptions {
  readonly resolve: Resolve;
  /** How many names of doubt may be looked up at a time. */
  readonly doubtedMax: number;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs: () => number;
}

/** Whoever takes longer than this is not waited for twice in the lane of the quick ones. */
const slowMs = 1_000;
// Beyond this the oldest doubt is forgotten: that name takes a thread of the quick ones once more.
const doubtedNamesMax = 4_096;

export function createLookupLanes({ resolve, doubtedMax, nowMs }: LookupLanesOptions): Resolve {
  const doubted = new Set<string>();
  const waiting: (() => void)[] = [];
  let running = 0;

  function judge(name: string, isQuick: boolean): void {
    doubted.delete(name);
    if (isQuick) return;
    doubted.add(name);
    const [oldest] = doubted;
    if (doubted.size > doubtedNamesMax && oldest !== undefined) doubted.delete(oldest);
  }

  async function ask(name: string): Promise<readonly string[]> {
    const startedAt = nowMs();
    let hasAnswer = false;
    try {
      const addresses = await resolve(name);
      hasAnswer = true;
      return addresses;
    } finally {
      judge(name, hasAnswer && nowMs() - startedAt <= slowMs);
    }
  }

  async function askInTurn(name: string): Promise<readonly string[]> {
    if (!doubted.has(name)) return ask(name);
    if (running < doubtedMax) running++;
    else await new Promise<void>((resume) => waiting.push(resume));
    try {
      return await ask(name);
    } finally {
      const next = waiting.shift();
      // Whoever waits takes over the place.
      if (next) next();
      else running--;
    }
  }

  // Any number of connectors may want the same name; it is one question.
  const questions = new Map<string, Promise<readonly string[]>>();
  return (name) => {
    const asked = questions.get(name);
    if (asked !== undefined) return asked;
    const question = askInTurn(name).finally(() => questions.delete(name));
    questions.set(name, question);
    return question;
  };
}

/** Threads of libuv's pool where nobody says otherwise. */
export const threadsDefault = 4;

/** How many of its threads a pool gives to names of doubt: libuv lets lookups have half of all, and these have half of that. */
export function doubtedMaxOf(threads: number): number {
  return Math.max(1, Math.floor((threads + 1) / 4));
}
