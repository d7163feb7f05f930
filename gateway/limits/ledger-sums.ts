// What was spent in each period, as the ledger tells it? By ApiKey, and by tenant as the sum of its ApiKeys.

import type { BudgetPeriod } from '../contract/budget.ts';
import type { SpendPage } from '../contract/spend.ts';
import { nanodollarsOf } from './nanodollars.ts';
import type { SubjectKind } from './subject.ts';

interface PeriodSum {
  readonly start: string;
  /** Nanodollars. */
  readonly spent: number;
  /** Of the period before, where the clock of the ledger is ahead of ours. */
  readonly before?: PeriodSum | undefined;
}

type Sums = Partial<Record<BudgetPeriod, PeriodSum>>;

export class LedgerSums {
  private readonly keys = new Map<string, Sums>();
  private readonly tenants = new Map<string, Sums>();

  /** What is told of a key takes the place of what was told of it before. */
  take(told: SpendPage['keys']): void {
    for (const { apiKey, day, week, month, total } of told) {
      this.add(apiKey, 'Day', day.since, day.costPicodollars);
      this.add(apiKey, 'Week', week.since, week.costPicodollars);
      this.add(apiKey, 'Month', month.since, month.costPicodollars);
      this.add(apiKey, 'Total', '', total.costPicodollars);
    }
  }

  /** In nanodollars; 0 of what was never told of. */
  spentOf(kind: SubjectKind, id: string, period: BudgetPeriod, start: string): number {
    const sum = (kind === 'tenant' ? this.tenants : this.keys).get(id)?.[period];
    if (sum?.start === start) return sum.spent;
    return sum?.before?.start === start ? sum.before.spent : 0;
  }

  private add(apiKey: string, period: BudgetPeriod, start: string, cost: string): void {
    const spent = nanodollarsOf(BigInt(cost));
    const key = sumsOf(this.keys, apiKey);
    const known = key[period]?.start === start ? key[period].spent : 0;
    raise(key, period, start, spent - known);
    raise(sumsOf(this.tenants, apiKey.slice(0, apiKey.indexOf('/'))), period, start, spent - known);
  }
}

function sumsOf(all: Map<string, Sums>, id: string): Sums {
  const known = all.get(id);
  if (known !== undefined) return known;
  const sums: Sums = {};
  all.set(id, sums);
  return sums;
}

function raise(sums: Sums, period: BudgetPeriod, start: string, by: number): void {
  const last = sums[period];
  if (last?.start === start) sums[period] = { ...last, spent: last.spent + by };
  // Text of one form: what is later is greater.
  else if (last === undefined || last.start < start)
    sums[period] = { start, spent: by, before: last && { start: last.start, spent: last.spent } };
}
