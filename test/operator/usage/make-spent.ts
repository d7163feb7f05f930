// What has the ledger reported of a key? Amounts in millionths of a dollar, on the day of `at`; a test shows only what it is about.

import { type BudgetPeriod, periodAt } from '../../../core/contract/budget.ts';
import type { SpendReport, SpendUse, Spent } from '../../../core/contract/spend.ts';

export const AT = '2026-11-22T12:00:00Z';
export const AT_MS = Date.parse(AT);

export interface SpentParts {
  /** Of the moment in which the ledger answered. */
  readonly atMs?: number;
  /** Millionths of a dollar, in every period. */
  readonly micros?: number;
  readonly requests?: number;
}

export function makeSpent({ atMs = AT_MS, micros = 0, requests = 1 }: SpentParts = {}): Spent {
  const use: SpendUse = {
    requests,
    tokens: { input: 10 * requests, cachedInput: 4 * requests, output: 2 * requests },
    costPicodollars: `${BigInt(micros) * 1_000_000n}`,
  };
  const in_ = (period: BudgetPeriod) => ({ since: periodAt(period, atMs).start, ...use });
  return {
    lastUsedAt: new Date(atMs).toISOString(),
    day: in_('Day'),
    week: in_('Week'),
    month: in_('Month'),
    total: use,
  };
}

export function makePage(more: Partial<SpendReport> = {}): SpendReport {
  return { ledger: 'one', sequence: 0, hasMore: false, keys: [], namespaces: [], ...more };
}
