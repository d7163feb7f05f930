// May the same target be asked once more? Repetitions are a small part of what it is asked anyway, so that they never make
// an outage worse. Pure. Trying another target needs no budget: else failover would end where it is needed most.

interface Tally {
  readonly requests: number;
  readonly repetitions: number;
}

/** What one target was asked in the present span of five seconds, and in the one before. */
export interface RetryBudget {
  /** Counts the spans of all time. */
  readonly span: number;
  readonly now: Tally;
  readonly before: Tally;
}

const nothing: Tally = { requests: 0, repetitions: 0 };

export const emptyBudget: RetryBudget = { span: Number.NEGATIVE_INFINITY, now: nothing, before: nothing };

const spanMs = 5_000;

/** Share of its requests of two spans that may be repeated; and how many may, however few they are. */
const allowed = { share: 0.1, floor: 3 } as const;

export function mayRepeat(budget: RetryBudget, nowMs: number): boolean {
  const { now, before } = rolled(budget, nowMs);
  const most = Math.max(allowed.floor, allowed.share * (now.requests + before.requests));
  return now.repetitions + before.repetitions < most;
}

export function onAsked(budget: RetryBudget, isRepetition: boolean, nowMs: number): RetryBudget {
  const { span, now, before } = rolled(budget, nowMs);
  return {
    span,
    now: isRepetition ? { ...now, repetitions: now.repetitions + 1 } : { ...now, requests: now.requests + 1 },
    before,
  };
}

/** Whether nothing in it counts any more. */
export function isSpent({ span }: RetryBudget, nowMs: number): boolean {
  return spanOf(nowMs) > span + 1;
}

function rolled(budget: RetryBudget, nowMs: number): RetryBudget {
  const span = spanOf(nowMs);
  if (span === budget.span) return budget;
  return { span, now: nothing, before: span === budget.span + 1 ? budget.now : nothing };
}

function spanOf(nowMs: number): number {
  return Math.floor(nowMs / spanMs);
}
