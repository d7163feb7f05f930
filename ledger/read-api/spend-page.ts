// Which keys have records behind a sequence, and what have they spent? A page for operator and gateways, and where to go on.

import { periodsOf } from '../store/queries.ts';
import type { LedgerStore } from '../store/store.ts';
import { spendAnswer } from './answers.ts';

/** On one page. */
export const KEYS_MAX = 1_000;

export async function readSpendPage(
  store: Pick<LedgerStore, 'changedKeys' | 'spendOf'>,
  nowMs: number,
  { after, limit }: { readonly after: number; readonly limit: number },
) {
  const changed = await store.changedKeys(after, limit);
  // Where nothing follows a record, it is the last one of some key. Is there no such key, whoever asks knows of another ledger.
  if (changed.length === 0 && after > 0 && (await store.changedKeys(after - 1, 1)).length === 0)
    return { sequence: 0, hasMore: true, keys: [] };
  const since = periodsOf(nowMs);
  const spends = await store.spendOf(
    changed.map(({ apiKey }) => apiKey),
    nowMs,
  );
  return {
    // As the first question found it: a key that has changed since comes again, and none is passed over.
    sequence: changed.at(-1)?.sequence ?? after,
    hasMore: changed.length === limit,
    keys: spends.map((spend) => spendAnswer(spend, since)),
  };
}
