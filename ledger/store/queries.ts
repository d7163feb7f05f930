// How are a ledger's questions put in SQL? Pure, and the same text for both databases: `$1` is the first value.

import { type BudgetPeriod, periodAt } from '../../gateway/contract/budget.ts';
import { markText, touchedIds } from './last-attempts.ts';
import {
  type AddedRow,
  ALL,
  DAILY_KEYS,
  daysKeysOf,
  joinCost,
  LOW_PER_HIGH,
  MEASURES,
  type Measure,
  type Rollups,
  SPAN_KEYS,
  SPEND_MEASURES,
  SPENDER_NAMES,
  SPENDERS,
  type SpendMeasure,
} from './row.ts';
import type { DatabaseKind } from './schema.ts';
import {
  boundsOf,
  daysAround,
  type Interval,
  intervalMs,
  isWhole,
  type Stretch,
  spanAt,
  spansIn,
} from './spans.ts';
import type {
  Among,
  Dimension,
  Filter,
  FilterName,
  LastFailure,
  LedgerState,
  RecentQuery,
  RecordsQuery,
  Spend,
  Spender,
  StoredRecord,
  Sums,
  SumsQuery,
  SumsRow,
  Use,
  UsedQuery,
  Weight,
} from './store.ts';

export type Value = string | number;

export interface Query {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Numbers of the databases are whole; SQLite gives bigints, Postgres text. */
export type Row = Readonly<Record<string, unknown>>;

const COLUMNS: Readonly<Record<FilterName, string>> = {
  namespace: 'namespace',
  apiKey: 'api_key',
  route: 'route',
  provider: 'provider',
  model: 'model',
  upstreamModel: 'upstream_model',
  payer: 'payer',
  outcome: 'outcome',
};

/** Where a question is answered from. */
interface Source {
  readonly table: string;
  readonly conditions: readonly string[];
  /** How each stretch of time is said there; undefined: it cannot be. */
  readonly times: Readonly<Record<Interval, string | undefined>>;
}

/**
 * The smallest sums that know what is asked for. Those without keys know hours too, and all namespaces together; days are named one by
 * one, since the namespace stands behind them. Records know all, and are many.
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
    // As they are written there: a moment, though it is a midnight, is another text.
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

/** Of records, by their index. */
export function withinMs(stretch: Stretch, values: Value[], alias = ''): string[] {
  const { fromMs, toMs } = boundsOf(stretch);
  return [`${alias}started_ms >= $${values.push(fromMs)}`, `${alias}started_ms < $${values.push(toMs)}`];
}

export function sumsQuery(kind: DatabaseKind, query: SumsQuery): Query {
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
    text: `SELECT ${[...named, ...sums].join(', ')} FROM ${table} WHERE ${all.join(' AND ')}${group} ${page}`,
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

function isInterval(dimension: Dimension): dimension is Interval {
  return Object.hasOwn(intervalMs, dimension);
}

/** Of a sum over nothing there is no row. */
export function readSums(rows: readonly Row[], by: readonly Dimension[]): SumsRow[] {
  return rows
    .filter((row) => integer(row.sum_attempts) > 0n)
    .map((row) => ({
      group: groupOf(row, by),
      sums: sumsOf((name) => integer(row[`sum_${name}`])),
    }));
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

/** First days of the periods that a moment is in, `YYYY-MM-DD`. */
export function periodsOf(nowMs: number): {
  readonly day: string;
  readonly week: string;
  readonly month: string;
} {
  const startOf = (period: BudgetPeriod): string => periodAt(period, nowMs).start;
  return { day: startOf('Day'), week: startOf('Week'), month: startOf('Month') };
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const PERIODS = ['day', 'week', 'month'] as const;

export function spendQuery(
  kind: DatabaseKind,
  spender: Spender,
  names: readonly string[],
  nowMs: number,
): Query {
  const { column, days, totals: table } = SPENDERS[spender];
  const periods = periodsOf(nowMs);
  const first = periods.week < periods.month ? periods.week : periods.month;
  const sums = PERIODS.flatMap((period, index) =>
    SPEND_MEASURES.map(
      (name) => `SUM(CASE WHEN d.day >= $${index + 3} THEN d.${name} ELSE 0 END) AS ${period}_${name}`,
    ),
  );
  const totals = SPEND_MEASURES.map((name) => `k.${name} AS total_${name}`);
  return {
    // Twice grouped by what the first decides, since only SQLite lets the rest be left out.
    text: `SELECT k.${column} AS name, k.last_used_ms, k.sequence, ${[...totals, ...sums].join(', ')}
      FROM ${table} k LEFT JOIN ${days} d ON d.${column} = k.${column} AND d.day >= $2
      WHERE k.${column} IN ${listOf(kind, 1)}
      GROUP BY k.${column}, k.last_used_ms, k.sequence, ${SPEND_MEASURES.map((name) => `k.${name}`).join(', ')}
      ORDER BY k.sequence`,
    values: [JSON.stringify(names), first, ...PERIODS.map((period) => periods[period])],
  };
}

export function readSpend(rows: readonly Row[]): Spend[] {
  return rows.map((row) => {
    const use = (period: string): Use => {
      const of = (name: SpendMeasure): bigint => integer(row[`${period}_${name}`]);
      return {
        requests: Number(of('requests')),
        input: Number(of('input')),
        cachedInput: Number(of('cached_input')),
        output: Number(of('output')),
        unpriced: Number(of('unpriced')),
        costPicodollars: joinCost(of('cost_high'), of('cost_low')),
      };
    };
    return {
      name: String(row.name),
      sequence: Number(row.sequence),
      lastUsedMs: Number(row.last_used_ms),
      day: use('day'),
      week: use('week'),
      month: use('month'),
      total: use('total'),
    };
  });
}

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

export const cursorQuery = (source: string): Query => ({
  text: 'SELECT cursor FROM ledger_cursors WHERE source = $1',
  values: [source],
});

export const putCursor = (source: string, cursor: string, nowMs: number): Query => ({
  text: `INSERT INTO ledger_cursors (source, cursor, at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, at_ms = excluded.at_ms`,
  values: [source, cursor, nowMs],
});

export function changedQuery(spender: Spender, after: number, limit: number, upTo: number): Query {
  const { column, totals } = SPENDERS[spender];
  return {
    text: `SELECT ${column} AS name, sequence FROM ${totals} WHERE sequence > $1 AND sequence <= $2
      ORDER BY sequence LIMIT $3`,
    values: [after, upTo, limit],
  };
}

export function readChanged(rows: readonly Row[]): { readonly name: string; readonly sequence: number }[] {
  return rows.map(({ name, sequence }) => ({ name: String(name), sequence: Number(sequence) }));
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

/** Whole days where the question is of days, or of very many; else hours. */
function spansTouched(kind: DatabaseKind, stretch: Stretch, values: Value[]): readonly string[] {
  const spans = spansIn(stretch, isWhole(stretch, 'day') ? 'day' : 'hour');
  if (spans !== undefined) return [`span IN ${listOf(kind, values.push(JSON.stringify(spans)))}`];
  const { from, to } = stretch;
  return [`span >= $${values.push(from)}`, `span < $${values.push(to)}`, 'LENGTH(span) = 10'];
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
  const { table, ms, conditions } = newestIn(kind, query, values);
  return {
    text: `SELECT ${named}, MAX(${ms}) AS at_ms FROM ${table}
      WHERE outcome IN ('failed', 'broken-off') AND ${conditions.join(' AND ')} GROUP BY ${group} ORDER BY ${group}`,
    values,
  };
}

export function readLastFailures(rows: readonly Row[], by: readonly Dimension[]): LastFailure[] {
  return (
    rows
      .map((row) => ({ group: groupOf(row, by), atMs: Number(row.at_ms) }))
      // Of days whose records had gone before sums told of it, nobody knows.
      .filter(({ atMs }) => atMs > 0)
  );
}

function groupOf(row: Row, by: readonly Dimension[]): SumsRow['group'] {
  return Object.fromEntries(
    by.map((dimension) => {
      const value = row[`by_${dimension}`] ?? row[`by_${dimension.toLowerCase()}`];
      return [dimension, dimension === 'minute' ? spanAt(Number(value), 'minute') : String(value)];
    }),
  );
}

const IDENTITY = 'identity';

/** Told from every other ledger by it, and from one that was begun anew in its place. */
export const keepIdentity = (identity: string): Query => ({
  text: 'INSERT INTO ledger_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
  values: [IDENTITY, identity],
});

/** Of records before this day, whether they are new cannot be told any more. */
export const PURGED_BEFORE = 'purged-before';

export const stateQuery: Query = {
  text: `SELECT value, (SELECT MAX(sequence) FROM ledger_keys) AS sequence,
    (SELECT value FROM ledger_meta WHERE name = $2) AS kept_from FROM ledger_meta WHERE name = $1`,
  values: [IDENTITY, PURGED_BEFORE],
};

export function readState([row]: readonly Row[]): LedgerState {
  return {
    id: String(row?.value ?? ''),
    sequence: Number(row?.sequence ?? 0),
    keptFrom: String(row?.kept_from ?? ''),
  };
}

export const asidesQuery = (limit: number): Query => ({
  text: 'SELECT source, at_ms, reason, line FROM ledger_asides ORDER BY at_ms DESC, digest LIMIT $1',
  values: [limit],
});

export const sinkQuery = (sink: string): Query => ({
  text: 'SELECT sequence FROM ledger_sinks WHERE name = $1',
  values: [sink],
});

/** Never backwards. */
export const putSink = (sink: string, sequence: number): Query => ({
  text: `INSERT INTO ledger_sinks (name, sequence) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE excluded.sequence > ledger_sinks.sequence`,
  values: [sink, sequence],
});

export const metaQuery = (name: string): Query => ({
  text: 'SELECT value FROM ledger_meta WHERE name = $1',
  values: [name],
});

export const putMeta = (name: string, value: string): Query => ({
  text: 'INSERT INTO ledger_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  values: [name, value],
});

/** Undefined where nothing is to be marked. */
export function markQuery(kind: DatabaseKind, added: readonly AddedRow[]): Query | undefined {
  const ids = touchedIds(added);
  return ids.length === 0 ? undefined : { text: markText(listOf(kind, 1)), values: [JSON.stringify(ids)] };
}

export const purgeCursors = (silentSinceMs: number): Query => ({
  text: 'DELETE FROM ledger_cursors WHERE at_ms < $1',
  values: [silentSinceMs],
});

/**
 * A piece of what is to go: a ledger that takes records in meanwhile waits for one piece at most. The sign keeps the databases
 * from going through all records by their sequence where none is old.
 */
export const purgeRecords = (before: string, upTo: number, limit: number): Query => ({
  text: `DELETE FROM ledger_records WHERE sequence IN
    (SELECT sequence FROM ledger_records WHERE started_ms < $1 AND +sequence <= $2 LIMIT $3)`,
  values: [startOf(before), upTo, limit],
});

/** As of records: a piece of the sums by hour. */
export const purgeHours = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_spans WHERE (${SPAN_KEYS.join(', ')}) IN
    (SELECT ${SPAN_KEYS.join(', ')} FROM ledger_spans WHERE span < $1 AND LENGTH(span) > 10 LIMIT $2)`,
  values: [before, limit],
});

export const purgeFirstContents = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_first_contents WHERE (span, ms) IN
    (SELECT span, ms FROM ledger_first_contents WHERE span < $1 LIMIT $2)`,
  values: [before, limit],
});

/** Empty: before everything. */
function startOf(day: string): number {
  return day === '' ? 0 : Date.parse(day);
}

/** As of records: a piece of the lines that were put aside before the day. */
export const purgeAsides = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_asides WHERE digest IN
    (SELECT digest FROM ledger_asides WHERE at_ms < $1 LIMIT $2)`,
  values: [startOf(before), limit],
});

/** How the sums of new records are added to those that are there: a statement for each table, and the rows that go into it. */
export interface SumUpsert {
  readonly text: string;
  readonly columns: readonly string[];
  readonly rowsOf: (sums: Rollups) => readonly Readonly<Record<string, Value>>[];
}

/** @param from Rows of such columns, as the database is given them. */
export function sumUpserts(from: (columns: readonly string[]) => string): readonly SumUpsert[] {
  const upsert = (
    table: string,
    keys: readonly string[],
    measures: readonly string[],
    latest: readonly string[],
    rowsOf: SumUpsert['rowsOf'],
  ): SumUpsert => {
    const columns = [...keys, ...latest, ...measures];
    return { text: upsertSums(table, keys, measures, latest, from(columns)), columns, rowsOf };
  };
  return [
    upsert('ledger_daily', DAILY_KEYS, MEASURES, [], ({ daily }) => daily),
    upsert('ledger_spans', SPAN_KEYS, MEASURES, ['last_ms', 'last_sequence'], ({ spans }) => spans),
    upsert('ledger_first_contents', ['span', 'ms'], ['answers'], [], ({ firstContents }) =>
      firstContents.map((row) => ({ ...row })),
    ),
    ...SPENDER_NAMES.flatMap((spender) => {
      const { column, days, totals } = SPENDERS[spender];
      const newest = ['last_used_ms', 'sequence'];
      return [
        upsert(days, daysKeysOf(spender), SPEND_MEASURES, [], ({ spend }) => spend[spender].days),
        upsert(totals, [column], SPEND_MEASURES, newest, ({ spend }) => spend[spender].totals),
      ];
    }),
  ];
}

/** @throws {Error} where one of the columns is missing: money that is written as nothing is lost without a word. */
export function valuesOf(row: Readonly<Record<string, Value>>, columns: readonly string[]): Value[] {
  return columns.map((name) => {
    const value = row[name];
    if (value === undefined) throw new Error(`a row of sums has no '${name}'`);
    return value;
  });
}

/** On a row that is there, the measures are added to its own; of the rest the newest stays. */
function upsertSums(
  table: string,
  keys: readonly string[],
  measures: readonly string[],
  latest: readonly string[],
  source: string,
): string {
  const columns = [...keys, ...latest, ...measures].join(', ');
  const changes = [
    ...measures.map((name) => `${name} = ${table}.${name} + excluded.${name}`),
    ...latest.map(
      (name) =>
        `${name} = CASE WHEN excluded.${name} > ${table}.${name} THEN excluded.${name} ELSE ${table}.${name} END`,
    ),
  ];
  return `INSERT INTO ${table} (${columns}) ${source} ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${changes.join(', ')}`;
}

export function filterConditions(where: Filter = {}, values: Value[]): string[] {
  return Object.entries(where).flatMap(([name, value]) => {
    if (value === undefined || !Object.hasOwn(COLUMNS, name)) return [];
    return [`${COLUMNS[name as FilterName]} = $${values.push(value)}`];
  });
}

/** The members of a value that is a JSON array. */
export function listOf(kind: DatabaseKind, place: number): string {
  return kind === 'sqlite'
    ? `(SELECT value FROM json_each($${place}))`
    : `(SELECT jsonb_array_elements_text($${place}::jsonb))`;
}

/** @throws {TypeError} where a column is no whole number: then the query is wrong. */
export function integer(value: unknown): bigint {
  if (value === null) return 0n;
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string' || typeof value === 'number') return BigInt(value);
  throw new TypeError(`a column holds ${typeof value}, not a whole number`);
}
