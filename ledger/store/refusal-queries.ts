// How often was each caller refused, and which single refusals are known?

import { integer, listOf, type Query, type Row, type Value } from './query.ts';
import { refusalSpan } from './refusal-rows.ts';
import type { DatabaseKind } from './schema.ts';
import { boundsOf, type Interval, intervalMs, isWhole, type Stretch, spanAt, spansIn } from './spans.ts';
import type {
  RefusalDimension,
  RefusalFilter,
  RefusalsQuery,
  RefusalsRow,
  SingleRefusal,
  SingleRefusalsQuery,
} from './store.ts';

const COLUMNS = {
  namespace: 'namespace',
  apiKey: 'api_key',
  model: 'model',
  status: 'status',
  code: 'code',
} as const satisfies Record<keyof RefusalFilter, string>;

/** Lengths of the names of spans. */
const spanLengths: Readonly<Record<Interval, number>> = { day: 10, hour: 20, minute: 16 };

export function refusalsQuery(kind: DatabaseKind, query: RefusalsQuery): Query {
  const { by, where, limit, offset = 0 } = query;
  const values: Value[] = [];
  const span = spanFor(query, by);
  const columns = by.map((dimension) => columnOf(dimension, span));
  const named = columns.map((column, at) => `${column} AS by_${by[at]}`);
  const group = columns.length === 0 ? '' : ` GROUP BY ${columns.join(', ')} ORDER BY ${columns.join(', ')}`;
  const conditions = [...spanConditions(kind, query, span, values), ...filters(where, values)];
  return {
    text: `SELECT ${[...named, 'SUM(refused) AS sum_refused'].join(', ')} FROM ledger_refusal_spans
      WHERE ${conditions.join(' AND ')}${group} LIMIT $${values.push(limit)} OFFSET $${values.push(offset)}`,
    values,
  };
}

/** The coarsest spans that can answer. */
function spanFor(stretch: Stretch, by: readonly RefusalDimension[]): Interval {
  if (by.includes('minute') || !isWhole(stretch, 'hour')) return 'minute';
  return by.includes('hour') || !isWhole(stretch, 'day') ? 'hour' : 'day';
}

function columnOf(dimension: RefusalDimension, span: Interval): string {
  switch (dimension) {
    case 'day':
      return span === 'day' ? 'span' : 'SUBSTR(span, 1, 10)';
    case 'hour':
      return span === 'hour' ? 'span' : "SUBSTR(span, 1, 13) || ':00:00Z'";
    case 'minute':
      return "span || ':00Z'";
    default:
      return COLUMNS[dimension];
  }
}

function spanConditions(
  kind: DatabaseKind,
  stretch: Stretch,
  span: Interval,
  values: Value[],
): readonly string[] {
  const spans = spansIn(stretch, span)?.map((name) => refusalSpan(name, span));
  if (spans !== undefined) return [`span IN ${listOf(kind, values.push(JSON.stringify(spans)))}`];
  const { fromMs, toMs } = boundsOf(stretch);
  const last = Math.ceil(toMs / intervalMs[span]) * intervalMs[span];
  return [
    `span >= $${values.push(refusalSpan(spanAt(fromMs, span), span))}`,
    `span < $${values.push(refusalSpan(spanAt(last, span), span))}`,
    `LENGTH(span) = ${spanLengths[span]}`,
  ];
}

function filters(where: RefusalFilter = {}, values: Value[]): readonly string[] {
  return Object.entries(where).flatMap(([name, value]) => {
    if (value === undefined || !Object.hasOwn(COLUMNS, name)) return [];
    const column = COLUMNS[name as keyof RefusalFilter];
    return [`${column} = $${values.push(name === 'status' ? Number(value) : value)}`];
  });
}

export function readRefusals(rows: readonly Row[], by: readonly RefusalDimension[]): RefusalsRow[] {
  return rows.flatMap((row) => {
    const refused = Number(integer(row.sum_refused));
    // Of a sum over nothing there is a row, of nothing.
    if (refused === 0) return [];
    const group = Object.fromEntries(
      by.map((dimension) => [
        dimension,
        String(row[`by_${dimension}`] ?? row[`by_${dimension.toLowerCase()}`]),
      ]),
    );
    return [{ group, refused }];
  });
}

export function singleRefusalsQuery(kind: DatabaseKind, query: SingleRefusalsQuery): Query {
  const { before, limit } = query;
  const values: Value[] = [];
  const conditions = singleConditions(kind, query, values);
  // As the log of requests orders those that were attempted.
  const id = kind === 'sqlite' ? 'id' : 'id COLLATE "C"';
  if (before !== undefined)
    conditions.push(`(at_ms, ${id}) < ($${values.push(before.atMs)}, $${values.push(before.id)})`);
  const order = `ORDER BY at_ms DESC, ${id} DESC`;
  // The inner query is answered from an index alone, and only the lines of the page are read.
  return {
    text: `SELECT id, at_ms, line FROM ledger_refusals WHERE id IN
      (SELECT id FROM ledger_refusals WHERE ${conditions.join(' AND ')} ${order} LIMIT $${values.push(limit)}) ${order}`,
    values,
  };
}

export function singleRefusalCountQuery(
  kind: DatabaseKind,
  query: Omit<SingleRefusalsQuery, 'before'>,
): Query {
  const values: Value[] = [];
  const conditions = singleConditions(kind, query, values);
  return {
    text: `SELECT COUNT(*) AS refused FROM
      (SELECT 1 FROM ledger_refusals WHERE ${conditions.join(' AND ')} LIMIT $${values.push(query.limit)}) AS page`,
    values,
  };
}

function singleConditions(
  kind: DatabaseKind,
  { where = {}, ...stretch }: Omit<SingleRefusalsQuery, 'before' | 'limit'>,
  values: Value[],
): string[] {
  const { fromMs, toMs } = boundsOf(stretch);
  const { request, ...names } = where;
  return [
    `at_ms >= $${values.push(fromMs)}`,
    `at_ms < $${values.push(toMs)}`,
    ...ledBy(kind, names, filters(names, values)),
    ...(request === undefined ? [] : [`id = $${values.push(request)}`]),
  ];
}

export function readSingleRefusals(rows: readonly Row[]): SingleRefusal[] {
  return rows.map(({ id, at_ms, line }) => ({ id: String(id), atMs: Number(at_ms), line: String(line) }));
}

/** The indexes of a key and of a model hold all else; SQLite has no figures to prefer them by, and the sign keeps it from others. */
function ledBy(kind: DatabaseKind, where: RefusalFilter, conditions: readonly string[]): readonly string[] {
  const lead = where.apiKey !== undefined ? 'api_key' : where.model !== undefined ? 'model' : undefined;
  if (kind !== 'sqlite' || lead === undefined) return conditions;
  return conditions.map((condition) => (condition.startsWith(`${lead} `) ? condition : `+${condition}`));
}
