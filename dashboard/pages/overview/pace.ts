// When will a budget be used up, if spending goes on as in its period so far? A key that is younger than the period is measured by its own
// days. Pure.

import type { BudgetUse } from './ledger.ts';

type Spent = Pick<BudgetUse, 'usedShare' | 'since' | 'paceSince' | 'resetsAt'>;

/** @returns RFC 3339; undefined: not before the budget resets, or the start of its spend is unknown. */
export function usedUpAt(budget: Spent, nowMs: number): string | undefined {
  const { usedShare, resetsAt } = budget;
  const since = budget.paceSince ?? budget.since;
  if (since === undefined || !(usedShare > 0)) return undefined;
  const sinceMs = Date.parse(since);
  const atMs = sinceMs + (nowMs - sinceMs) / usedShare;
  const endMs = resetsAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(resetsAt);
  // A pace of next to nothing leads beyond all dates.
  return atMs > nowMs && atMs < endMs && atMs < 8e15 ? new Date(atMs).toISOString() : undefined;
}

/** Whether it is worth a warning: spent beyond its own mark, or half used and not enough for the rest of its period. */
export function isNearEnd(budget: Spent & Pick<BudgetUse, 'warnPercent'>, nowMs: number): boolean {
  const { usedShare, warnPercent = 80 } = budget;
  return usedShare >= warnPercent / 100 || (usedShare >= 0.5 && usedUpAt(budget, nowMs) !== undefined);
}
