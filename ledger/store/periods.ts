// Which day is it, and which periods is a moment in?

import { type BudgetPeriod, periodAt } from '../../core/contract/budget.ts';

/** First days of the periods that a moment is in, `YYYY-MM-DD`. */
export function periodsOf(nowMs: number): {
  readonly day: string;
  readonly week: string;
  readonly month: string;
} {
  const startOf = (period: BudgetPeriod): string => periodAt(period, nowMs).start;
  return { day: startOf('Day'), week: startOf('Week'), month: startOf('Month') };
}
