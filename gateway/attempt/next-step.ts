// Which candidate is tried next, or is it enough? Pure: all facts come in.

import type { RouteEntry } from '../contract/routing-table.ts';
import type { Judgement } from './failure.ts';

/** What the decision needs to know of a candidate. */
export interface CandidateFacts {
  /** Key, target and endpoint: candidates of equal value share the blame of a failure in that scope. */
  readonly keyId: string;
  readonly targetId: string;
  readonly endpointId: string;
}

export interface FailedAttempt {
  /** Position in the list of candidates. */
  readonly candidate: number;
  readonly judgement: Judgement;
  readonly retryAfterMs: number | undefined;
}

export type NextStep =
  | { readonly type: 'try'; readonly candidate: number; readonly delayMs: number }
  | { readonly type: 'give-up' };

export interface Situation {
  readonly candidates: readonly CandidateFacts[];
  /** Positions that may be used now; an open or resting one does not count as an attempt. */
  readonly isUsable: (candidate: number) => boolean;
  readonly failed: readonly FailedAttempt[];
  readonly failover: RouteEntry['failover'];
  /** Time left of the one deadline of the request. */
  readonly remainingMs: number;
  readonly random: () => number;
}

/** Longest wait for a key that is the only way left; SDKs wait longer themselves, with their own plan. */
const retryAfterPatienceMs = 5_000;
const sameTargetDelayMs = { min: 100, max: 400 } as const;

export function nextStep(situation: Situation): NextStep {
  const { candidates, isUsable, failed, failover, remainingMs } = situation;
  const last = failed.at(-1);
  if (!last) {
    const first = candidates.findIndex((_, position) => isUsable(position));
    return first === -1 ? { type: 'give-up' } : { type: 'try', candidate: first, delayMs: 0 };
  }
  if (failed.length >= failover.maxAttempts || remainingMs <= 0) return { type: 'give-up' };
  const { reason } = last.judgement;
  if (reason === null || !failover.retryOn.includes(reason)) return { type: 'give-up' };

  // The operator may ask for several tries at one target before the next one.
  const triesOfLast = failed.filter(({ candidate }) => candidate === last.candidate).length;
  if (triesOfLast < failover.attemptsPerTarget && last.judgement.mayRetrySame && isUsable(last.candidate)) {
    return tryAfter(situation, last.candidate, backoffMs(situation, triesOfLast));
  }
  const other = candidates.findIndex(
    (candidate, position) =>
      isUsable(position) && !failed.some((attempt) => isBlamed(candidates, attempt, candidate)),
  );
  if (other !== -1) return { type: 'try', candidate: other, delayMs: 0 };

  // Nothing else is left: the same once more, where that can help.
  if (triesOfLast > Math.max(1, failover.attemptsPerTarget - 1) || !last.judgement.mayRetrySame) {
    return { type: 'give-up' };
  }
  if (last.judgement.keyRest === 'rate-limit') {
    const waitMs = last.retryAfterMs;
    if (!failover.honorRetryAfter || waitMs === undefined || waitMs > retryAfterPatienceMs)
      return { type: 'give-up' };
    return tryAfter(situation, last.candidate, waitMs);
  }
  // This very failure may have opened its circuit: then only the probe may go there.
  if (!isUsable(last.candidate)) return { type: 'give-up' };
  const { min, max } = sameTargetDelayMs;
  return tryAfter(situation, last.candidate, min + situation.random() * (max - min));
}

function tryAfter({ remainingMs }: Situation, candidate: number, delayMs: number): NextStep {
  return delayMs < remainingMs ? { type: 'try', candidate, delayMs } : { type: 'give-up' };
}

function backoffMs({ failover, random }: Situation, tries: number): number {
  const ceiling = Math.min(failover.backoffBaseMs * 2 ** (tries - 1), failover.backoffMaxMs);
  return ceiling * (0.5 + random() / 2);
}

function isBlamed(
  candidates: readonly CandidateFacts[],
  { candidate, judgement }: FailedAttempt,
  other: CandidateFacts,
): boolean {
  const blamed = candidates[candidate];
  if (!blamed) return false;
  switch (judgement.scope) {
    case 'key':
      return blamed.keyId === other.keyId;
    case 'target':
      return blamed.targetId === other.targetId;
    case 'endpoint':
      return blamed.endpointId === other.endpointId;
  }
}
