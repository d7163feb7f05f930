// How much of a limit is used up, and does one more request fit? A leaking bucket for each limit on requests or tokens over time; money
// does not leak back over time: see budget.ts. scripts.ts repeats this arithmetic in the store, operation by operation; a test holds the
// two to each other.

/** Sums of leaked amounts are inexact; a millionth refuses no request. */
const tolerance = 1e-6;

/** Use beyond the estimate is owed, up to this multiple of the capacity: absurd counts must not block a key for good. */
export const owedMax = 10;

/**
 * What fits in at once. Of a limit each of several pods claims its share, but never less than lets one request through: with more pods
 * than a limit has requests, so many may pass.
 */
export function capacityOf(limit: number, pods: number): number {
  return Math.max(1, limit / pods);
}

/** What runs out in a millisecond, of a limit for so long a window. */
export function leakOf(limit: number, pods: number, windowMs: number): number {
  return limit / pods / windowMs;
}

/**
 * The amount that must leak out first; 0 if the request fits. An amount above the capacity fits into an empty bucket: a share of a limit
 * must never be too small for a request that the whole limit allows, and the excess then keeps other requests out.
 */
export function lackOf(used: number, amount: number, capacity: number): number {
  const lack = used + Math.min(amount, capacity) - capacity;
  return lack > tolerance ? lack : 0;
}

/** Until so much has run out, in whole milliseconds. */
export function leakMs(used: number, leakPerMs: number): number {
  return Math.ceil(used / leakPerMs - tolerance);
}

/** The use of one limit at a time. A missing level means no use, so a process starts without set-up. */
export class Level {
  private used = 0;
  private atMs = 0;
  /** The limit of which it was used; 0: nothing was. */
  private limit = 0;
  private leakPerMs = 0;
  private readonly windowMs: number;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  /**
   * What was used of a limit before it was lowered counts for the same part of it: by the new rate, what the old one let through
   * would be owed for as many times longer. Of one that was raised it counts as it is, so that the room is there at once.
   * A clock that goes backwards makes nothing leak, and nothing come back.
   */
  usedAt(limit: number, leakPerMs: number, nowMs: number): number {
    if (this.limit === 0) return 0;
    const used = this.used * Math.min(1, limit / this.limit);
    return Math.max(0, used - Math.max(0, nowMs - this.atMs) * leakPerMs);
  }

  isEmptyAt(nowMs: number): boolean {
    return this.usedAt(this.limit, this.leakPerMs, nowMs) === 0;
  }

  keep(used: number, limit: number, leakPerMs: number, nowMs: number): void {
    this.used = used;
    this.limit = limit;
    this.leakPerMs = leakPerMs;
    this.atMs = nowMs;
  }

  /**
   * A request that was admitted under an earlier limit is settled under the present one, as if that had applied already.
   *
   * @param change What was used beyond the estimate; below 0: what is given back.
   */
  settle(change: number, limit: number, pods: number, nowMs: number): void {
    if (change === 0) return;
    const today = this.limit === 0 ? limit : this.limit;
    const times = today / limit;
    const leakPerMs = leakOf(limit, pods, this.windowMs) * times;
    const by = change * Math.min(1, times);
    const used = this.usedAt(today, leakPerMs, nowMs);
    const most = capacityOf(limit, pods) * times * (1 + owedMax);
    const after = by <= 0 ? Math.max(0, used + by) : Math.max(used, Math.min(used + by, most));
    this.keep(after, today, leakPerMs, nowMs);
  }

  /**
   * Counts requests that were admitted elsewhere: they use up this level, and are never owed here.
   *
   * @param amount Below 0: it is given back.
   * @param isEnded It was admitted earlier, perhaps under another limit.
   */
  charge(amount: number, limit: number, pods: number, nowMs: number, isEnded: boolean): void {
    const today = isEnded && this.limit > 0 ? this.limit : limit;
    const times = today / limit;
    const leakPerMs = leakOf(limit, pods, this.windowMs) * times;
    const used = this.usedAt(today, leakPerMs, nowMs);
    const after = Math.max(0, used + amount * Math.min(1, times));
    const most = Math.max(used, capacityOf(limit, pods) * times);
    this.keep(Math.min(after, most), today, leakPerMs, nowMs);
  }
}
