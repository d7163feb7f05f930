// The ledger's last answer on the spend of each key and namespace.

import { type BudgetPeriod, periodAt } from '../../core/contract/budget.ts';
import type { SpendReport, SpendUse, Spent } from '../../core/contract/spend.ts';

/** The news of an answer; `again`: it is from another ledger than the last one, so ask for everything again. */
export type SpendNews =
  | { readonly type: 'changed'; readonly keys: readonly string[]; readonly namespaces: readonly string[] }
  | { readonly type: 'again' };

export interface SpendBook {
  /** Behind which sequence to ask next. */
  after(): number;
  /** @param page Asked for behind `after()`. */
  take(page: SpendReport): SpendNews;
  /** The ledger was read completely once: a missing name has no spend. */
  isWhole(): boolean;
  /** Of an ApiKey, by `namespace/name`; undefined: never used, as far as is known. */
  ofKey(apiKey: string): Spent | undefined;
  ofNamespace(namespace: string): Spent | undefined;
}

export function createSpendBook(): SpendBook {
  const keys = new Map<string, Spent>();
  const namespaces = new Map<string, Spent>();
  let ledger: string | undefined;
  let after = 0;
  let isWhole = false;

  return {
    after: () => after,
    isWhole: () => isWhole,
    ofKey: (apiKey) => keys.get(apiKey),
    ofNamespace: (namespace) => namespaces.get(namespace),
    take(page) {
      const isOther = ledger !== undefined && ledger !== page.ledger;
      if (isOther || page.sequence < after) {
        for (const known of [keys, namespaces]) known.clear();
        ledger = undefined;
        after = 0;
        isWhole = false;
        return { type: 'again' };
      }
      ledger = page.ledger;
      after = page.sequence;
      for (const { apiKey, ...spent } of page.keys) keys.set(apiKey, spent);
      for (const { namespace, ...spent } of page.namespaces) namespaces.set(namespace, spent);
      if (!page.hasMore) isWhole = true;
      return {
        type: 'changed',
        keys: page.keys.map(({ apiKey }) => apiKey),
        namespaces: page.namespaces.map(({ namespace }) => namespace),
      };
    },
  };
}

const NOTHING: SpendUse = {
  requests: 0,
  tokens: { input: 0, cachedInput: 0, output: 0 },
  costPicodollars: '0',
};

/**
 * Use in the present period. The ledger's number is for the period of its answer: if that is over, nothing was used since, or the ledger
 * would have reported it.
 */
export function useIn(spent: Spent | undefined, period: BudgetPeriod, nowMs: number): SpendUse {
  if (spent === undefined) return NOTHING;
  if (period === 'Total') return spent.total;
  const use = { Day: spent.day, Week: spent.week, Month: spent.month }[period];
  // Its clock may be a little ahead of ours.
  return use.since >= periodAt(period, nowMs).start ? use : NOTHING;
}
