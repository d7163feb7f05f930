// May a key be used that its provider refused? A rest as plain decisions: how long it is, and who tries the key behind it.

/** Why a key rests: rate limits pass by themselves, the others want a person. */
export type RestReason = 'rate-limit' | 'out-of-money' | 'rejected';

export interface Rest {
  readonly untilMs: number;
  readonly reason: RestReason;
  /** When the one attempt began that is to show whether the key works again. */
  readonly trialSinceMs?: number | undefined;
}

/** `due`: its time is up, and the next attempt shows whether the key works again; `on-trial`: that one is under way. */
type RestPhase = 'resting' | 'due' | 'on-trial' | 'over';

/**
 * Who refuses a key does so at once: an attempt that has gone on for so long was let in. And a rate limit that was over for so
 * long says nothing any more.
 */
const refusalPatienceMs = 5_000;

export function phaseOfRest({ untilMs, reason, trialSinceMs }: Rest, nowMs: number): RestPhase {
  if (nowMs < untilMs) return 'resting';
  if (trialSinceMs !== undefined) return nowMs - trialSinceMs < refusalPatienceMs ? 'on-trial' : 'over';
  return reason === 'rate-limit' && nowMs - untilMs >= refusalPatienceMs ? 'over' : 'due';
}

const strength = { 'rate-limit': 0, 'out-of-money': 1, rejected: 2 } as const satisfies Record<
  RestReason,
  number
>;

/** Of calls that run together each is refused for itself: none makes light of what another was told. */
export function restFurther(rest: Rest | undefined, next: Rest, nowMs: number): Rest {
  if (rest === undefined || phaseOfRest(rest, nowMs) !== 'resting') return next;
  return {
    untilMs: Math.max(rest.untilMs, next.untilMs),
    reason: strength[next.reason] < strength[rest.reason] ? rest.reason : next.reason,
  };
}
