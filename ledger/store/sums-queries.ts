// What do sums come to, by whatever they are asked for? From the smallest table that knows it.

import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import {
  COLUMNS,
  filterConditions,
  groupOf,
  integer,
  isInterval,
  listOf,
  type Query,
  type Row,
  type Value,
  withinMs,
} from './query.ts';
import { ALL, joinCost, LOW_PER_HIGH, MEASURES, type Measure, SPENDERS, type SpendMeasure } from './row.ts';
import type { DatabaseKind } from './schema.ts';
import { daysAround, type Interval, intervalMs, isWhole, type Stretch, spansIn } from './spans.ts';
import type {
  Among,
  Dimension,
  FilterName,
  Outcome,
  OutcomesRow,
  Sums,
  SumsQuery,
  SumsRow,
  UsedQuery,
  Weight,
} from './store.ts';

/** Where a question is answered from. */
interface Source {
  readonly table: string;
  readonly conditions: readonly string[];
  /** How each stretch of time is said there; undefined: it cannot be. */
  readonly times: Readonly<Record<Interval, string | undefined>>;
}

/**
 * The smallest sums that can answer the query. Sums without keys also exist by hour, and for all namespaces together; days are listed one by
 * one, because the namespace follows them in the index. Records can answer everything, but are many.
 */
function sourceOf(
  kind: DatabaseKind,
  stretch: Stretch,
  { by, where = {}, among }: Pick<SumsQuery, 'by' | 'where' | 'among'>,
  values: Value[],
): Source {
  const needed = neededFor(stretch, by);
  const hasKeys = by.includes('apiKey') || where.apiKey !== undefined || among?.dimension === 'apiKey';
  const spans = needed === 'minute' ? undefined : spansIn(stretch, needed);
  if (!hasKeys && needed !== 'minute' && spans !== undefined) {
    const isEach = by.includes('namespace') && where.namespace === undefined;
    return {
      table: 'ledger_spans',
      conditions: [
        `span IN ${listOf(kind, values.push(JSON.stringify(spans)))}`,
        ...(where.namespace === undefined ? [`namespace ${isEach ? '<>' : '='} '${ALL}'`] : []),
      ],
      times:
        needed === 'day'
          ? { day: 'span', hour: undefined, minute: undefined }
          : { day: 'SUBSTR(span, 1, 10)', hour: 'span', minute: undefined },
    };
  }
  if (needed === 'day') {
    const isOfSome = where.namespace !== undefined || among?.dimension === 'apiKey';
    const days = isOfSome ? spans : undefined;
    // Spans are compared as text: a moment, even at midnight, is written differently from a day.
    const { from, to } = daysAround(stretch);
    return {
      table: 'ledger_daily',
      conditions:
        days === undefined
          ? [`day >= $${values.push(from)}`, `day < $${values.push(to)}`]
          : [`day IN ${listOf(kind, values.push(JSON.stringify(days)))}`],
      times: { day: 'day', hour: undefined, minute: undefined },
    };
  }
  return { table: 'ledger_records', conditions: withinMs(stretch, values), times: recordTimes };
}

/** The coarsest interval that sums may be of. */
function neededFor(stretch: Stretch, by: readonly Dimension[]): Interval {
  if (by.includes('minute') || !isWhole(stretch, 'hour')) return 'minute';
  return by.includes('hour') || !isWhole(stretch, 'day') ? 'hour' : 'day';
}

const recordTimes = { day: 'day', hour: 'hour', minute: `started_ms - started_ms % ${intervalMs.minute}` };

const outcomes = ledgerRecordSchema.shape.outcome.options;

const endedAs = (outcome: Outcome): string => `ended_${outcome.replace('-', '_')}`;

/** Ways to end are columns, not rows: a page of groups is one of rows, and none of its ends is cut off. */
export function outcomesQuery(kind: DatabaseKind, query: SumsQuery): Query {
  return sumsQuery(
    kind,
    query,
    outcomes.map(
      (outcome) => `SUM(CASE WHEN outcome = '${outcome}' THEN attempts ELSE 0 END) AS ${endedAs(outcome)}`,
    ),
  );
}

/** @param more Columns beside the sums. */
export function sumsQuery(kind: DatabaseKind, query: SumsQuery, more: readonly string[] = []): Query {
  const { by, where = {}, among, largestBy, limit, offset = 0 } = query;
  const values: Value[] = [];
  const { table, conditions, times } = sourceOf(kind, query, query, values);
  const columns = by.map((dimension) => {
    const column = isInterval(dimension) ? times[dimension] : COLUMNS[dimension];
    if (column === undefined) throw new Error(`${table} knows no ${dimension}`);
    return column;
  });
  const named = columns.map((column, at) => `${column} AS by_${by[at]}`);
  const sums = MEASURES.map((name) => `SUM(${name}) AS sum_${name}`);
  // Keys stand by their namespaces: in that order they are read one behind the other, and need not be sorted.
  const inOrder = columns.flatMap((column) =>
    column === 'api_key' && !columns.includes('namespace') ? ['namespace', column] : [column],
  );
  const order = largestBy === undefined ? inOrder : [...weightOf(largestBy), ...inOrder];
  const group = columns.length === 0 ? '' : ` GROUP BY ${inOrder.join(', ')} ORDER BY ${order.join(', ')}`;
  const all = [...conditions, ...filterConditions(where, values), ...amongConditions(kind, among, values)];
  const page = `LIMIT $${values.push(limit)} OFFSET $${values.push(offset)}`;
  return {
    text: `SELECT ${[...named, ...sums, ...more].join(', ')} FROM ${table} WHERE ${all.join(' AND ')}${group} ${page}`,
    values,
  };
}

/** @param of the table, with its dot. */
export function weightOf(weight: Weight, of = ''): readonly string[] {
  const sum = (name: SpendMeasure) => `SUM(${of}${name})`;
  const terms = {
    // SQLite divides whole numbers: what is left of them decides where those are the same.
    cost: [
      `${sum('cost_high')} + ${sum('cost_low')} / ${LOW_PER_HIGH}`,
      `${sum('cost_low')} % ${LOW_PER_HIGH}`,
    ],
    tokens: [`${sum('input')} + ${sum('output')}`],
    requests: [sum('requests')],
    failed: [
      `SUM(CASE WHEN ${of}outcome IN ('failed', 'broken-off', 'interrupted') THEN ${of}attempts ELSE 0 END)`,
    ],
  } as const;
  return terms[weight].map((term) => `${term} DESC`);
}

function amongConditions(kind: DatabaseKind, among: Among | undefined, values: Value[]): readonly string[] {
  if (among === undefined) return [];
  const isOneOf = (dimension: FilterName, names: readonly string[]) =>
    `${COLUMNS[dimension]} IN ${listOf(kind, values.push(JSON.stringify(names)))}`;
  // Keys are found behind their namespaces.
  const namespaces = new Set(among.values.map((name) => name.split('/')[0] ?? ''));
  return [
    ...(among.dimension === 'apiKey' ? [isOneOf('namespace', [...namespaces])] : []),
    isOneOf(among.dimension, among.values),
  ];
}

export function readSums(rows: readonly Row[], by: readonly Dimension[]): SumsRow[] {
  return rows.filter(isOfSome).map((row) => readSum(row, by));
}

export function readOutcomes(rows: readonly Row[], by: readonly Dimension[]): OutcomesRow[] {
  const count = (row: Row, outcome: Outcome): number => Number(integer(row[endedAs(outcome)]));
  return rows.filter(isOfSome).map((row) => ({
    ...readSum(row, by),
    outcomes: {
      answered: count(row, 'answered'),
      failed: count(row, 'failed'),
      'broken-off': count(row, 'broken-off'),
      cancelled: count(row, 'cancelled'),
      interrupted: count(row, 'interrupted'),
    },
  }));
}

/** Of a sum over nothing there is no row. */
function isOfSome(row: Row): boolean {
  return integer(row.sum_attempts) > 0n;
}

function readSum(row: Row, by: readonly Dimension[]): SumsRow {
  return { group: groupOf(row, by), sums: sumsOf((name) => integer(row[`sum_${name}`])) };
}

/**
 * Those of whom there are sums by day in the time: each is looked up, however many days there are. Undefined where something besides is
 * asked for, which only the sums themselves know.
 */
export function usedQuery({
  spender,
  where = {},
  limit,
  offset = 0,
  ...stretch
}: UsedQuery): Query | undefined {
  if (Object.keys(where).length > 0 || !isWhole(stretch, 'day')) return undefined;
  const { column, days, totals } = SPENDERS[spender];
  const { from, to } = daysAround(stretch);
  return {
    text: `SELECT k.${column} AS name FROM ${totals} k WHERE EXISTS
      (SELECT 1 FROM ${days} d WHERE d.${column} = k.${column} AND d.day >= $1 AND d.day < $2)
      ORDER BY k.${column} LIMIT $3 OFFSET $4`,
    values: [from, to, limit, offset],
  };
}

function sumsOf(of: (name: Measure) => bigint): Sums {
  return {
    requests: Number(of('requests')),
    attempts: Number(of('attempts')),
    estimated: Number(of('estimated')),
    unpriced: Number(of('unpriced')),
    input: Number(of('input')),
    cachedInput: Number(of('cached_input')),
    cacheWrite: Number(of('cache_write')),
    output: Number(of('output')),
    reasoning: Number(of('reasoning')),
    costPicodollars: joinCost(of('cost_high'), of('cost_low')),
  };
}
