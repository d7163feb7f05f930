// What does a reservation come to? Who stands how, which limit refuses for how long. Pure.

import { type LimitName, limitMemberOf, type RateName, rateNames } from '../../core/catalog/limits.ts';
import type { Budget, PeriodBounds } from '../../core/contract/budget.ts';
import { lackOf, leakMs } from './meter.ts';
import type { Claim, Reading, ReservationAnswer } from './reservation.ts';
import type { Subject } from './subject.ts';

/** How much of one limit is left, for the headers of an answer. */
export interface Standing {
  readonly subject: Subject;
  readonly name: RateName;
  readonly limit: number;
  readonly remaining: number;
  /** Until all of it is there again. */
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
      readonly standings: readonly Standing[];
      /** Ends the reservation; only the first call does anything. */
      settle(spent: ActualUse): void;
      /** As if it had never been asked for. */
      giveBack(): void;
    }
  | {
      readonly type: 'refused';
      readonly subject: Subject;
      readonly limit: LimitName;
      readonly waitMs: number;
      readonly standings: readonly Standing[];
    }
  /** What is left of a budget is not enough; `isExhausted`: there is nothing left of it. */
  | {
      readonly type: 'over-budget';
      readonly subject: Subject;
      readonly budget: Budget;
      readonly bounds: PeriodBounds;
      readonly isExhausted: boolean;
    }
  /** It asks for more tokens than the whole limit. */
  | { readonly type: 'too-large'; readonly subject: Subject; readonly limit: number; readonly tokens: number }
  /** The store does not answer, and nobody is to pass without it. */
  | { readonly type: 'unavailable' };

/** Others end when they end: nobody knows when a place comes back. */
const placeWaitMs = 1_000;

/** One subject with what was claimed of it, and what the claim found. */
export interface Judged {
  readonly subject: Subject;
  readonly claim: Claim;
}

/** The limit that takes longest: whoever waits for it need not ask again for another. */
export function refusalOf(
  judged: readonly Judged[],
  { readings }: ReservationAnswer,
): { readonly subject: Subject; readonly limit: LimitName; readonly waitMs: number } | undefined {
  const refusals = judged.flatMap(({ subject, claim }, at) => {
    const reading = readings[at];
    if (reading === undefined) return [];
    const { placesMax } = claim;
    return [
      ...claim.meters.flatMap((meter, of) => {
        const lack = lackOf(reading.used[of] ?? 0, meter);
        if (lack === 0) return [];
        const limit = meter.name === 'requests' ? ('requests' as const) : ('tokens' as const);
        return [{ subject, limit, waitMs: leakMs(lack, meter.leakPerMs) }];
      }),
      ...(placesMax !== undefined && reading.held >= placesMax
        ? [{ subject, limit: 'concurrency' as const, waitMs: placeWaitMs }]
        : []),
    ];
  });
  return refusals.toSorted((a, b) => b.waitMs - a.waitMs)[0];
}

/** After the reservation, where it was granted. The quota of an upstream is told to nobody. */
export function standingsOf(
  judged: readonly Judged[],
  { isGranted, readings }: ReservationAnswer,
): readonly Standing[] {
  return judged.flatMap(({ subject, claim }, at) => {
    if (subject.kind === 'provider' || subject.kind === 'provider-key') return [];
    const reading: Reading | undefined = readings[at];
    return rateNames.flatMap((name): Standing[] => {
      const of = claim.meters.findIndex((meter) => meter.name === name);
      const meter = claim.meters[of];
      const limit = subject.limits[limitMemberOf[name]];
      if (meter === undefined || limit === undefined || reading === undefined) return [];
      const used = (reading.used[of] ?? 0) + (isGranted ? meter.amount : 0);
      return [
        {
          subject,
          name,
          limit,
          remaining: Math.max(0, Math.floor(meter.capacity - used + 1e-6)),
          resetMs: leakMs(used, meter.leakPerMs),
        },
      ];
    });
  });
}
