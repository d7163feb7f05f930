// When does a period of a budget begin and end, and how much beyond a budget can be spent at worst? Pure, and shared by gateways, which
// enforce budgets, and the operator, which reports them.

import { z } from 'zod';

/** Calendar periods in UTC; a week begins on Monday, as ISO 8601 has it. */
export const budgetPeriodSchema = z.enum(['Day', 'Week', 'Month', 'Total']);
export type BudgetPeriod = z.infer<typeof budgetPeriodSchema>;

/** What may be spent in a period. After that, requests are refused until the next period begins. */
export const budgetSchema = z.object({
  period: budgetPeriodSchema,
  /** Integer microdollars (1 USD = 10^6): as fine as a budget can be written, and exact up to the largest. */
  limitMicrodollars: z.int().min(0),
});
export type Budget = z.infer<typeof budgetSchema>;

export interface PeriodBounds {
  /** Its first day, `YYYY-MM-DD`; empty for all of time. */
  readonly start: string;
  /** Unix milliseconds at which the next one begins; undefined: none ever does. */
  readonly endMs: number | undefined;
}

const dayMs = 86_400_000;

/** The period that a moment is in, Unix milliseconds. */
export function periodAt(period: BudgetPeriod, atMs: number): PeriodBounds {
  if (period === 'Total') return { start: '', endMs: undefined };
  const midnightMs = Math.floor(atMs / dayMs) * dayMs;
  if (period === 'Day') return { start: dayOf(midnightMs), endMs: midnightMs + dayMs };
  const date = new Date(midnightMs);
  if (period === 'Week') {
    const mondayMs = midnightMs - ((date.getUTCDay() + 6) % 7) * dayMs;
    return { start: dayOf(mondayMs), endMs: mondayMs + 7 * dayMs };
  }
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: dayOf(Date.UTC(year, month, 1)), endMs: Date.UTC(year, month + 1, 1) };
}

function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}

export interface OvershootFacts {
  readonly limitMicrodollars: number;
  /** Gateways that can serve at the same time, draining ones included. */
  readonly gateways: number;
  /** Whether gateways keep budgets together, in a store. */
  readonly hasStore: boolean;
}

export interface Overshoot {
  /**
   * Requests that may end beyond the budget, each by its cost minus the rest at its admission. Of requests without a
   * bound, each one in flight may.
   */
  readonly requests: number;
  /** In addition, if some gateways do not know the others' recent spending. 0 while all of them reach the ledger. */
  readonly unheardMicrodollarsMax: number;
}

interface WorstOvershoot extends Overshoot {
  /** The same if the limit store does not answer, or has lost its data; undefined without a store. */
  readonly withoutStore: Overshoot | undefined;
}

/**
 * The worst overshoot of a budget, for answers that have a bound.
 *
 * A request is admitted if its reservation fits into the rest of the budget, or if nothing else is in flight and anything is left:
 * otherwise the last cents of a budget could never be spent. So each place that decides lets at most one request end beyond the
 * budget. With a store there is one such place for all gateways.
 *
 * Without a store, gateway i admits (limit - Sᵢ) ÷ n of spending that the ledger has not yet reported back to it, and that one request
 * r, where Sᵢ is the last sum that it has read from the ledger. With L, the ledger's sum now, all gateways have spent at most
 *
 *     L + Σ ((limit - Sᵢ) ÷ n + r) = limit + Σ (L - Sᵢ) ÷ n + n·r
 *
 * This requires a known maximum for each answer. If neither caller, target nor route sets a bound, the reservation holds 4,096 tokens
 * of output (`estimateSpend`). Output beyond them adds to the overshoot of each such request, and neither their number nor their length
 * is known here. The longest answers of the models are not reserved, since that would refuse most requests that fit.
 *
 * Input that a provider's tools fetch by themselves is unknown, too. Input that a request refers to without holding it fits into the
 * model's context, so a whole context is reserved for it.
 *
 * A gateway that has read the latest sum has L - Sᵢ = 0. At worst one gateway spends all of the budget through the ledger, while the
 * n - 1 others have not read that yet and each spend the n-th part that they had: limit × (n - 1) ÷ n.
 *
 * If the store fails, each gateway has its share and the one request. A store that comes back empty learns the spending of each gateway
 * with that gateway's next question, and for silent gateways from the ledger. If the ledger has reported nothing, gateways can spend the
 * whole budget in turn, and the store forgets it in between. Each gateway knows its own spending and admits one budget and one request:
 * n × (limit + r).
 */
export function worstOvershoot({ limitMicrodollars, gateways, hasStore }: OvershootFacts): WorstOvershoot {
  const others = Math.max(0, gateways - 1);
  if (!hasStore) {
    const unheardMicrodollarsMax = Math.ceil((limitMicrodollars / Math.max(1, gateways)) * others);
    return { requests: 1 + others, unheardMicrodollarsMax, withoutStore: undefined };
  }
  return {
    requests: 1,
    unheardMicrodollarsMax: 0,
    withoutStore: { requests: 1 + others, unheardMicrodollarsMax: limitMicrodollars * others },
  };
}
