// In which hours may a question about single requests find any? The sums by day and by hour say where a model, a provider, a namespace or
// an end occurs, so that records need an index by time and by key only.

import { filterConditions, listOf, type Query, type Row, type Value } from './query.ts';
import { ALL } from './row.ts';
import type { DatabaseKind } from './schema.ts';
import { boundsOf, intervalMs, type Stretch, spansIn } from './spans.ts';
import type { Filter, LogQuery } from './store.ts';

/** Undefined: the records themselves are as quick, by time or by key. */
export function daysQuery(kind: DatabaseKind, query: LogQuery): Query | undefined {
  const { apiKey, ...others } = query.where;
  const days = spansIn(upTo(query), 'day');
  const isOfAll = Object.keys(others).length === 0 && query.ends === undefined;
  if (days === undefined || isOfAll) return undefined;
  return apiKey === undefined
    ? spansQuery(kind, query, days)
    : occurrences(kind, query, 'ledger_daily', 'day', days, { apiKey, ...others });
}

/** Sums of keys are of days: hours are those of the namespace. */
export function hoursQuery(kind: DatabaseKind, query: LogQuery, days: readonly string[]): Query {
  const hours = days.flatMap((day) =>
    Array.from({ length: 24 }, (_, hour) => `${day}T${String(hour).padStart(2, '0')}:00:00Z`),
  );
  return spansQuery(kind, query, hours);
}

function spansQuery(kind: DatabaseKind, query: LogQuery, spans: readonly string[]): Query {
  const { apiKey: _, ...others } = query.where;
  return occurrences(kind, query, 'ledger_spans', 'span', spans, others);
}

function occurrences(
  kind: DatabaseKind,
  { where, ends }: LogQuery,
  table: string,
  span: string,
  spans: readonly string[],
  others: Filter,
): Query {
  const values: Value[] = [JSON.stringify(spans)];
  const conditions = [
    `${span} IN ${listOf(kind, 1)}`,
    ...filterConditions({ ...others, namespace: namespaceOf(where) ?? ALL }, values),
  ];
  if (ends !== undefined) conditions.push(`outcome IN ${listOf(kind, values.push(JSON.stringify(ends)))}`);
  return {
    text: `SELECT ${span} AS span FROM ${table} WHERE ${conditions.join(' AND ')} GROUP BY ${span} ORDER BY ${span} DESC`,
    values,
  };
}

/** A key is named after its namespace. */
export function namespaceOf({ namespace, apiKey }: Filter): string | undefined {
  return namespace ?? apiKey?.split('/')[0];
}

export const readSpans = (rows: readonly Row[]): string[] => rows.map(({ span }) => String(span));

/** Newest first, each as long as it goes on without a gap. A day whose hours are known no longer is one whole. */
export function stretchesOf(query: LogQuery, days: readonly string[], hours: readonly string[]): Stretch[] {
  const ofDay = Map.groupBy(hours, (hour) => hour.slice(0, 10));
  const { fromMs, toMs } = boundsOf(upTo(query));
  const stretches: { fromMs: number; toMs: number }[] = [];
  for (const span of days.flatMap((day) => ofDay.get(day) ?? [day])) {
    const startMs = Date.parse(span);
    const endMs = startMs + intervalMs[span.length > 10 ? 'hour' : 'day'];
    const later = stretches.at(-1);
    if (later?.fromMs === endMs) later.fromMs = startMs;
    else stretches.push({ fromMs: startMs, toMs: endMs });
  }
  return stretches
    .map((one) => ({ fromMs: Math.max(one.fromMs, fromMs), toMs: Math.min(one.toMs, toMs) }))
    .filter((one) => one.fromMs < one.toMs)
    .map((one) => ({ from: new Date(one.fromMs).toISOString(), to: new Date(one.toMs).toISOString() }));
}

/** For a further page, only older requests. */
function upTo({ from, to, before }: LogQuery): Stretch {
  const { toMs } = boundsOf({ from, to });
  return before === undefined || before.ms >= toMs
    ? { from, to }
    : { from, to: new Date(before.ms + 1).toISOString() };
}
