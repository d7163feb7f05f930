// Which budgets of namespaces are passed? No object stores the last state, so it is remembered while this process leads. Budgets passed
// before that count as reported.

import { type BudgetPeriod, periodAt } from '../../core/contract/budget.ts';
import type { EventReason } from '../resources/event-reasons.ts';
import type { TenantBudget } from '../watch/snapshot.ts';
import { dollarsOf } from './dollars.ts';
import { levelOf } from './settle-usage.ts';
import { type SpendBook, useIn } from './spend-book.ts';

interface TenantNews {
  readonly namespace: string;
  readonly reason: Extract<EventReason, `Tenant${string}`>;
  readonly note: string;
}

interface TenantWatch {
  /** The given namespaces whose budgets have passed a warning or their limit since the last look. */
  look(namespaces: Iterable<string>, nowMs: number): readonly TenantNews[];
  /** Takes the present state as known, without news. */
  learn(nowMs: number): void;
}

export type BudgetsOf = ReadonlyMap<string, readonly TenantBudget[]>;

/** @param budgetsOf by namespace, as they are now. */
export function watchTenantBudgets(
  budgetsOf: () => BudgetsOf,
  book: Pick<SpendBook, 'ofNamespace'>,
): TenantWatch {
  const known = new Map<string, { readonly start: string; readonly level: number }>();
  const look: TenantWatch['look'] = (namespaces, nowMs) =>
    [...namespaces].flatMap((namespace) =>
      (budgetsOf().get(namespace) ?? []).flatMap((budget): TenantNews[] => {
        const { period, limit, action, warnPercent } = budget;
        const { start } = periodAt(period, nowMs);
        const use = useIn(book.ofNamespace(namespace), period, nowMs);
        const spend = dollarsOf(BigInt(use.costPicodollars));
        const level = levelOf(spend, limit, warnPercent);
        const place = `${namespace} ${period} ${action}`;
        const before = known.get(place);
        known.set(place, { start, level });
        if (level <= (before?.start === start ? before.level : 0)) return [];
        return [describe(namespace, budget, level, spend, start)];
      }),
    );
  return { look, learn: (nowMs) => void look(budgetsOf().keys(), nowMs) };
}

const WORDS: Readonly<Record<BudgetPeriod, string>> = {
  Day: 'daily',
  Week: 'weekly',
  Month: 'monthly',
  Total: 'total',
};

function describe(
  namespace: string,
  { period, limit, action, warnPercent }: TenantBudget,
  level: number,
  spend: string,
  start: string,
): TenantNews {
  const since = start === '' ? '' : ` since ${start}`;
  const what =
    level === 1
      ? `more than ${warnPercent} % of it is used`
      : action === 'Block'
        ? 'calls of its keys are rejected'
        : 'calls go on (action: Warn)';
  return {
    namespace,
    reason: level === 1 ? 'TenantBudgetWarning' : 'TenantBudgetExhausted',
    note: `the ${WORDS[period]} budget of namespace ${namespace}: $${spend} of $${limit} spent${since}; ${what}`,
  };
}
