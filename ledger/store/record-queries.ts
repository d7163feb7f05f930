// Which records are there, which is the newest of each, when did one fail last, and which were answered by a further attempt?

import { FURTHER_ANSWERED } from './last-attempts.ts';
import {
  COLUMNS,
  filterConditions,
  groupOf,
  isInterval,
  listOf,
  type Query,
  type Row,
  type Value,
  withinMs,
} from './query.ts';
import { ALL } from './row.ts';
import type { DatabaseKind } from './schema.ts';
import { isWhole, type Stretch, spansIn } from './spans.ts';
import type { Dimension, LastFailure, RecentQuery, RecordsQuery, StoredRecord } from './store.ts';

export function recordsQuery({ after, limit, from, to, where }: RecordsQuery): Query {
  const values: Value[] = [after];
  const conditions = ['sequence > $1'];
  if (from !== undefined) conditions.push(`day >= $${values.push(from)}`);
  if (to !== undefined) conditions.push(`day < $${values.push(to)}`);
  conditions.push(...filterConditions(where, values));
  const text = `SELECT sequence, line FROM ledger_records WHERE ${conditions.join(' AND ')}
    ORDER BY sequence LIMIT $${values.push(limit)}`;
  return { text, values };
}

export function readRecords(rows: readonly Row[]): StoredRecord[] {
  return rows.map(({ sequence, line }) => ({ sequence: Number(sequence), line: String(line) }));
}

export function latestQuery(kind: DatabaseKind, query: RecentQuery): Query {
  const values: Value[] = [];
  const { table, sequence, conditions } = newestIn(kind, query, values);
  return {
    text: `SELECT r.model, r.line FROM ledger_records r JOIN
      (SELECT MAX(${sequence}) AS last FROM ${table} WHERE payer <> 'platform' AND ${conditions.join(' AND ')}
        GROUP BY model) AS l
      ON r.sequence = l.last ORDER BY r.model`,
    values,
  };
}

export function lastFailuresQuery(kind: DatabaseKind, by: readonly Dimension[], query: RecentQuery): Query {
  const values: Value[] = [];
  const columns = by.flatMap((dimension) => (isInterval(dimension) ? [] : [dimension]));
  const named = columns.map((dimension) => `${COLUMNS[dimension]} AS by_${dimension}`).join(', ');
  const group = columns.map((dimension) => COLUMNS[dimension]).join(', ');
  const { table, ms, sequence, conditions } = newestIn(kind, query, values);
  const order = columns.map((dimension) => `f.by_${dimension}`).join(', ');
  return {
    text: `SELECT f.*, r.line FROM
      (SELECT ${named}, MAX(${ms}) AS at_ms, MAX(${sequence}) AS last FROM ${table}
        WHERE outcome IN ('failed', 'broken-off') AND ${conditions.join(' AND ')} GROUP BY ${group}) AS f
      LEFT JOIN ledger_records r ON r.sequence = f.last ORDER BY ${order}`,
    values,
  };
}

export function readLastFailures(rows: readonly Row[], by: readonly Dimension[]): LastFailure[] {
  return (
    rows
      .map((row) => ({
        group: groupOf(row, by),
        atMs: Number(row.at_ms),
        ...(typeof row.line === 'string' ? { line: row.line } : {}),
      }))
      // Unknown for days whose records were deleted before the sums had this column.
      .filter(({ atMs }) => atMs > 0)
  );
}

/** For a few requests: the last one may have no failover, since a request can have several calls. */
const furtherMax = 20;

export function furtherAnswersQuery(query: RecentQuery): Query {
  const values: Value[] = [];
  const conditions = [FURTHER_ANSWERED, ...withinMs(query, values), ...filterConditions(query.where, values)];
  return {
    text: `SELECT id FROM ledger_records WHERE ${conditions.join(' AND ')}
      ORDER BY started_ms DESC LIMIT ${furtherMax}`,
    values,
  };
}

export function linesQuery(kind: DatabaseKind, ids: readonly string[]): Query {
  return {
    text: `SELECT id, line FROM ledger_records WHERE id IN ${listOf(kind, 1)}`,
    values: [JSON.stringify(ids)],
  };
}

/** Where sums know it; of one key, only its records do. */
function newestIn(kind: DatabaseKind, query: RecentQuery, values: Value[]) {
  const { where } = query;
  if (where.apiKey !== undefined) {
    return {
      ...{ table: 'ledger_records', ms: 'started_ms', sequence: 'sequence' },
      conditions: [...withinMs(query, values), ...filterConditions(where, values)],
    };
  }
  return {
    ...{ table: 'ledger_spans', ms: 'last_ms', sequence: 'last_sequence' },
    conditions: [
      ...spansTouched(kind, query, values),
      ...filterConditions({ ...where, namespace: where.namespace ?? ALL }, values),
    ],
  };
}

/** Whole days for a question about days, or about very many hours; else hours. */
function spansTouched(kind: DatabaseKind, stretch: Stretch, values: Value[]): readonly string[] {
  const spans = spansIn(stretch, isWhole(stretch, 'day') ? 'day' : 'hour');
  if (spans !== undefined) return [`span IN ${listOf(kind, values.push(JSON.stringify(spans)))}`];
  const { from, to } = stretch;
  return [`span >= $${values.push(from)}`, `span < $${values.push(to)}`, 'LENGTH(span) = 10'];
}
