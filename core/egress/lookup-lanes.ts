// Which name is looked up at once, and which one waits? The system's resolver occupies one of the process's few threads for the
// whole lookup, five seconds and more for a name whose servers are dead. Names that were slow or failed the last time share
// a part of those threads, so that no number of dead names delays a healthy one. Among slow names, the likeliest to answer
// comes first: a name that has answered before and failed once precedes names that never answered.

import type { Resolve } from './resolve.ts';

interface LookupLanesOptions {
  readonly resolve: Resolve;
  /** How many names of doubt may be looked up at a time. */
  readonly suspectsMax: number;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs: () => number;
  /** Called when a lookup is over that gave no answer, or none in time. */
  onMiss?(how: LookupMiss): void;
}

export const lookupMisses = ['failed', 'late'] as const;
export type LookupMiss = (typeof lookupMisses)[number];

/** A name that takes longer than this leaves the fast lane. */
const slowMs = 1_000;
// Above this the oldest name is forgotten. A forgotten slow name can occupy a thread of the fast lane again; a forgotten good
// name loses its precedence.
const namesMax = 4_096;

interface Waiting {
  readonly name: string;
  readonly resume: () => void;
}

export function createLookupLanes({ resolve, suspectsMax, nowMs, onMiss }: LookupLanesOptions): Resolve {
  /** How often each of them has been slow or failed in a row. */
  const suspects = new Map<string, number>();
  const answered = new Map<string, true>();
  const waiting: Waiting[] = [];
  let running = 0;

  function judge(name: string, hasAnswer: boolean, isQuick: boolean): void {
    if (hasAnswer) keep(answered, name, true);
    if (hasAnswer && isQuick) suspects.delete(name);
    else {
      keep(suspects, name, (suspects.get(name) ?? 0) + 1);
      onMiss?.(hasAnswer ? 'late' : 'failed');
    }
  }

  /** The lower, the sooner. */
  function rankOf(name: string): number {
    return (suspects.get(name) ?? 0) + (answered.has(name) ? 0 : Number.MAX_SAFE_INTEGER / 2);
  }

  function takeNext(): Waiting | undefined {
    let next = waiting[0];
    for (const each of waiting) if (next && rankOf(each.name) < rankOf(next.name)) next = each;
    if (next) waiting.splice(waiting.indexOf(next), 1);
    return next;
  }

  async function ask(name: string): Promise<readonly string[]> {
    const startedAt = nowMs();
    let hasAnswer = false;
    try {
      const addresses = await resolve(name);
      hasAnswer = true;
      return addresses;
    } finally {
      judge(name, hasAnswer, nowMs() - startedAt <= slowMs);
    }
  }

  async function askInTurn(name: string): Promise<readonly string[]> {
    if (!suspects.has(name)) return ask(name);
    if (running < suspectsMax) running++;
    else await new Promise<void>((resume) => waiting.push({ name, resume }));
    try {
      return await ask(name);
    } finally {
      const next = takeNext();
      // The next lookup takes over the thread.
      if (next) next.resume();
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

/** As the latest of them. */
function keep<Value>(names: Map<string, Value>, name: string, value: Value): void {
  names.delete(name);
  names.set(name, value);
  const [oldest] = names.keys();
  if (names.size > namesMax && oldest !== undefined) names.delete(oldest);
}

/** Threads of libuv's pool by default. */
export const threadsDefault = 4;

/** How many of its threads a pool gives to names of doubt: libuv lets lookups have half of all, and these have half of that. */
export function suspectsMaxOf(threads: number): number {
  return Math.max(1, Math.floor((threads + 1) / 4));
}
