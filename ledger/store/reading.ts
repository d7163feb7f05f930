// How is a question to the ledger asked and its answer read, whichever database keeps it? All that differs between them is in the text
// of one query.

import {
  asidesQuery,
  changedQuery,
  lastFailuresQuery,
  latestQuery,
  type Query,
  type Row,
  readChanged,
  readLastFailures,
  readRecords,
  readSpend,
  readState,
  readSums,
  recordsQuery,
  spendQuery,
  stateQuery,
  sumsQuery,
} from './queries.ts';
import { endsQuery, firstContentsQuery, readEnds, readFirstContents } from './request-queries.ts';
import type { LedgerStore } from './store.ts';

/** @param rows Asks the database. */
export function readingOf(
  dialect: Parameters<typeof spendQuery>[0],
  rows: (query: Query) => Promise<Row[]>,
): Pick<
  LedgerStore,
  | 'sums'
  | 'spendOf'
  | 'changed'
  | 'state'
  | 'latest'
  | 'lastFailures'
  | 'ends'
  | 'firstContents'
  | 'records'
  | 'asides'
> {
  return {
    async sums(query) {
      return readSums(await rows(sumsQuery(query)), query.by);
    },
    async spendOf(spender, names, nowMs) {
      return readSpend(await rows(spendQuery(dialect, spender, names, nowMs)));
    },
    async changed(spender, after, limit, upTo = Number.MAX_SAFE_INTEGER) {
      return readChanged(await rows(changedQuery(spender, after, limit, upTo)));
    },
    async latest(where) {
      return (await rows(latestQuery(where))).map(({ model, line }) => ({
        model: String(model),
        line: String(line),
      }));
    },
    async lastFailures(by, where) {
      return readLastFailures(await rows(lastFailuresQuery(by, where)), by);
    },
    async ends(query) {
      return readEnds(await rows(endsQuery(query)));
    },
    async firstContents(query) {
      return readFirstContents(await rows(firstContentsQuery(query)));
    },
    async state() {
      return readState(await rows(stateQuery));
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
