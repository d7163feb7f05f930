// How is a question to the ledger asked and its answer read, whichever database keeps it? All that differs between them is in the text
// of one query.

import { largestQuery } from './largest.ts';
import { idsUpTo } from './last-attempts.ts';
import type { Query, Row } from './query.ts';
import {
  furtherAnswersQuery,
  lastFailuresQuery,
  latestQuery,
  linesQuery,
  readLastFailures,
  readRecords,
  recordsQuery,
} from './record-queries.ts';
import {
  readRefusals,
  readSingleRefusals,
  refusalsQuery,
  singleRefusalCountQuery,
  singleRefusalsQuery,
} from './refusal-queries.ts';
import { findPlaces, loggedRequests, ownLinesQuery, readAttempts, splitId } from './request-log.ts';
import {
  endsQuery,
  firstContentsByQuery,
  firstContentsQuery,
  readEnds,
  readFirstContents,
  readFirstContentsBy,
} from './request-queries.ts';
import type { DatabaseKind } from './schema.ts';
import {
  changedQuery,
  costsQuery,
  firstDaysQuery,
  readChanged,
  readSpend,
  spendQuery,
} from './spend-queries.ts';
import { asidesQuery, readState, stateQuery } from './state-queries.ts';
import type { LedgerStore } from './store.ts';
import { outcomesQuery, readOutcomes, readSums, sumsQuery, usedQuery } from './sums-queries.ts';
import { usesQuery } from './uses-query.ts';

/** @param rows Asks the database. */
export function readingOf(
  kind: DatabaseKind,
  rows: (query: Query) => Promise<Row[]>,
): Pick<
  LedgerStore,
  | 'sums'
  | 'outcomes'
  | 'spendOf'
  | 'costs'
  | 'firstDays'
  | 'uses'
  | 'changed'
  | 'state'
  | 'used'
  | 'largest'
  | 'latest'
  | 'lastFailures'
  | 'furtherAnswers'
  | 'ends'
  | 'firstContents'
  | 'firstContentsBy'
  | 'requestLog'
  | 'attemptsOf'
  | 'records'
  | 'refusals'
  | 'singleRefusals'
  | 'singleRefusalCount'
  | 'asides'
> {
  const sums: LedgerStore['sums'] = async (query) => readSums(await rows(sumsQuery(kind, query)), query.by);
  const linesOf = (namespace: string | undefined) => async (ids: readonly string[]) =>
    (await rows(ownLinesQuery(kind, ids, namespace))).map(({ id, line }) => ({
      id: String(id),
      line: String(line),
    }));
  return {
    sums,
    async outcomes(query) {
      return readOutcomes(await rows(outcomesQuery(kind, query)), query.by);
    },
    async used(query) {
      const { spender, ...asked } = query;
      const names = usedQuery(query);
      if (names !== undefined) return (await rows(names)).map(({ name }) => String(name));
      const found = await sums({ ...asked, by: [spender] });
      return found.flatMap(({ group }) => group[spender] ?? []);
    },
    async largest(query) {
      const names = largestQuery(query);
      if (names !== undefined) return (await rows(names)).map(({ name }) => String(name));
      const found = await sums({ ...query, by: [query.by] });
      return found.flatMap(({ group }) => group[query.by] ?? []);
    },
    async spendOf(spender, names, nowMs) {
      return readSpend(await rows(spendQuery(kind, spender, names, nowMs)));
    },
    async costs(query) {
      const [row] = await rows(costsQuery(kind, query));
      return { json: String(row?.json ?? '[]'), total: Number(row?.total ?? 0) };
    },
    async uses(query) {
      const [row] = await rows(usesQuery(kind, query));
      return JSON.parse(String(row?.json ?? '[]'));
    },
    async firstDays(spender, names) {
      if (names.length === 0) return new Map();
      const [row] = await rows(firstDaysQuery(kind, spender, names));
      const found: Readonly<Record<string, string>> = JSON.parse(String(row?.json ?? '{}'));
      return new Map(Object.entries(found));
    },
    async changed(spender, after, limit, upTo = Number.MAX_SAFE_INTEGER) {
      return readChanged(await rows(changedQuery(spender, after, limit, upTo)));
    },
    async latest(query) {
      return (await rows(latestQuery(kind, query))).map(({ model, line }) => ({
        model: String(model),
        line: String(line),
      }));
    },
    async lastFailures(by, query) {
      return readLastFailures(await rows(lastFailuresQuery(kind, by, query)), by);
    },
    async furtherAnswers(query) {
      const found = (await rows(furtherAnswersQuery(query))).map(({ id }) => idsUpTo(String(id)));
      if (found.length === 0) return [];
      const lines = new Map(
        (await rows(linesQuery(kind, found.flat()))).map(({ id, line }) => [String(id), String(line)]),
      );
      return found.map((ids) => ids.flatMap((id) => lines.get(id) ?? []));
    },
    async ends(query) {
      return readEnds(await rows(endsQuery(query)), query.interval);
    },
    async firstContents(query) {
      return readFirstContents(await rows(firstContentsQuery(kind, query)), query.interval);
    },
    async firstContentsBy(by, query) {
      return readFirstContentsBy(await rows(firstContentsByQuery(by, query)), by);
    },
    async requestLog(query) {
      const { limit, where } = query;
      const places = await findPlaces(kind, { ...query, limit: limit + 1 }, rows);
      const page = places.slice(0, limit);
      const requests = [...new Set(page.map(({ id }) => splitId(id).request))];
      const lines = await readAttempts(requests, linesOf(where.namespace));
      return {
        requests: loggedRequests(page, lines),
        next: places.length > limit ? page.at(-1) : undefined,
      };
    },
    async attemptsOf(request, namespace) {
      return (await readAttempts([request], linesOf(namespace))).get(request) ?? [];
    },
    async state() {
      return readState(await rows(stateQuery));
    },
    async records(query) {
      return readRecords(await rows(recordsQuery(query)));
    },
    async refusals(query) {
      return readRefusals(await rows(refusalsQuery(kind, query)), query.by);
    },
    async singleRefusals(query) {
      return readSingleRefusals(await rows(singleRefusalsQuery(kind, query)));
    },
    async singleRefusalCount(query) {
      const [row] = await rows(singleRefusalCountQuery(kind, query));
      return Number(row?.refused ?? 0);
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
