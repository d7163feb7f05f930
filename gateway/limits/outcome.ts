// What is the result of a reservation? How far each limit is used; if one refuses, which and for how long. Pure.

import type { LimitName, RateName } from '../../core/catalog/limits.ts';
import type { Budget, PeriodBounds } from '../../core/contract/budget.ts';
import { capacityOf, leakMs } from './level.ts';
import type { Seat } from './seat.ts';
import type { Subject, Wanted } from './subject.ts';

/** How much of one limit is left, for the headers of an answer. */
export interface LimitState {
  readonly subject: Subject;
  readonly name: RateName;
  readonly limit: number;
  readonly remaining: number;
  /** Until the whole limit is available again. */
  readonly resetMs: number;
}

/** What was really used, once the request has ended. */
export interface ActualUse {
  readonly tokens: number;
  /** What its owner pays for it; absent: nothing. */
  readonly nanodollars?: number;
}

export type Outcome =
  | {
      readonly type: 'granted';
      /** One for each kind of limit: that of the first subject with such a limit. */
      readonly limitStates: readonly LimitState[];
      /** Ends the reservation; only the first call does anything. */
      settle(spent: ActualUse): void;
      /** Cancels the reservation. */
      giveBack(): void;
    }
  | {
      readonly type: 'refused';
      readonly subject: Subject;
      readonly limit: LimitName;
      readonly waitMs: number;
      readonly limitStates: readonly LimitState[];
    }
  /** The rest of a budget is too small; `isExhausted`: nothing is left. */
  | {
      readonly type: 'over-budget';
      readonly subject: Subject;
      readonly budget: Budget;
      readonly bounds: PeriodBounds;
      readonly isExhausted: boolean;
    }
  /** The request has more tokens than the whole limit. */
  | {
      readonly type: 'too-large';
      readonly subject: Subject;
      readonly name: RateName;
      readonly limit: number;
      readonly tokens: number;
    }
  /** The store does not answer, and the settings let no request pass without it. */
  | { readonly type: 'unavailable' };

/** It is unknown when a request in flight ends and frees its seat. */
const placeWaitMs = 1_000;

/** Limits that a request asks for, with their known use; for one of this many pods. */
export interface Looked {
  readonly seats: readonly Seat[];
  readonly wanted: Wanted;
  readonly pods: number;
}

interface Refusal {
  readonly subject: Subject;
  readonly limit: LimitName;
  readonly waitMs: number;
}

/** The limit with the longest wait: after that time, none of the others refuses either. */
export function refusalOf({ seats, wanted, pods }: Looked): Refusal | undefined {
  const refusals = seats.flatMap((seat): Refusal[] => {
    const { subject } = seat;
    return [
      ...seat.rates.flatMap((rate) => {
        const lack = rate.lackFor(wanted, pods);
        if (lack === 0) return [];
        return [{ subject, limit: rate.name, waitMs: leakMs(lack, rate.leakFor(pods)) }];
      }),
      ...(seat.isSaturated(wanted, pods)
        ? [{ subject, limit: 'concurrency' as const, waitMs: placeWaitMs }]
        : []),
    ];
  });
  return refusals.toSorted((a, b) => b.waitMs - a.waitMs)[0];
}

const none: readonly LimitState[] = [];

/**
 * After a granted reservation. The quota of an upstream is never shown.
 *
 * @param isWhole Of each subject; otherwise, for each kind of limit, only of the first subject that has it.
 */
export function limitStatesOf(
  { seats, wanted, pods }: Looked,
  isGranted: boolean,
  isWhole: boolean,
): readonly LimitState[] {
  let limitStates: LimitState[] | undefined;
  for (const { subject, rates, isReported } of seats) {
    if (!isReported) continue;
    for (const rate of rates) {
      const { name, limit, found } = rate;
      const amount = rate.amountOf(wanted);
      if (amount === 0 || (!isWhole && has(limitStates, name))) continue;
      const used = found + (isGranted ? amount : 0);
      const remaining = Math.max(0, Math.floor(capacityOf(limit, pods) - used + 1e-6));
      limitStates ??= [];
      limitStates.push({ subject, name, limit, remaining, resetMs: leakMs(used, rate.leakFor(pods)) });
    }
  }
  return limitStates ?? none;
}

function has(limitStates: readonly LimitState[] | undefined, name: RateName): boolean {
  if (limitStates !== undefined) for (const state of limitStates) if (state.name === name) return true;
  return false;
}
