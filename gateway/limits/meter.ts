// How much of a limit is used up, and does one more request fit? A leaking bucket for each limit. Pure. What stands here is done by
// scripts.ts in the store once more, operation by operation; a test holds the two to each other.

/** One limit over time, and what is asked of it: requests and tokens per minute. Money is not given back by time: see budget.ts. */
export interface Meter {
  readonly name: string;
  /** The limit itself; of it `capacity` may be the share of one process. */
  readonly limit: number;
  /** What fits in at once. */
  readonly capacity: number;
  /** What runs out in a millisecond. */
  readonly leakPerMs: number;
  readonly amount: number;
}

/** What was used by when. What is not known was never used: a store that forgets lets through, and nothing has to be set up. */
export interface Level {
  readonly used: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The limit of which it was used. */
  readonly limit: number;
}

/** Sums of what leaked are not exact; nobody is refused for a millionth. */
const tolerance = 1e-6;

/** What more was used than estimated is owed, up to so many times the capacity: counts that are absurd close no key for good. */
export const owedMax = 10;

/**
 * What was used of a limit before it was lowered counts for the same part of it: by the new rate, what the old one let through
 * would be owed for as many times longer. Of one that was raised it counts as it is, so that the room is there at once.
 * A clock that goes backwards makes nothing leak, and nothing come back.
 */
export function usedAt(
  level: Level | undefined,
  { limit, leakPerMs }: Pick<Meter, 'limit' | 'leakPerMs'>,
  nowMs: number,
): number {
  if (level === undefined) return 0;
  const used = level.used * Math.min(1, limit / level.limit);
  return Math.max(0, used - Math.max(0, nowMs - level.atMs) * leakPerMs);
}

/** A request that was let in by another limit than today's is settled by today's, as if it had been changed before. */
export function meterAt(meter: Meter, level: Level | undefined): Meter {
  if (level === undefined) return meter;
  const times = level.limit / meter.limit;
  return {
    ...meter,
    limit: level.limit,
    capacity: meter.capacity * times,
    leakPerMs: meter.leakPerMs * times,
    amount: meter.amount * Math.min(1, times),
  };
}

/**
 * What would have to run out first; 0 where it fits. What is larger than the bucket fits into an empty one: a share of a limit
 * must never be too small for a request that the limit allows, and what is owed then keeps others out.
 */
export function lackOf(used: number, { amount, capacity }: Pick<Meter, 'amount' | 'capacity'>): number {
  const lack = used + Math.min(amount, capacity) - capacity;
  return lack > tolerance ? lack : 0;
}

/** Until so much has run out, in whole milliseconds. */
export function leakMs(used: number, leakPerMs: number): number {
  return Math.ceil(used / leakPerMs - tolerance);
}

/** @param change what was used beyond the estimate; below 0: what is given back. */
export function usedAfter(used: number, change: number, capacity: number): number {
  if (change <= 0) return Math.max(0, used + change);
  return Math.max(used, Math.min(used + change, capacity * (1 + owedMax)));
}
