// What is asked of a place where limits are kept, and what does it answer? The same for the process itself and for a store.

import { lackOf, type Meter } from './meter.ts';

/** What one request asks of one subject. */
export interface Claim {
  /** Names the subject, in the store too: `provider:platform/openai`. */
  readonly key: string;
  readonly meters: readonly Meter[];
  /** How many may be under way at once; absent: any number. */
  readonly placesMax?: number;
}

/** What one request asks of one budget; money in nanodollars (1 USD = 10^9). */
export interface BudgetClaim {
  /** Names the subject and the period with its first day, so that a new period begins with nothing spent. */
  readonly key: string;
  /** What may be spent in the period. */
  readonly limit: number;
  /** What was spent in it as the ledger knows: the truth, and never more than that. */
  readonly known: number;
  /** What this process has spent that the ledger has not told of, and holds: a store may have forgotten it, or not been there. */
  readonly own: BudgetReading;
  /** What has to be left for the request, where others are under way. */
  readonly amount: number;
  /** What it can cost at most, and is held for it, whether or not so much is left; absent: `amount`. */
  readonly hold?: number;
  /** Unix milliseconds; undefined: the period never ends. */
  readonly endMs: number | undefined;
}

/** How far a budget is used. */
export interface BudgetReading {
  readonly spent: number;
  /** Reserved for requests that are under way. */
  readonly held: number;
  /** Of a store: the highest sum of the ledger that it heard of, and what processes have spent that the ledger has not told them of. */
  readonly reckoned?: number;
}

/** All claims are granted, or none. */
export interface Reservation {
  /**
   * Under this name it is held at each subject until it is settled, or its lease is over; absent: there is nothing to settle, and no
   * place is taken.
   */
  readonly id?: string;
  readonly claims: readonly Claim[];
  /** Only with an `id`: what is reserved of a budget comes back when its lease is over. */
  readonly budgets?: readonly BudgetClaim[];
  /** Names the process that has spent what the budgets call its own. */
  readonly by?: string;
}

/** What a subject had used, and how many were under way, before the reservation. */
export interface Reading {
  /** In the order of the claim's meters. */
  readonly used: readonly number[];
  readonly held: number;
}

export interface ReservationAnswer {
  readonly isGranted: boolean;
  /** Of the clock that it was judged by; Unix milliseconds in a store. */
  readonly nowMs: number;
  /** In the order of the claims. */
  readonly readings: readonly Reading[];
  /** In the order of the budgets, before the reservation; absent where none was asked. */
  readonly budgets?: readonly BudgetReading[];
}

export interface SettledBudget extends Pick<BudgetClaim, 'key' | 'endMs'> {
  /** What was spent in the end, nanodollars; 0 where the ledger may have told of it already. */
  readonly cost: number;
  /** As in a claim, with what was spent; absent where nothing was. */
  readonly told?: { readonly known: number; readonly ownSpent: number };
}

/** Ends a reservation: for each meter of each claim, `amount` is what was used beyond the estimate. */
export interface Settlement {
  readonly id: string;
  readonly claims: readonly Claim[];
  readonly budgets?: readonly SettledBudget[];
  readonly by?: string;
}

/**
 * How long a place is kept for whoever does not say that it still needs it, in milliseconds: a pod that was killed gives its places
 * back so late. It is said twice in that time, and once more.
 */
export const leaseMs = 90_000;
export const renewEveryMs = 30_000;

export function isGranted(claims: readonly Claim[], readings: readonly Reading[]): boolean {
  return claims.every(({ meters, placesMax }, at) => {
    const reading = readings[at];
    if (reading === undefined) return false;
    if (placesMax !== undefined && reading.held >= placesMax) return false;
    return meters.every((meter, of) => lackOf(reading.used[of] ?? 0, meter) === 0);
  });
}
