// Which keys and namespaces have records behind a sequence, and what have they spent? A page for operator and gateways, and where to
// go on.

import type { SpendReport } from '../../gateway/contract/spend.ts';
import { periodsOf } from '../store/periods.ts';
import type { Changed, LedgerStore } from '../store/store.ts';
import { spendAnswer } from './answers.ts';

export async function readSpendPage(
  store: LedgerStore['spend'],
  nowMs: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<SpendReport> {
  const { id: ledger, sequence: last } = await store.state();
  // Whoever asks knows more than there is: it was told by another ledger, or by this one before it was put back.
  if (last < after) return { ledger, sequence: 0, hasMore: true, keys: [], namespaces: [] };
  const changed = await store.changed('apiKey', after, limit);
  // As the first question found it: a key that has changed since comes again, and none is passed over.
  const sequence = changed.at(-1)?.sequence ?? after;
  // The last record of a namespace is the last one of a key of it: so these are no more than the keys.
  const namespaces = await store.changed('namespace', after, limit, sequence);
  const since = periodsOf(nowMs);
  const [ofKeys, ofNamespaces] = await Promise.all([
    store.spendOf('apiKey', namesOf(changed), nowMs),
    store.spendOf('namespace', namesOf(namespaces), nowMs),
  ]);
  return {
    ledger,
    sequence,
    hasMore: changed.length === limit,
    keys: ofKeys.map((spend) => ({ apiKey: spend.name, ...spendAnswer(spend, since) })),
    namespaces: ofNamespaces.map((spend) => ({ namespace: spend.name, ...spendAnswer(spend, since) })),
  };
}

function namesOf(changed: readonly Changed[]): readonly string[] {
  return changed.map(({ name }) => name);
}
