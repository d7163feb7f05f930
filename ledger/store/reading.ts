// How is a question to the ledger asked and its answer read, whichever database keeps it? All that differs between them is in the text
// of one query.

import {
  asidesQuery,
  changedKeysQuery,
  type Query,
  type Row,
  readChangedKeys,
  readRecords,
  readSpend,
  readSums,
  recordsQuery,
  spendQuery,
  sumsQuery,
} from './queries.ts';
import type { LedgerStore } from './store.ts';

/** @param rows Asks the database. */
export function readingOf(
  dialect: Parameters<typeof spendQuery>[0],
  rows: (query: Query) => Promise<Row[]>,
): Pick<LedgerStore, 'sums' | 'spendOf' | 'changedKeys' | 'records' | 'asides'> {
  return {
    async sums(query) {
      return readSums(await rows(sumsQuery(query)), query.by);
    },
    async spendOf(apiKeys, nowMs) {
      return readSpend(await rows(spendQuery(dialect, apiKeys, nowMs)));
    },
    async changedKeys(after, limit) {
      return readChangedKeys(await rows(changedKeysQuery(after, limit)));
    },
    async records(query) {
      return readRecords(await rows(recordsQuery(query)));
    },
    async asides(limit) {
      return (await rows(asidesQuery(limit))).map((row) => ({
        source: String(row.source),
        atMs: Number(row.at_ms),
        reason: String(row.reason),
        line: String(row.line),
      }));
    },
  };
}
