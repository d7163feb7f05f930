// How does spend stand against budgets? Pure: one row for each budget, out of what is limited and what was spent.

import {
  type BudgetPeriod,
  type Overshoot,
  type OvershootFacts,
  periodAt,
  worstOvershoot,
} from '../../gateway/contract/budget.ts';
import type { Budget, Budgeted } from '../budgets.ts';
import { usdOf } from '../money.ts';
import type { Filter, Spend } from '../store/store.ts';
import { moneyAnswer } from './answers.ts';

/** A budget and whose it is: of each spender as many as it has. */
export interface BudgetRow extends Omit<Budgeted, 'budgets'> {
  readonly budget: Budget;
}

/** Those that the filter lets through; the budgets of a whole namespace are of none of its keys. */
export function budgetRows(
  budgeted: readonly Budgeted[],
  { namespace, apiKey }: Pick<Filter, 'namespace' | 'apiKey'>,
): readonly BudgetRow[] {
  return budgeted
    .filter((one) => namespace === undefined || one.namespace === namespace)
    .filter((one) => apiKey === undefined || (one.spender === 'apiKey' && one.name === apiKey))
    .flatMap(({ budgets, ...of }) => budgets.map((budget) => ({ ...of, budget })));
}

/** Who lets requests through: those that are ready, and whether they keep budgets together. */
export type Fleet = Pick<OvershootFacts, 'gateways' | 'hasStore'>;

/**
 * @param spend Undefined: nothing yet.
 * @param fleet Absent: nobody knows.
 */
export function budgetAnswer(
  { namespace, spender, name, budget }: BudgetRow,
  spend: Spend | undefined,
  nowMs: number,
  fleet?: Fleet,
) {
  const { period, action, limitPicodollars } = budget;
  const spent = spend?.[PLACES[period]].costPicodollars ?? 0n;
  const { start, endMs } = periodAt(period, nowMs);
  return {
    namespace,
    ...(spender === 'apiKey' ? { apiKey: name } : {}),
    period,
    action,
    limitUsd: usdOf(limitPicodollars),
    ...moneyAnswer(spent),
    // Nothing is left of a budget of nothing.
    usedShare: limitPicodollars === 0n ? 1 : Number((spent * 1_000_000n) / limitPicodollars) / 1e6,
    ...overshootAnswer(budget, fleet),
    ...(start === '' ? {} : { since: start }),
    ...(endMs === undefined ? {} : { resetsAt: new Date(endMs).toISOString() }),
  };
}

/** A budget that only warns has none; and how many gateways there will be, nobody knows while there is none. */
function overshootAnswer({ action, limitPicodollars }: Budget, fleet: Fleet | undefined) {
  if (action !== 'Block' || fleet === undefined || fleet.gateways === 0) return {};
  const limitMicrodollars = Number(limitPicodollars / picodollarsPerMicrodollar);
  const { withoutStore, ...worst } = worstOvershoot({ ...fleet, limitMicrodollars });
  return {
    overshoot: {
      ...inUsd(worst),
      ...(withoutStore === undefined ? {} : { withoutStore: inUsd(withoutStore) }),
    },
  };
}

function inUsd({ requests, unheardMicrodollarsMax }: Overshoot) {
  return { requests, unheardUsd: usdOf(BigInt(unheardMicrodollarsMax) * picodollarsPerMicrodollar) };
}

const picodollarsPerMicrodollar = 1_000_000n;

const PLACES = { Day: 'day', Week: 'week', Month: 'month', Total: 'total' } as const satisfies Record<
  BudgetPeriod,
  keyof Spend
>;
