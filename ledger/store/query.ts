// What are all questions in SQL made of? Pure, and the same text for both databases: `$1` is the first value.

import type { DatabaseKind } from './schema.ts';
import { boundsOf, type Interval, intervalMs, type Stretch, spanAt } from './spans.ts';
import type { Dimension, Filter, FilterName, SumsRow } from './store.ts';

export type Value = string | number;

export interface Query {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Numbers of the databases are whole; SQLite gives bigints, Postgres text. */
export type Row = Readonly<Record<string, unknown>>;

export const COLUMNS: Readonly<Record<FilterName, string>> = {
  namespace: 'namespace',
  apiKey: 'api_key',
  route: 'route',
  provider: 'provider',
  model: 'model',
  upstreamModel: 'upstream_model',
  payer: 'payer',
  outcome: 'outcome',
};

/** Of records, by their index. */
export function withinMs(stretch: Stretch, values: Value[], alias = ''): string[] {
  const { fromMs, toMs } = boundsOf(stretch);
  return [`${alias}started_ms >= $${values.push(fromMs)}`, `${alias}started_ms < $${values.push(toMs)}`];
}

export function filterConditions(where: Filter = {}, values: Value[]): string[] {
  return Object.entries(where).flatMap(([name, value]) => {
    if (value === undefined || !Object.hasOwn(COLUMNS, name)) return [];
    return [`${COLUMNS[name as FilterName]} = $${values.push(value)}`];
  });
}

/** Keys of a namespace. Not a range of names: databases order punctuation by their collation. */
export function isOfNamespace(column: string, namespace: string, values: Value[]): string {
  const prefix = `${namespace}/`;
  return `SUBSTR(${column}, 1, ${prefix.length}) = $${values.push(prefix)}`;
}

/** All rows as one JSON array of arrays, written by the database: rows of thousands are made nowhere else. Of none Postgres gives null. */
export function jsonRows(kind: DatabaseKind, columns: readonly string[]): string {
  const [array, list] =
    kind === 'sqlite' ? ['json_array', 'json_group_array'] : ['json_build_array', 'json_agg'];
  return `CAST(${list}(${array}(${columns.join(', ')})) AS TEXT) AS json`;
}

/** The members of a value that is a JSON array. */
export function listOf(kind: DatabaseKind, place: number): string {
  return kind === 'sqlite'
    ? `(SELECT value FROM json_each($${place}))`
    : `(SELECT jsonb_array_elements_text($${place}::jsonb))`;
}

export function isInterval(dimension: Dimension): dimension is Interval {
  return Object.hasOwn(intervalMs, dimension);
}

export function groupOf(row: Row, by: readonly Dimension[]): SumsRow['group'] {
  return Object.fromEntries(
    by.map((dimension) => {
      const value = row[`by_${dimension}`] ?? row[`by_${dimension.toLowerCase()}`];
      return [dimension, dimension === 'minute' ? spanAt(Number(value), 'minute') : String(value)];
    }),
  );
}

/** @throws {TypeError} where a column is no whole number: then the query is wrong. */
export function integer(value: unknown): bigint {
  if (value === null) return 0n;
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string' || typeof value === 'number') return BigInt(value);
  throw new TypeError(`a column holds ${typeof value}, not a whole number`);
}
