// Which calls does a store take that keeps limits for all pods, and what does it answer?

import type { RateLimits } from '../../core/contract/routing-table.ts';
import type { Amounts } from './subject.ts';

/** One subject and its claim on its limits. */
export interface Claim {
  /** Names the subject: `provider:platform/openai`. */
  readonly key: string;
  readonly limits: RateLimits;
}

/** What one request asks of one budget; money in nanodollars (1 USD = 10^9). */
export interface BudgetClaim {
  /** Names the subject and the period with its first day, so that a new period begins with nothing spent. */
  readonly key: string;
  /** What may be spent in the period. */
  readonly limit: number;
  /** Spending in the period by the ledger's sums: exact for the records that it has, and never too high. */
  readonly known: number;
  /** What this process holds, and has spent since the ledger's last report: a store may have lost it, or been unreachable. */
  readonly own: BudgetReading;
  /** What must be left for the request while others are in flight. */
  readonly amount: number;
  /** Held for its highest possible cost, whether or not so much is left; absent: `amount`. */
  readonly hold?: number | undefined;
  /** Unix milliseconds; undefined: the period never ends. */
  readonly endMs: number | undefined;
}

/** How far a budget is used. */
export interface BudgetReading {
  readonly spent: number;
  /** Reserved for requests in flight. */
  readonly held: number;
  /** From a store: the highest sum of the ledger that any process read, plus what processes have spent since then. */
  readonly reckoned?: number;
}

/** All claims are granted, or none. */
export interface Reservation {
  /**
   * Under this name it is held at each subject until it is settled, or its lease is over; absent: there is nothing to settle, and no
   * place is taken.
   */
  readonly id?: string | undefined;
  readonly claims: readonly Claim[];
  /** Amount of each claim; 0: the limit is not used. */
  readonly amounts: Amounts;
  /** Only with an `id`: what is reserved of a budget comes back when its lease is over. */
  readonly budgets?: readonly BudgetClaim[];
  /** Names the process that has spent what the budgets call its own. */
  readonly by?: string;
}

/** What a subject had used, and how many requests were in flight, before the reservation. */
export interface Reading {
  /** Use of each limit in the question, in the same order. */
  readonly used: readonly number[];
  readonly held: number;
}

export interface ReservationAnswer {
  readonly isGranted: boolean;
  /** Time of the deciding clock; Unix milliseconds. */
  readonly nowMs: number;
  /** In the order of the claims. */
  readonly readings: readonly Reading[];
  /** In the order of the budgets, before the reservation; absent if none was asked. */
  readonly budgets?: readonly BudgetReading[];
}

export interface SettledBudget extends Pick<BudgetClaim, 'key' | 'endMs'> {
  /** Final cost in nanodollars; 0 if the ledger may have reported it already. */
  readonly cost: number;
  /** As in a claim, with this request's cost; absent without any cost. */
  readonly reported?: { readonly known: number; readonly ownSpent: number };
}

/** Ends a reservation. */
export interface Settlement extends Pick<Reservation, 'claims' | 'amounts' | 'by'> {
  readonly id: string;
  /** Final use; equal to the reservation for limits whose estimate stays. */
  readonly used: Amounts;
  readonly budgets?: readonly SettledBudget[];
}

/** One reservation at one subject. */
export interface Place {
  readonly key: string;
  readonly id: string;
}

/**
 * How long a reservation lasts without renewal, in milliseconds: after this time the seats of a killed pod are free again. It is
 * renewed up to three times within the lease.
 */
export const leaseMs = 90_000;
export const renewEveryMs = 30_000;
