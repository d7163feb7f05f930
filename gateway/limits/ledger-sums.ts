// How much was spent in each period, by the ledger's account? By ApiKey, and by tenant as the sum of its ApiKeys.

import type { BudgetPeriod } from '../../core/contract/budget.ts';
import type { SpendPage } from '../../core/contract/spend.ts';
import { nanodollarsOf } from './nanodollars.ts';
import type { SubjectKind } from './subject.ts';

interface PeriodSum {
  readonly start: string;
  /** Nanodollars. */
  readonly spent: number;
}

/** Of the two latest periods, the later one first: if clocks disagree, spending continues in both. */
type Sums = Partial<Record<BudgetPeriod, readonly PeriodSum[]>>;

export class LedgerSums {
  private readonly keys = new Map<string, Sums>();
  private readonly tenants = new Map<string, Sums>();

  /** New sums of a key replace its earlier sums. */
  take(entries: SpendPage['keys']): void {
    for (const { apiKey, day, week, month, total } of entries) {
      this.add(apiKey, 'Day', day.since, day.costPicodollars);
      this.add(apiKey, 'Week', week.since, week.costPicodollars);
      this.add(apiKey, 'Month', month.since, month.costPicodollars);
      this.add(apiKey, 'Total', '', total.costPicodollars);
    }
  }

  /** In nanodollars; 0 if the ledger has never reported the subject. */
  spentOf(kind: SubjectKind, id: string, period: BudgetPeriod, start: string): number {
    return spentIn((kind === 'tenant' ? this.tenants : this.keys).get(id), period, start);
  }

  private add(apiKey: string, period: BudgetPeriod, start: string, cost: string): void {
    const spent = nanodollarsOf(BigInt(cost));
    const key = sumsOf(this.keys, apiKey);
    const more = spent - spentIn(key, period, start);
    raise(key, period, start, more);
    raise(sumsOf(this.tenants, apiKey.slice(0, apiKey.indexOf('/'))), period, start, more);
  }
}

function sumsOf(all: Map<string, Sums>, id: string): Sums {
  const known = all.get(id);
  if (known !== undefined) return known;
  const sums: Sums = {};
  all.set(id, sums);
  return sums;
}

function spentIn(sums: Sums | undefined, period: BudgetPeriod, start: string): number {
  return sums?.[period]?.find((sum) => sum.start === start)?.spent ?? 0;
}

function raise(sums: Sums, period: BudgetPeriod, start: string, by: number): void {
  const spent = spentIn(sums, period, start) + by;
  const others = sums[period]?.filter((sum) => sum.start !== start) ?? [];
  // Text of one form: what is later is greater.
  sums[period] = [...others, { start, spent }].sort((a, b) => (a.start < b.start ? 1 : -1)).slice(0, 2);
}
