// Which candidate is tried next, or is it enough? Pure: all facts come in.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import type { Judgement } from './failure.ts';

/** What the decision needs to know of a candidate. */
export interface CandidateFacts {
  /** Key, target and endpoint: candidates of equal value share the blame of a failure in that scope. */
  readonly keyId: string;
  readonly targetId: string;
  readonly endpointId: string;
  /** Candidates of one number are peers; a lower one is asked first. */
  readonly tier: number;
  /** Tokens that fit into its model; undefined: unknown. */
  readonly contextLength?: number | undefined;
}

export interface FailedAttempt {
  /** Position in the list of candidates. */
  readonly candidate: number;
  readonly judgement: Judgement;
  /** Retry delay that the upstream stated, from the end of the attempt. */
  readonly retryAfterMs: number | undefined;
  /** How much of that was waited out. */
  readonly waitedMs?: number;
}

export type NextStep =
  | { readonly type: 'try'; readonly candidate: number; readonly delayMs: number }
  | { readonly type: 'give-up' };

export interface Situation {
  readonly candidates: readonly CandidateFacts[];
  /** Positions that may be used now; an open one or one in cooldown does not count as an attempt. */
  readonly isUsable: (candidate: number) => boolean;
  /** Positions whose breaker is closed: they may be asked again, although another could be. Says nothing of keys in cooldown. */
  readonly isClosed: (candidate: number) => boolean;
  /** Positions whose target has retry budget left. */
  readonly hasRetryBudget: (candidate: number) => boolean;
  /** If none is usable: the candidate that is tried nevertheless, now and then. */
  readonly lastResort: () => number | undefined;
  readonly failed: readonly FailedAttempt[];
  readonly failover: RouteEntry['failover'];
  /** The request does more than answer: it must not be sent again where it may have been acted on. */
  readonly hasSideEffects: () => boolean;
  /**
   * How long a candidate's key is still in cooldown after a rate limit, if nothing else rules it out. A request that has waited for it
   * waits for its trial too.
   */
  readonly coolsForMs: (candidate: number, hasWaited: boolean) => number | undefined;
  /** Waited so far, before the first attempt, for a key that cools. */
  readonly waitedMs: number;
  /** Time left of the one deadline of the request. */
  readonly remainingMs: number;
  readonly random: () => number;
}

/** Waiting for a cooldown up to this is better than another model, or an error. SDKs handle longer waits by their own backoff. */
const shortRestMs = 2_500;
/** Longest wait in all for a key whose trial call belongs to another request. */
const trialPatienceMs = 5_000;
/** A key that is the only one is waited for so long before the first attempt; and as long again while another call tries it. */
const coolingPatienceMs = 2_000;
/** For an overloaded upstream: the longest wait that it may ask for, and our own first wait. */
const overloadPatienceMs = 8_000;
const overloadBackoffMs = 500;
const sameTargetDelayMs = { min: 100, max: 400 } as const;

export function nextStep(situation: Situation): NextStep {
  const last = situation.failed.at(-1);
  return last === undefined ? firstStep(situation) : stepAfter(situation, last);
}

function firstStep(situation: Situation): NextStep {
  for (let candidate = 0; candidate < situation.candidates.length; candidate++)
    if (situation.isUsable(candidate)) return { type: 'try', candidate, delayMs: 0 };
  const cooling = soonestCool(situation);
  if (cooling !== undefined) return cooling;
  const chosen = situation.lastResort();
  return chosen === undefined ? { type: 'give-up' } : { type: 'try', candidate: chosen, delayMs: 0 };
}

function stepAfter(situation: Situation, last: FailedAttempt): NextStep {
  const { candidates, failed, failover, remainingMs } = situation;
  // guard: attempts-max
  if (failed.length >= failover.maxAttempts || remainingMs <= 0) return { type: 'give-up' };
  const { reason, mayRetrySame } = last.judgement;
  // guard: retry-reason
  if (reason === null || !failover.retryOn.includes(reason)) return { type: 'give-up' };
  // guard: retry-side-effects
  if (last.judgement.mayHaveActed && situation.hasSideEffects()) return { type: 'give-up' };

  const triesOfLast = failed.filter(({ candidate }) => candidate === last.candidate).length;
  const hasBudget = mayRetrySame && situation.hasRetryBudget(last.candidate);
  // The operator may ask for several tries at one target before the next one.
  if (triesOfLast < failover.attemptsPerTarget && hasBudget && situation.isUsable(last.candidate)) {
    return tryAfter(situation, last.candidate, backoffMs(situation, triesOfLast));
  }
  const left = candidates.flatMap((candidate, position) =>
    situation.isUsable(position) && isWorthTrying(situation, candidate) ? [position] : [],
  );
  const other = pickOther(situation, left);
  if (other !== undefined) {
    if (hasBudget && triesOfLast === 1 && isSoonBack(situation, last, left)) {
      return tryAfter(situation, last.candidate, waitLeftMs(last));
    }
    const isAgain = hasBudget && triesOfLast === 1 && mayGoAgain(situation, last, left);
    return { type: 'try', candidate: isAgain ? last.candidate : other, delayMs: 0 };
  }

  // Nothing else is left: the same again, where that can help.
  const { retriesAlone } = last.judgement;
  const retriesMax = retriesAlone === 0 ? 0 : Math.max(retriesAlone, failover.attemptsPerTarget - 1);
  if (triesOfLast > retriesMax || !situation.hasRetryBudget(last.candidate)) return { type: 'give-up' };
  const askedMs = failover.honorRetryAfter ? last.retryAfterMs : undefined;
  if (last.judgement.keyCooldown === 'rate-limit') {
    const patienceMs = last.waitedMs === undefined ? shortRestMs : trialPatienceMs;
    if (askedMs === undefined || askedMs > patienceMs) return { type: 'give-up' };
    return tryAfter(situation, last.candidate, waitLeftMs(last));
  }
  // This very failure may have opened its circuit: then only the probe may go there.
  if (!situation.isUsable(last.candidate)) return { type: 'give-up' };
  if (reason === 'Overloaded') {
    if (askedMs !== undefined && askedMs > overloadPatienceMs) return { type: 'give-up' };
    const ownMs = jittered(situation, overloadBackoffMs * 2 ** (triesOfLast - 1));
    return tryAfter(situation, last.candidate, askedMs || ownMs);
  }
  const { min, max } = sameTargetDelayMs;
  return tryAfter(situation, last.candidate, min + situation.random() * (max - min));
}

/** If all keys are in cooldown, a short wait is better than an error. */
function soonestCool(situation: Situation): NextStep | undefined {
  const { candidates, waitedMs, failover } = situation;
  if (!failover.honorRetryAfter) return undefined;
  const waits = candidates.flatMap((_, candidate) => {
    const delayMs = situation.coolsForMs(candidate, waitedMs > 0);
    return delayMs === undefined ? [] : [{ candidate, delayMs }];
  });
  const [soonest] = waits.toSorted((a, b) => a.delayMs - b.delayMs);
  if (soonest === undefined || soonest.delayMs > coolingPatienceMs) return undefined;
  if (waitedMs + soonest.delayMs > 2 * coolingPatienceMs) return undefined;
  const step = tryAfter(situation, soonest.candidate, soonest.delayMs);
  return step.type === 'try' ? step : undefined;
}

/**
 * The keys of one account are often refused alike: the last attempt is for a provider that has not been asked, or else for such a
 * target. If no key was to blame, for a target.
 */
function pickOther({ candidates, failed, failover }: Situation, left: readonly number[]): number | undefined {
  const [first] = left;
  if (failed.length + 1 < failover.maxAttempts) return first;
  const notAsked = (id: 'endpointId' | 'targetId'): number | undefined => {
    const asked = new Set(failed.map(({ candidate }) => candidates[candidate]?.[id]));
    return left.find((position) => !asked.has(candidates[position]?.[id]));
  };
  const scope = failed.at(-1)?.judgement.scope;
  const isKeys = scope === 'key' || scope === 'key-model';
  return (isKeys ? notAsked('endpointId') : undefined) ?? notAsked('targetId') ?? first;
}

/** A failure that may pass at once is worth a second call before a lower tier serves the request. */
function mayGoAgain(
  situation: Situation,
  { candidate, judgement }: FailedAttempt,
  left: readonly number[],
): boolean {
  return (
    judgement.keyCooldown === null &&
    situation.isUsable(candidate) &&
    situation.isClosed(candidate) &&
    nobodyMisses(situation, candidate, left)
  );
}

/** A rate limit that is over within moments is waited for, before a lower tier serves the request. */
function isSoonBack(
  situation: Situation,
  { candidate, judgement, retryAfterMs }: FailedAttempt,
  left: readonly number[],
): boolean {
  return (
    judgement.keyCooldown === 'rate-limit' &&
    situation.failover.honorRetryAfter &&
    situation.isClosed(candidate) &&
    retryAfterMs !== undefined &&
    retryAfterMs <= shortRestMs &&
    retryAfterMs < situation.remainingMs &&
    nobodyMisses(situation, candidate, left)
  );
}

/** No peer of its tier could serve at once, and attempts are left for every other target. */
function nobodyMisses(
  { candidates, failed, failover }: Situation,
  candidate: number,
  left: readonly number[],
): boolean {
  const here = candidates[candidate];
  if (left.some((position) => candidates[position]?.tier === here?.tier)) return false;
  const targets = new Set(left.map((position) => candidates[position]?.targetId));
  return failed.length + 1 + targets.size <= failover.maxAttempts;
}

function isWorthTrying({ candidates, failed }: Situation, other: CandidateFacts): boolean {
  return !failed.some((attempt) => {
    const blamed = candidates[attempt.candidate];
    if (blamed === undefined) return false;
    return isBlamed(blamed, attempt, other) || isNoLarger(blamed, attempt, other);
  });
}

/** A prompt that is too long for one model is too long for every model with the same or a smaller context. */
function isNoLarger(blamed: CandidateFacts, { judgement }: FailedAttempt, other: CandidateFacts): boolean {
  if (judgement.reason !== 'ContextLengthExceeded') return false;
  if (blamed.contextLength === undefined || other.contextLength === undefined) return false;
  return other.contextLength <= blamed.contextLength;
}

function waitLeftMs({ retryAfterMs = 0, waitedMs = 0 }: FailedAttempt): number {
  return retryAfterMs - waitedMs;
}

function tryAfter({ remainingMs }: Situation, candidate: number, delayMs: number): NextStep {
  return delayMs < remainingMs ? { type: 'try', candidate, delayMs } : { type: 'give-up' };
}

function backoffMs(situation: Situation, tries: number): number {
  const { backoffBaseMs, backoffMaxMs } = situation.failover;
  return jittered(situation, Math.min(backoffBaseMs * 2 ** (tries - 1), backoffMaxMs));
}

function jittered({ random }: Pick<Situation, 'random'>, ceilingMs: number): number {
  return ceilingMs * (0.5 + random() / 2);
}

function isBlamed(blamed: CandidateFacts, { judgement }: FailedAttempt, other: CandidateFacts): boolean {
  switch (judgement.scope) {
    case 'key':
      return blamed.keyId === other.keyId;
    case 'key-model':
      return blamed.keyId === other.keyId && blamed.targetId === other.targetId;
    case 'target':
      return blamed.targetId === other.targetId;
    case 'endpoint':
      return blamed.endpointId === other.endpointId;
  }
}
