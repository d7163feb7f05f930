// What would a period have cost at other prices? Read from its records; nothing is changed.

import { allRecords } from '../all-records.ts';
import type { Filter, LedgerStore } from '../store/store.ts';
import { type Prices, rate } from './cost.ts';

export interface Rerated {
  /** As callers write it. */
  readonly model: string;
  readonly attempts: number;
  /** Attempts that had no price; what they cost now is in `newPicodollars`. */
  readonly unpriced: number;
  /** False: there is no other price, and it is left as it was. */
  readonly isRepriced: boolean;
  readonly oldPicodollars: bigint;
  readonly newPicodollars: bigint;
}

export interface RerateQuery {
  /** `YYYY-MM-DD`, UTC; the second is the day after the last. */
  readonly from: string;
  readonly to: string;
  readonly where?: Filter;
}

/** One row for each model, in the order of their names. */
export async function rerate(
  store: Pick<LedgerStore, 'records'>,
  query: RerateQuery,
  prices: ReadonlyMap<string, Prices>,
): Promise<Rerated[]> {
  const byModel = new Map<string, Rerated>();
  for await (const { record } of allRecords(store, query)) {
    const { model, costPicodollars } = record;
    const other = prices.get(model);
    const old = BigInt(costPicodollars ?? 0);
    const sum = byModel.get(model);
    byModel.set(model, {
      model,
      attempts: (sum?.attempts ?? 0) + 1,
      unpriced: (sum?.unpriced ?? 0) + (costPicodollars === null ? 1 : 0),
      isRepriced: other !== undefined,
      oldPicodollars: (sum?.oldPicodollars ?? 0n) + old,
      newPicodollars: (sum?.newPicodollars ?? 0n) + (other === undefined ? old : rate(record, other)),
    });
  }
  return [...byModel.values()].sort((a, b) => (a.model < b.model ? -1 : 1));
}
