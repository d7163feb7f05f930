// Which keys and namespaces have records behind a sequence, and what have they spent? A page for operator and gateways, and where to
// go on.

import type { SpendReport } from '../../core/contract/spend.ts';
import { periodsOf } from '../store/periods.ts';
import type { Changed, LedgerStore } from '../store/store.ts';
import { spendAnswer } from './answers.ts';

const dayMs = 86_400_000;

interface SpendQuery {
  readonly after: number;
  readonly limit: number;
  /** The caller's day, `YYYY-MM-DD`; undefined: the ledger's. */
  readonly day?: string | undefined;
}

export async function readSpendPage(
  store: LedgerStore['spend'],
  nowMs: number,
  { after, limit, day }: SpendQuery,
): Promise<SpendReport> {
  const { id: ledger, sequence: last } = await store.state();
  // The caller's sequence is ahead: it is from another ledger, or from this one before a restore.
  if (last < after) return { ledger, sequence: 0, hasMore: true, keys: [], namespaces: [] };
  const changed = await store.changed('apiKey', after, limit);
  // The sequence at the first question: a key that has changed since comes again, and no key is missed.
  const sequence = changed.at(-1)?.sequence ?? after;
  // The last record of a namespace is the last one of a key of it: so these are no more than the keys.
  const namespaces = await store.changed('namespace', after, limit, sequence);
  const atMs = day === undefined ? nowMs : Date.parse(day);
  const [keys, spentByNamespaces] = await Promise.all([
    keysAt(store, namesOf(changed), atMs),
    store.spendOf('namespace', namesOf(namespaces), atMs),
  ]);
  // A clock is ahead. Keys without further changes are not reported again when the caller's day begins.
  const nextDayMs = day === undefined ? Number.POSITIVE_INFINITY : atMs + dayMs;
  const ahead = keys.filter(({ lastUsedAt }) => Date.parse(lastUsedAt) >= nextDayMs);
  const keysAhead = await keysAt(
    store,
    ahead.map(({ apiKey }) => apiKey),
    nextDayMs,
  );
  const since = periodsOf(atMs);
  return {
    ledger,
    sequence,
    hasMore: changed.length === limit,
    keys: [...keys, ...keysAhead],
    namespaces: spentByNamespaces.map((spend) => ({ namespace: spend.name, ...spendAnswer(spend, since) })),
  };
}

async function keysAt(store: LedgerStore['spend'], names: readonly string[], atMs: number) {
  if (names.length === 0) return [];
  const since = periodsOf(atMs);
  const spends = await store.spendOf('apiKey', names, atMs);
  return spends.map((spend) => ({ apiKey: spend.name, ...spendAnswer(spend, since) }));
}

function namesOf(changed: readonly Changed[]): readonly string[] {
  return changed.map(({ name }) => name);
}
