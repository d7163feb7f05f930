// When does a period of a budget begin and end, and how much beyond a budget can be spent at worst? Pure, and the same for all who
// speak of budgets: gateways, which keep them, and the operator, which says how they stand.

import { z } from 'zod';

/** Calendar periods in UTC; a week begins on Monday, as ISO 8601 has it. */
export const budgetPeriodSchema = z.enum(['Day', 'Week', 'Month', 'Total']);
export type BudgetPeriod = z.infer<typeof budgetPeriodSchema>;

/** What may be spent in a period; whoever has spent it is refused until the next one begins. */
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
  /** Gateways that can be at work at the same time, those that are on their way out among them. */
  readonly gateways: number;
  /** They keep budgets together, in a store. */
  readonly hasStore: boolean;
}

export interface Overshoot {
  /**
   * So many requests may end beyond the budget, each with what it costs beyond what was left when it was let in. Of those that nothing
   * bounds, any that is under way may.
   */
  readonly requests: number;
  /** And so much besides, where some gateways have not heard for long what the others spent. 0 while all of them reach the ledger. */
  readonly unheardMicrodollarsMax: number;
}

interface WorstOvershoot extends Overshoot {
  /** The same where the store does not answer, or has forgotten what it kept; undefined: there is none. */
  readonly withoutStore: Overshoot | undefined;
}

/**
 * What can be spent beyond a budget at worst, by answers that have a bound.
 *
 * A request is let in where what is reserved for it fits into what is left, or where nothing else is under way and anything is left: else
 * the last cents of a budget could never be spent. So whoever decides alone lets at most one request end beyond it. With a store all
 * gateways decide as one.
 *
 * Without, gateway i lets through (limit - Sᵢ) ÷ n of its own that the ledger has not told it of yet, and that one request r, where
 * Sᵢ is the ledger's sum as it last heard it. With L, the sum of the ledger now, all have spent at most
 *
 *     L + Σ ((limit - Sᵢ) ÷ n + r) = limit + Σ (L - Sᵢ) ÷ n + n·r
 *
 * That holds where the most that may be answered is known. An answer that neither caller, nor target, nor route bounds is reserved with 4,096
 * tokens of output (`estimateSpend`): what it has beyond them is spent besides, by each that is under way, and nothing here knows how many
 * are or how long they get. The longest answers that models can give are not reserved, since they would hold back most of what fits in.
 *
 * Nor is anything known of what tools of a provider fetch by themselves as input. What a request names and does not hold is known to fit into
 * the model, and so much is held for it.
 *
 * Who has heard of everything has L - Sᵢ = 0. At worst one gateway alone spends all of the budget through the ledger, while the n - 1
 * others heard nothing of it and each spend the n-th part that they were left with: limit × (n - 1) ÷ n.
 *
 * A store that goes leaves each with its share, and with the one request. One that comes back empty knows of each what that spent as soon as
 * it asks, and of those that do not ask what the ledger told. Where it told nothing, they can spend the whole budget one behind the
 * other, between them forgotten. Each knows what it spent itself, and lets through one budget and one request: n × (limit + r).
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
