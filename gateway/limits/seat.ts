// What does one subject allow, and how much of it is used? Made once for each subject of a table; what is used is in the cell, which
// outlives tables.

import {
  byRate,
  limitMemberOf,
  type Measure,
  RATES,
  type RateName,
  rateNames,
} from '../../core/catalog/limits.ts';
import { capacityOf, Level, lackOf, leakOf } from './level.ts';
import type { Amounts, Subject, Wanted } from './subject.ts';

/** Use of one subject's limits in this process. */
export class Cell {
  readonly levels = byRate((name) => new Level(RATES[name].windowMs));
  /** Requests that were admitted here and have not ended. */
  inFlight = 0;
  /** Else nothing is used of it. */
  isKept = false;

  isEmptyAt(nowMs: number): boolean {
    return this.inFlight === 0 && rateNames.every((name) => this.levels[name].isEmptyAt(nowMs));
  }
}

/** One limit over time. */
class Rate {
  readonly name: RateName;
  readonly counts: Measure;
  readonly limit: number;
  private readonly windowMs: number;
  /** The last reading of the use: valid until the next operation. */
  found = 0;

  constructor(name: RateName, limit: number) {
    const { counts, windowMs } = RATES[name];
    this.name = name;
    this.counts = counts;
    this.limit = limit;
    this.windowMs = windowMs;
  }

  /** The amount that leaks in a millisecond, for one of this many pods. */
  leakFor(pods: number): number {
    return leakOf(this.limit, pods, this.windowMs);
  }

  /** More than the whole limit is an estimate that is too high: it takes all there is. */
  amountOf(wanted: Amounts): number {
    return Math.min(wanted[this.counts], this.limit);
  }

  /** 0 if it fits into what was found. */
  lackFor(wanted: Amounts, pods: number): number {
    const amount = this.amountOf(wanted);
    return amount === 0 ? 0 : lackOf(this.found, amount, capacityOf(this.limit, pods));
  }
}

export class Seat {
  readonly subject: Subject;
  /** Names the subject, in the store too: `provider:platform/openai`. */
  readonly key: string;
  readonly limits: Subject['limits'];
  readonly rates: readonly Rate[];
  /** Its callers may know of it: not of the quota of an upstream. */
  readonly isReported: boolean;
  /** Requests in flight at the last read. */
  held = 0;
  cell = new Cell();

  constructor(subject: Subject) {
    const { kind, id, limits } = subject;
    this.subject = subject;
    this.key = `${kind}:${id}`;
    this.limits = limits;
    this.rates = rateNames.flatMap((name) => {
      const limit = limits[limitMemberOf[name]];
      return limit === undefined ? [] : [new Rate(name, limit)];
    });
    this.isReported = kind !== 'provider' && kind !== 'provider-key';
  }

  /** One pod's share of a limit on requests in flight; undefined: no limit. */
  placesFor(pods: number): number | undefined {
    const { maxConcurrentRequests } = this.limits;
    return maxConcurrentRequests && Math.max(1, Math.floor(maxConcurrentRequests / pods));
  }

  concerns(wanted: Wanted): boolean {
    if (wanted.takesPlace && this.limits.maxConcurrentRequests !== undefined) return true;
    for (const { counts } of this.rates) if (wanted[counts] > 0) return true;
    return false;
  }

  isSaturated(wanted: Wanted, pods: number): boolean {
    return wanted.takesPlace && this.held >= (this.placesFor(pods) ?? Number.POSITIVE_INFINITY);
  }

  /** Notes what this process has used of it. */
  look(pods: number, nowMs: number): void {
    const { cell, rates } = this;
    this.held = cell.inFlight;
    for (const rate of rates)
      rate.found = cell.levels[rate.name].usedAt(rate.limit, rate.leakFor(pods), nowMs);
  }

  /** Whether the last reading has room, for one of so many pods. */
  hasRoomFor(wanted: Wanted, pods: number): boolean {
    if (this.isSaturated(wanted, pods)) return false;
    for (const rate of this.rates) if (rate.lackFor(wanted, pods) > 0) return false;
    return true;
  }

  take(wanted: Wanted, pods: number, nowMs: number): void {
    const { cell } = this;
    if (wanted.takesPlace) cell.inFlight += 1;
    for (const rate of this.rates) {
      const amount = rate.amountOf(wanted);
      if (amount === 0) continue;
      cell.levels[rate.name].keep(rate.found + amount, rate.limit, rate.leakFor(pods), nowMs);
    }
  }

  /** Ends what was taken. */
  settle(wanted: Amounts, used: Amounts, pods: number, nowMs: number): void {
    const { cell } = this;
    cell.inFlight -= 1;
    for (const rate of this.rates)
      cell.levels[rate.name].settle(used[rate.counts] - rate.amountOf(wanted), rate.limit, pods, nowMs);
  }

  /** Counts a request here that was admitted elsewhere. */
  charge(amounts: Amounts, pods: number, nowMs: number, isEnded: boolean): void {
    for (const rate of this.rates) {
      const amount = rate.amountOf(amounts);
      if (amount === 0) continue;
      this.cell.levels[rate.name].charge(amount, rate.limit, pods, nowMs, isEnded);
    }
  }
}

/** All limits grant the request, or none is charged. */
export function haveRoomFor(seats: readonly Seat[], wanted: Wanted, pods: number): boolean {
  for (const seat of seats) if (!seat.hasRoomFor(wanted, pods)) return false;
  return true;
}
