// May the same target be asked once more? Repetitions are a small part of what it is asked anyway, so that they never make
// an outage worse. Pure. Trying another target needs no budget: else failover would end where it is needed most.

interface Tally {
  readonly requests: number;
  readonly repetitions: number;
}

/** What one target was asked lately: two halves of the window, the older one forgotten as a whole. */
export interface RetryBudget {
  readonly now: Tally;
  readonly before: Tally;
  readonly sinceMs: number;
}

const nothing: Tally = { requests: 0, repetitions: 0 };

export const emptyBudget: RetryBudget = { now: nothing, before: nothing, sinceMs: Number.NEGATIVE_INFINITY };

const windowMs = 10_000;

/** Share of its requests in the window that may be repeated; and how many may, however few they are. */
const allowed = { share: 0.1, floor: 3 } as const;

export function mayRepeat(budget: RetryBudget, nowMs: number): boolean {
  const { now, before } = rolled(budget, nowMs);
  const most = Math.max(allowed.floor, allowed.share * (now.requests + before.requests));
  return now.repetitions + before.repetitions < most;
}

export function onAsked(budget: RetryBudget, isRepetition: boolean, nowMs: number): RetryBudget {
  const { now, ...rest } = rolled(budget, nowMs);
  return {
    ...rest,
    now: isRepetition ? { ...now, repetitions: now.repetitions + 1 } : { ...now, requests: now.requests + 1 },
  };
}

/** Whether nothing in it counts any more. */
export function isSpent({ sinceMs }: RetryBudget, nowMs: number): boolean {
  return nowMs - sinceMs >= windowMs;
}

function rolled(budget: RetryBudget, nowMs: number): RetryBudget {
  const age = nowMs - budget.sinceMs;
  if (age < windowMs / 2) return budget;
  return { now: nothing, before: age < windowMs ? budget.now : nothing, sinceMs: nowMs };
}
