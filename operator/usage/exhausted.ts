// Which budgets of a key are used up, and until when? Pure.

import { type BudgetPeriod, periodAt } from '../../core/contract/budget.ts';
import type { Spent } from '../../core/contract/spend.ts';
import type { Budget } from '../resources/api-key.ts';
import { dollarsOf, microdollarsOf } from './dollars.ts';
import { useIn } from './spend-book.ts';

/** A budget whose limit is reached, and that refuses calls for it. */
export interface Exhausted {
  readonly period: BudgetPeriod;
  /** Dollars, as the budget has it. */
  readonly limit: string;
  /** Dollars. */
  readonly spend: string;
  /** First day of the period; empty for one without beginning. */
  readonly since: string;
  /** Unix milliseconds of its reset; undefined: it has none. */
  readonly untilMs: number | undefined;
}

/** A limit, as a key has it. */
export type BudgetLimit = Pick<Budget, 'period' | 'limit' | 'action'>;

export function exhaustedOf(
  budgets: readonly BudgetLimit[],
  spent: Spent | undefined,
  nowMs: number,
): readonly Exhausted[] {
  return budgets.flatMap(({ period, limit, action }): Exhausted[] => {
    const spend = dollarsOf(BigInt(useIn(spent, period, nowMs).costPicodollars));
    const [spentMicros, limitMicros] = [microdollarsOf(spend), microdollarsOf(limit)];
    if (action !== 'Block' || spentMicros === undefined || limitMicros === undefined) return [];
    if (spentMicros < limitMicros) return [];
    const { start: since, endMs: untilMs } = periodAt(period, nowMs);
    return [{ period, limit, spend, since, untilMs }];
  });
}

/** Names of periods in a sentence. */
const WORDS = { Day: 'Daily', Week: 'Weekly', Month: 'Monthly', Total: 'Total' } as const;

export function sayExhausted({ period, limit, spend, since, untilMs }: Exhausted): string {
  const sinceWhen = since === '' ? '' : ` since ${since}`;
  const until = untilMs === undefined ? '' : `${new Date(untilMs).toISOString().slice(0, -5)}Z, or until `;
  return `${WORDS[period]} budget used up: $${spend} of $${limit}${sinceWhen}. Calls are refused until ${until}spec.budgets allows more`;
}

/** Whether two such messages tell the same but for what was spent: calls that were in flight still add to it. */
export function tellsTheSame(a: string, b: string): boolean {
  const withoutSpend = (text: string) => text.replaceAll(/\$\d+(?:\.\d+)? of/g, 'of');
  return withoutSpend(a) === withoutSpend(b);
}
