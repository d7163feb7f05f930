// How does spend stand against budgets? One row for each budget, out of what is limited and what it cost.

import { z } from 'zod';
import {
  type BudgetPeriod,
  type Overshoot,
  type OvershootFacts,
  periodAt,
  worstOvershoot,
} from '../../core/contract/budget.ts';
import type { Budget, Budgeted } from '../budgets.ts';
import { picodollarsIn, usdOf } from '../money.ts';
import type { Costs, CostsRow, Filter, LedgerStore, Spender } from '../store/store.ts';
import { moneyAnswer } from './answers.ts';

/** A budget and its spender; a spender has as many as it has budgets. */
interface BudgetRow extends Omit<Budgeted, 'budgets'> {
  readonly budget: Budget;
}

/** And what was spent of it. */
interface SpentRow extends BudgetRow {
  readonly picodollars: bigint;
  /** Of its spender's first record, `YYYY-MM-DD`. */
  readonly firstDay?: string | undefined;
}

/** The budgets that the filter lets through; a budget of a whole namespace belongs to none of its keys. */
export function budgetRows(
  budgeted: readonly Budgeted[],
  { namespace, apiKey }: Pick<Filter, 'namespace' | 'apiKey'>,
  spender?: Spender,
): readonly BudgetRow[] {
  return budgeted
    .filter((one) => namespace === undefined || one.namespace === namespace)
    .filter((one) => apiKey === undefined || (one.spender === 'apiKey' && one.name === apiKey))
    .filter((one) => spender === undefined || one.spender === spender)
    .flatMap(({ budgets, ...of }) => budgets.map((budget) => ({ ...of, budget })));
}

/** Asks for no more than costs: budgets may be as many as there are keys. */
export async function readSpent(
  store: Pick<LedgerStore, 'costs'>,
  rows: readonly BudgetRow[],
  nowMs: number,
): Promise<readonly SpentRow[]> {
  const costsOf = async (spender: Spender) => {
    const names = [...new Set(rows.filter((row) => row.spender === spender).map(({ name }) => name))];
    if (names.length === 0) return new Map<string, CostsRow>();
    return readCosts(await store.costs({ spender, names, limit: names.length, nowMs }));
  };
  const costs = { apiKey: await costsOf('apiKey'), namespace: await costsOf('namespace') };
  return rows.map((row) => ({ ...row, picodollars: spentOf(row, costs[row.spender].get(row.name)) }));
}

const costsSchema = z.array(
  z.tuple([z.string(), z.number(), z.string(), z.string(), z.string(), z.string()]),
);

function readCosts({ json }: Costs): ReadonlyMap<string, CostsRow> {
  return new Map(costsSchema.parse(JSON.parse(json)).map((row) => [row[0], row]));
}

const PLACES = { Day: 2, Week: 3, Month: 4, Total: 5 } as const satisfies Record<BudgetPeriod, number>;

/** @param costs Undefined: nothing yet. */
export function spentOf({ budget }: BudgetRow, costs: CostsRow | undefined): bigint {
  return costs === undefined ? 0n : picodollarsIn(costs[PLACES[budget.period]]);
}

/** Nothing is left of a budget of nothing. Twelve digits: little of a large budget is not nothing, and almost all of it is not all. */
function usedShareOf({ budget: { limitPicodollars }, picodollars }: SpentRow): number {
  return limitPicodollars === 0n ? 1 : Number((picodollars * 1_000_000_000_000n) / limitPicodollars) / 1e12;
}

/** Budgets with at least this share spent, the most spent first. */
export function usedUpTo(rows: readonly SpentRow[], share: number): readonly SpentRow[] {
  return rows
    .map((row) => ({ row, used: usedShareOf(row) }))
    .filter(({ used }) => used >= share)
    .sort((a, b) => b.used - a.used)
    .map(({ row }) => row);
}

export async function withFirstDays(
  store: Pick<LedgerStore, 'firstDays'>,
  rows: readonly SpentRow[],
): Promise<readonly SpentRow[]> {
  const daysOf = (spender: Spender) =>
    store.firstDays(spender, [
      ...new Set(rows.filter((row) => row.spender === spender).map(({ name }) => name)),
    ]);
  const days = { apiKey: await daysOf('apiKey'), namespace: await daysOf('namespace') };
  return rows.map((row) => ({ ...row, firstDay: days[row.spender].get(row.name) }));
}

/** The ready gateways, and whether they keep budgets together. */
export type Fleet = Pick<OvershootFacts, 'gateways' | 'hasStore'>;

/** @param fleet Absent: unknown. */
export function budgetAnswer(row: SpentRow, nowMs: number, fleet?: Fleet) {
  const { namespace, spender, name, picodollars } = row;
  const { period, action, limitPicodollars, warnPercent } = row.budget;
  const { start, endMs } = periodAt(period, nowMs);
  return {
    namespace,
    ...(spender === 'apiKey' ? { apiKey: name } : {}),
    period,
    action,
    warnPercent,
    limitUsd: usdOf(limitPicodollars),
    ...moneyAnswer(picodollars),
    usedShare: usedShareOf(row),
    ...atWorstAnswer(row.budget, fleet),
    ...(start === '' ? {} : { since: start }),
    ...paceAnswer(row, start),
    ...(endMs === undefined ? {} : { resetsAt: new Date(endMs).toISOString() }),
  };
}

/** Since when its spend grows: from the first use of the period, and on the day on which an ApiKey is made, from that moment. */
function paceAnswer({ createdAt, firstDay }: SpentRow, start: string) {
  if (firstDay === undefined) return {};
  const first = createdAt?.startsWith(firstDay) ? createdAt : firstDay;
  return { paceSince: first > start ? first : start };
}

/** Overshoot at worst. Empty for a budget that only warns, and while no gateway is ready: the overshoot depends on the number of gateways. */
function atWorstAnswer({ action, limitPicodollars }: Budget, fleet: Fleet | undefined) {
  if (action !== 'Block' || fleet === undefined || fleet.gateways === 0) return {};
  const limitMicrodollars = Number(limitPicodollars / picodollarsPerMicrodollar);
  const { withoutStore, ...worst } = worstOvershoot({ ...fleet, limitMicrodollars });
  return {
    atWorst: {
      ...inDollars(worst),
      ...(withoutStore === undefined ? {} : { withoutStore: inDollars(withoutStore) }),
    },
  };
}

function inDollars({ requests, unheardMicrodollarsMax }: Overshoot) {
  return { requests, dollars: usdOf(BigInt(unheardMicrodollarsMax) * picodollarsPerMicrodollar) };
}

const picodollarsPerMicrodollar = 1_000_000n;
