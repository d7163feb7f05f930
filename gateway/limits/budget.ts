// Can this request be paid from a budget? Pure. Money is counted in nanodollars (1 USD = 10^9), which numbers hold exactly up to nine
// million dollars.

import type { AskedBudget } from './own-budgets.ts';
import type { BudgetClaim, BudgetReading } from './reservation.ts';

/** `held`: money is left, and requests in flight may need it. `exhausted`: none is left until the next period. */
export type BudgetVerdict = 'granted' | 'held' | 'exhausted';

/**
 * A request larger than the rest is admitted if nothing else is in flight: otherwise the last cents could never be spent, and a budget
 * smaller than the longest answer would let nothing pass. It is the one request that may end beyond the budget.
 *
 * The same holds for a request whose input is unknown: it is admitted by the known part and reserves the maximum, also beyond
 * the limit. All requests in flight fit in at their highest cost, except the one admitted last.
 */
function judgeBudget(limit: number, amount: number, spent: number, held: number): BudgetVerdict {
  if (spent >= limit) return 'exhausted'; // guard: budget-spent
  return held === 0 || spent + held + amount <= limit ? 'granted' : 'held'; // guard: budget-in-flight
}

/**
 * For one of several pods that do not see each other's spending until the ledger reports it: each may spend its share of the rest
 * that the ledger reports.
 *
 * @param own What this pod holds, and has spent since the ledger's last report.
 */
export function judgeShare(
  { limit, known, amount }: Pick<BudgetClaim, 'limit' | 'known' | 'amount'>,
  own: BudgetReading,
  pods: number,
): BudgetVerdict {
  const left = Math.max(0, limit - known);
  const verdict = judgeBudget(left / Math.max(1, pods), amount, own.spent, own.held);
  // The rest is the share of other pods, or is divided again once the ledger has counted our spending.
  return verdict === 'exhausted' && own.spent < left ? 'held' : verdict;
}

/**
 * Where all pods keep a budget together. Spend that the store missed while it was away, or has lost, is in the ledger's sums and in each
 * process's spend since. The store keeps only the former: for a moment some of the latter may be in both.
 */
export function judgeTogether(
  { limit, amount, own }: BudgetClaim,
  { spent, held, reckoned = 0 }: BudgetReading,
): BudgetVerdict {
  const verdict = judgeBudget(limit, amount, Math.max(spent, reckoned), Math.max(held, own.held));
  return verdict === 'exhausted' && spent < limit ? 'held' : verdict;
}

/** The one of which there is least hope comes first. */
export function refusedBudget(
  asked: readonly AskedBudget[],
  verdicts: readonly BudgetVerdict[],
): { readonly asked: AskedBudget; readonly isExhausted: boolean } | undefined {
  for (const word of ['exhausted', 'held'] as const) {
    const refused = asked[verdicts.indexOf(word)];
    if (refused !== undefined) return { asked: refused, isExhausted: word === 'exhausted' };
  }
  return undefined;
}
