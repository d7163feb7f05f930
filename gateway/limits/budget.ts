// Can this request be paid from a budget? What is asked of it, how far it is spent, and what that comes to. Pure. Money is counted in
// nanodollars (1 USD = 10^9), which numbers hold exactly up to nine million dollars.

import { type Budget, type PeriodBounds, periodAt } from '../../core/contract/budget.ts';
import type { BudgetClaim, BudgetReading } from './reservation.ts';
import type { Subject, Wanted } from './subject.ts';

/** `held`: there is money left, and requests under way may need it. `exhausted`: there is none until the next period. */
export type BudgetVerdict = 'granted' | 'held' | 'exhausted';

/** A budget with what a request asks of it. */
export interface AskedBudget {
  readonly subject: Subject;
  readonly budget: Budget;
  readonly bounds: PeriodBounds;
  readonly claim: BudgetClaim;
}

const nanodollarsPerMicrodollar = 1_000;

/**
 * @param known What the ledger says of a subject and a period; 0 where nobody keeps one.
 * @param own What this process spent and holds of a budget, by its key.
 */
export function budgetsAsked(
  subjects: readonly Subject[],
  { nanodollars = 0, nanodollarsMax, takesPlace }: Wanted,
  wallMs: number,
  known: (subject: Subject, budget: Budget, bounds: PeriodBounds) => number,
  own: (key: string) => BudgetReading,
): readonly AskedBudget[] {
  if (nanodollars === 0 || !takesPlace) return [];
  return subjects.flatMap((subject) =>
    (subject.budgets ?? []).map((budget): AskedBudget => {
      const bounds = periodAt(budget.period, wallMs);
      const key = `${subject.kind}:${subject.id}:${budget.period}:${bounds.start}`;
      const claim = {
        key,
        limit: budget.limitMicrodollars * nanodollarsPerMicrodollar,
        known: known(subject, budget, bounds),
        own: own(key),
        amount: nanodollars,
        ...(nanodollarsMax === undefined ? {} : { hold: nanodollarsMax }),
        endMs: bounds.endMs,
      };
      return { subject, budget, bounds, claim };
    }),
  );
}

/**
 * What is larger than the rest is let through where nothing else is under way: else the last cents could never be spent, and a budget
 * smaller than the longest answer would let nothing pass. It is the one request that may end beyond the budget.
 *
 * So it is with a request of which nobody knows how much it will read: it is let in with what is known, and holds the most, also beyond
 * the limit. All that are under way fit in with the most that each can cost, but for the last that was let in.
 */
function judgeBudget(
  { limit, amount }: Pick<BudgetClaim, 'limit' | 'amount'>,
  { spent, held }: BudgetReading,
): BudgetVerdict {
  if (spent >= limit) return 'exhausted'; // guard: budget-spent
  return held === 0 || spent + held + amount <= limit ? 'granted' : 'held'; // guard: budget-in-flight
}

/**
 * Of one of several pods that do not see each other's spending until the ledger tells of it: each may spend its part of what the ledger
 * says is left.
 *
 * @param own What this pod spent that the ledger has not told of yet, and holds.
 */
export function judgeShare(claim: BudgetClaim, own: BudgetReading, pods: number): BudgetVerdict {
  const left = Math.max(0, claim.limit - claim.known);
  const verdict = judgeBudget({ limit: left / Math.max(1, pods), amount: claim.amount }, own);
  // What is left besides is the share of others, or comes back to be shared anew when the ledger has heard of ours.
  return verdict === 'exhausted' && own.spent < left ? 'held' : verdict;
}

/**
 * Where all pods keep a budget together. What was spent while the store was away, or what it forgot, is what the ledger knows and what each
 * process has not seen there yet. Only the former is kept: some of the latter may be in both for a moment.
 */
export function judgeTogether(
  claim: BudgetClaim,
  { spent, held, reckoned = 0 }: BudgetReading,
): BudgetVerdict {
  const { limit, own } = claim;
  const verdict = judgeBudget(claim, {
    spent: Math.max(spent, reckoned),
    held: Math.max(held, own.held),
  });
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
