// Which candidates would be tried, in which order, and after what? The loop of the attempts decides it, as it does for real requests: it is
// shown a request whose every attempt fails in the same way, once for each way. Pure.

import { type AttemptFailure, type Judgement, judgeFailure } from '../attempt/failure.ts';
import { type FailedAttempt, nextStep, type Situation } from '../attempt/next-step.ts';

/** What of a situation does not depend on the attempts before. */
type Circumstance = Omit<Situation, 'failed' | 'remainingMs' | 'random'>;

const silent = { message: '', type: null, code: null, param: null, status: null };
const status = (code: number): AttemptFailure => ({
  kind: 'status',
  status: code,
  error: silent,
  retryAfterMs: undefined,
});

/** Kinds of failure, by the part that is at fault: the whole Provider, one model, one key for good or for a while. */
const ways: readonly { readonly words: string; readonly judgement: Judgement }[] = [
  {
    words: 'cannot be reached',
    failure: { kind: 'transport', code: 'connect_timeout', detail: '' } as const,
  },
  { words: 'answer with errors', failure: status(500) },
  { words: 'are rate limited', failure: status(429) },
  { words: 'refuse their key', failure: status(401) },
].map(({ words, failure }) => ({ words, judgement: judgeFailure(failure) }));

export interface Foreseen {
  /** Position of the candidate that is tried first; undefined: none is. */
  readonly first: number | undefined;
  /** By position of the later candidates: how all earlier ones would have to fail. */
  readonly after: ReadonlyMap<number, readonly string[]>;
}

export function foreseeAttempts(circumstance: Circumstance): Foreseen {
  const after = new Map<number, string[]>();
  let first: number | undefined;
  for (const { words, judgement } of ways) {
    const [begin, ...others] = attemptsWhere(circumstance, judgement);
    first = begin;
    for (const position of others) after.set(position, [...(after.get(position) ?? []), words]);
  }
  return { first, after };
}

/** Each position once, as it is come to. */
function attemptsWhere(circumstance: Circumstance, judgement: Judgement): readonly number[] {
  const failed: FailedAttempt[] = [];
  // Its bound is the route's `maxAttempts`; the number of candidates is another, should that ever be without one.
  for (let at = 0; at <= 2 * circumstance.candidates.length + 1; at++) {
    const step = nextStep({
      ...circumstance,
      failed,
      remainingMs: Number.POSITIVE_INFINITY,
      random: () => 0,
    });
    if (step.type === 'give-up') break;
    failed.push({ candidate: step.candidate, judgement, retryAfterMs: undefined });
  }
  return [...new Set(failed.map(({ candidate }) => candidate))];
}

/** All kinds of failure: a candidate that is tried after each of them is tried in any case. */
export const WAYS: readonly string[] = ways.map(({ words }) => words);
