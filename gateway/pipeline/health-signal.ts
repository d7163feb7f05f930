// What does a finished attempt say about its upstream? Pure.

import type { AttemptResult } from '../attempt/attempt-io.ts';
import type { TimerName } from '../attempt/deadlines.ts';
import {
  type AttemptFailure,
  errorOf,
  failureCode,
  isAboutModel,
  type Judgement,
  retryAfterMsOf,
} from '../attempt/failure.ts';
import type { HealthSignal } from '../route/health.ts';

/** Cooldowns of a key. Rejected keys and keys without money need a person, and get a trial call now and then. */
const outOfMoneyCooldownMs = 300_000;
const rejectedCooldownMs = 60_000;
const rateLimitRestMaxMs = 300_000;

export interface SignalFacts {
  /** Cooldown of a key after a rate limit without a Retry-After. */
  readonly rateLimitCooldownMs: number;
  /** The request refers to something that the provider has stored. */
  readonly hasStoredState: boolean;
  /** The attempt's timeout, and that of the Provider's owner; undefined if the owner's own timeout applied. */
  readonly patience?: ((timer: TimerName | 'connect') => Patience) | undefined;
}

interface Patience {
  readonly givenMs: number;
  readonly ownersMs: number;
}

type Outcome = Pick<AttemptResult<unknown>, 'firstContentMs' | 'durationMs'> &
  (
    | { readonly outcome: 'answered' }
    | { readonly outcome: 'cancelled' }
    | { readonly outcome: 'failed' | 'broken-off'; readonly failure: AttemptFailure }
  );

export function healthSignal(
  result: Outcome,
  judgement: Judgement | undefined,
  { rateLimitCooldownMs, hasStoredState, patience }: SignalFacts,
): HealthSignal {
  if (result.outcome === 'answered') return { type: 'success' };
  if (result.outcome === 'cancelled' || !judgement) return { type: 'none' };
  const { failure } = result;
  const cause = failureCode(failure);
  switch (judgement.keyCooldown) {
    case 'out-of-money':
      return { type: 'key-cooldown', forMs: outOfMoneyCooldownMs, reason: judgement.keyCooldown, cause };
    case 'rejected':
      return { type: 'key-cooldown', forMs: rejectedCooldownMs, reason: judgement.keyCooldown, cause };
    case 'rate-limit': {
      const askedMs = retryAfterMsOf(failure);
      return {
        type: 'key-cooldown',
        reason: judgement.keyCooldown,
        cause,
        forMs: Math.min(askedMs || rateLimitCooldownMs, rateLimitRestMaxMs),
        ...(askedMs === 0 ? { isOwnRule: true } : {}),
        ...(judgement.scope === 'key' ? { isAccount: true } : {}),
      };
    }
    case null:
      break;
  }
  const error = errorOf(failure);
  // The 404 may be about stored state that the request refers to.
  const isUnknown = failure.kind === 'status' && (failure.status === 404 || failure.status === 410);
  if (isUnknown && hasStoredState) return { type: 'none' };
  // Where it is a matter of the key, the target may serve it with another.
  const isTargets = judgement.reason === 'ModelNotFound' && judgement.scope === 'target';
  if (isTargets && !hasStoredState && error && isAboutModel(error)) {
    return { type: 'misconfigured', cause };
  }
  if (judgement.reason === 'AuthFailure') return { type: 'denied', cause };
  if (!judgement.isHealthSignal || isLongAnswer(result, failure)) return { type: 'none' };
  if (patience && isHasty(result, failure, patience)) return { type: 'none' };
  if (judgement.scope === 'endpoint') return { type: 'endpoint-failure', cause };
  return { type: 'target-failure', cause, ...(judgement.mayBeCallers ? { mayBeCallers: true } : {}) };
}

/** The deadline of the request ended a stream that went on, perhaps because its reader is slow. */
function isLongAnswer({ firstContentMs }: Outcome, failure: AttemptFailure): boolean {
  return firstContentMs !== undefined && failure.kind === 'timeout' && failure.timer === 'total';
}

/**
 * Whether a route of another namespace waited less than the Provider's owner would. Such a timeout is no sign of bad health:
 * otherwise one namespace could open the circuit breaker for all that share the upstream. Earlier attempts have used up a part
 * of the timeout for the whole request.
 */
function isHasty(
  { durationMs }: Outcome,
  failure: AttemptFailure,
  patience: NonNullable<SignalFacts['patience']>,
): boolean {
  if (failure.kind === 'transport') {
    if (failure.code !== 'connect_timeout') return false;
    const { givenMs, ownersMs } = patience('connect');
    return givenMs < ownersMs;
  }
  if (failure.kind !== 'timeout') return false;
  const { givenMs, ownersMs } = patience(failure.timer);
  return givenMs < ownersMs || (failure.timer === 'total' && durationMs < wholeShare * ownersMs);
}

/** Least share of the request's timeout that a first attempt gets: the rest is reading and sending. */
const wholeShare = 0.9;
