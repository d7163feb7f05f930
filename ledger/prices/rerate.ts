// What would a period have cost at other prices? Read from its records; nothing is changed.

import { exactCost, paysForRequest, type Rated } from '../../core/contract/cost.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Price } from '../../core/contract/routing-table.ts';
import { allRecords } from '../all-records.ts';
import type { Filter, LedgerStore } from '../store/store.ts';

export type Payer = LedgerRecord['payer'];

export interface Rerated {
  /** As records name it. */
  readonly model: string;
  readonly payer: Payer;
  readonly attempts: number;
  /** Attempts that had no price; what they cost now is in `newPicodollars`. */
  readonly unpriced: number;
  /** False: there is no other price, and it is left as it was. */
  readonly isRepriced: boolean;
  readonly oldPicodollars: bigint;
  readonly newPicodollars: bigint;
}

interface RerateQuery {
  /** `YYYY-MM-DD`, UTC; the second is the day after the last. */
  readonly from: string;
  readonly to: string;
  readonly where?: Filter;
}

/** One row for each model and payer, in the order of their names. Amounts of different payers are never added up. */
export async function rerate(
  store: Pick<LedgerStore, 'records'>,
  query: RerateQuery,
  prices: ReadonlyMap<string, Price>,
): Promise<Rerated[]> {
  const sums = new Map<string, Rerated>();
  for await (const { record } of allRecords(store, query)) {
    const { model, payer, costPicodollars } = record;
    const other = prices.get(model);
    const old = BigInt(costPicodollars ?? 0);
    const place = JSON.stringify([model, payer]);
    const sum = sums.get(place);
    sums.set(place, {
      model,
      payer,
      attempts: (sum?.attempts ?? 0) + 1,
      unpriced: (sum?.unpriced ?? 0) + (costPicodollars === null ? 1 : 0),
      isRepriced: other !== undefined,
      oldPicodollars: (sum?.oldPicodollars ?? 0n) + old,
      newPicodollars: (sum?.newPicodollars ?? 0n) + (other === undefined ? old : costAt(other, record)),
    });
  }
  return [...sums.values()].sort((a, b) => (a.model < b.model ? -1 : 1));
}

/** By the rules of the gateway that rated it first. */
export function costAt(price: Price, record: Rated): bigint {
  // The tenant pays its provider itself.
  if (record.payer === 'own-key') return 0n;
  return exactCost(record.usage, paysForRequest(record, record.payer) ? price : { ...price, perRequest: 0 });
}
