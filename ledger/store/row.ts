// Which columns does a record have, and which sums do new records add to? The same for every store.

import { createHash } from 'node:crypto';
import { type RefusalRow, refusalRow, type WindowRow, windowRow } from './refusal-rows.ts';
import { storable, storableName } from './storable.ts';
import type { Aside, Entry, Page, Spender } from './store.ts';

/** Measures of records and of sums. Money has two columns, see `splitCost`. */
export const MEASURES = [
  'requests',
  'attempts',
  'estimated',
  'unpriced',
  'input',
  'cached_input',
  'cache_write',
  'output',
  'reasoning',
  'cost_high',
  'cost_low',
] as const;
export type Measure = (typeof MEASURES)[number];

/** Dimensions of daily sums. */
export const DAILY_KEYS = [
  'day',
  'namespace',
  'api_key',
  'route',
  'provider',
  'model',
  'upstream_model',
  'payer',
  'outcome',
] as const;

const SPAN_DETAILS = ['route', 'provider', 'model', 'upstream_model', 'payer', 'outcome'] as const;

/** Dimensions of sums without keys, by day and by hour. */
export const SPAN_KEYS = ['span', 'namespace', ...SPAN_DETAILS] as const;

/** In place of a namespace: all of them together. No namespace has this name. */
export const ALL = '';

/** Measures of a spender. */
export const SPEND_MEASURES = [
  'requests',
  'input',
  'cached_input',
  'output',
  'unpriced',
  'cost_high',
  'cost_low',
] as const;
export type SpendMeasure = (typeof SPEND_MEASURES)[number];

/** Of each spender there are sums by day and of all time, found by its name. */
export const SPENDERS = {
  apiKey: { column: 'api_key', days: 'ledger_key_days', totals: 'ledger_keys' },
  namespace: { column: 'namespace', days: 'ledger_namespace_days', totals: 'ledger_namespaces' },
} as const satisfies Record<Spender, unknown>;
export const SPENDER_NAMES = ['apiKey', 'namespace'] as const satisfies readonly Spender[];

export const RECORD_COLUMNS = [
  'id',
  'started_ms',
  'hour',
  ...DAILY_KEYS,
  ...MEASURES,
  'failure',
  'first_content_ms',
  'line',
] as const;

type DailyRow = Record<(typeof DAILY_KEYS)[number], string> & Record<Measure, number>;

interface RecordRow extends DailyRow {
  id: string;
  started_ms: number;
  hour: string;
  /** Empty where it did not fail. */
  failure: string;
  /** From its start to the first content of its stream; -1 where none was delivered. */
  first_content_ms: number;
  line: string;
}

/** With the name of the spender, and its day, in columns of their own. */
type SpendDayRow = Readonly<Record<SpendMeasure, number> & Record<string, string | number>>;
type SpendTotalRow = Readonly<
  Record<SpendMeasure | 'last_used_ms' | 'sequence', number> & Record<string, string | number>
>;

type SpanRow = Record<(typeof SPAN_KEYS)[number], string> &
  Record<Measure | 'last_ms' | 'last_sequence', number>;

interface FirstContentSum {
  readonly span: string;
  readonly ms: number;
  readonly answers: number;
}

export interface Rollups {
  readonly daily: readonly DailyRow[];
  /** Of each day and of each hour: of a namespace, and of all. */
  readonly spans: readonly SpanRow[];
  /** Of all namespaces together. */
  readonly firstContents: readonly FirstContentSum[];
  readonly spend: Readonly<
    Record<Spender, { readonly days: readonly SpendDayRow[]; readonly totals: readonly SpendTotalRow[] }>
  >;
}

/** Columns by which the sums of a spender are found. */
export function daysKeysOf(spender: Spender): readonly string[] {
  return [SPENDERS[spender].column, 'day'];
}

/**
 * 2^63 picodollars are nine million dollars, and SQLite goes on in floating point above it. Thousandths of a dollar, and
 * what is left of them, can be added up for ever.
 */
export const LOW_PER_HIGH = 1_000_000_000;

function splitCost(picodollars: number): { readonly high: number; readonly low: number } {
  // guard: money-in-two-numbers
  return { high: Math.floor(picodollars / LOW_PER_HIGH), low: picodollars % LOW_PER_HIGH };
}

export function joinCost(high: bigint, low: bigint): bigint {
  return high * BigInt(LOW_PER_HIGH) + low;
}

/**
 * Most tokens that one attempt adds to sums; its line keeps the reported number. A tenant's own provider may report any number, and a
 * sum that overflows its column would stop the journal for all.
 */
const tokensMax = 1_000_000_000;

export function rowOf({ record, line }: Entry): RecordRow {
  const startedMs = Date.parse(record.startedAt);
  const startedAt = new Date(startedMs).toISOString();
  const cost = splitCost(record.costPicodollars ?? 0);
  return {
    id: storable(record.id),
    started_ms: startedMs,
    day: startedAt.slice(0, 10),
    hour: `${startedAt.slice(0, 13)}:00:00Z`,
    namespace: storableName(record.namespace),
    api_key: storableName(record.apiKey),
    route: storableName(record.route),
    provider: storableName(record.provider),
    model: storableName(record.model),
    upstream_model: storableName(record.upstreamModel),
    payer: record.payer,
    outcome: record.outcome,
    requests: record.attempt === 1 ? 1 : 0,
    attempts: 1,
    estimated: record.isEstimated ? 1 : 0,
    unpriced: record.costPicodollars === null ? 1 : 0,
    input: Math.min(record.usage.input, tokensMax),
    cached_input: Math.min(record.usage.cachedInput, tokensMax),
    cache_write: Math.min(record.usage.cacheWrite, tokensMax),
    output: Math.min(record.usage.output, tokensMax),
    reasoning: Math.min(record.usage.reasoning, tokensMax),
    cost_high: cost.high,
    cost_low: cost.low,
    failure: storableName(record.failure ?? ''),
    first_content_ms: firstContentOf(record),
    line: storable(line),
  };
}

/** No column holds whatever a clock that jumps may have measured. */
const firstContentMsMax = 1_000_000_000;

function firstContentOf({ outcome, firstContentMs = -1 }: Entry['record']): number {
  return outcome === 'failed' ? -1 : Math.min(firstContentMs, firstContentMsMax);
}

/** As a page goes into a store. */
export interface PageRows {
  readonly source: string;
  readonly cursor: string;
  /** Each id once. */
  readonly rows: readonly RecordRow[];
  readonly refusals: readonly RefusalRow[];
  readonly windows: readonly WindowRow[];
  readonly asides: readonly Aside[];
}

/** Of two with one id the first of the page is the record, as it is of the whole ledger. */
export function pageRows(page: Page): PageRows {
  const { source, cursor, entries, refusals = [], refusalSums = [], asides } = page;
  const rows = new Map<string, RecordRow>();
  for (const entry of entries) {
    const row = rowOf(entry);
    if (!rows.has(row.id)) rows.set(row.id, row);
  }
  return {
    source,
    cursor,
    rows: [...rows.values()],
    refusals: firstOf(refusals.map(refusalRow)),
    windows: firstOf(refusalSums.map(windowRow)),
    asides: asides.map(({ line, reason }) => ({ line: storable(line), reason })),
  };
}

function firstOf<Row extends { readonly id: string }>(rows: readonly Row[]): readonly Row[] {
  const first = new Map<string, Row>();
  for (const row of rows) if (!first.has(row.id)) first.set(row.id, row);
  return [...first.values()];
}

/** Includes the source: the same bad line from two pods is reported for both. */
export function digestOf(source: string, line: string): string {
  return createHash('sha256').update(`${source}\n`).update(line).digest('hex');
}

/** What these records add to the sums, one row for each sum. */
export function rollUp(added: readonly AddedRow[]): Rollups {
  const daily = new Map<string, DailyRow>();
  const spans = new Map<string, SpanRow>();
  for (const row of added) {
    // Made once: it is the most of what all these places have in common.
    const details = JSON.stringify(SPAN_DETAILS.map((name) => row[name]));
    const key = `${row.day} ${JSON.stringify([row.namespace, row.api_key])} ${details}`;
    addTo(daily, key, MEASURES, row, () => pick(row, [...DAILY_KEYS, ...MEASURES]));
    for (const namespace of [row.namespace, ALL]) {
      const place = `${JSON.stringify(namespace)} ${details}`;
      for (const span of [row.day, row.hour]) addToSpan(spans, `${span} ${place}`, row, span, namespace);
    }
  }
  return {
    daily: [...daily.values()],
    spans: [...spans.values()],
    firstContents: firstContentsOf(added),
    spend: { apiKey: spendIn(added, 'apiKey'), namespace: spendIn(added, 'namespace') },
  };
}

function addToSpan(
  sums: Map<string, SpanRow>,
  place: string,
  row: AddedRow,
  span: string,
  namespace: string,
): void {
  const sum = addTo(sums, place, MEASURES, row, () => ({
    ...pick(row, [...SPAN_DETAILS, ...MEASURES]),
    ...{ span, namespace, last_ms: row.started_ms, last_sequence: row.sequence },
  }));
  sum.last_ms = Math.max(sum.last_ms, row.started_ms);
  sum.last_sequence = Math.max(sum.last_sequence, row.sequence);
}

function firstContentsOf(added: readonly AddedRow[]): readonly FirstContentSum[] {
  const sums = new Map<string, { span: string; ms: number; answers: number }>();
  for (const { day, hour, first_content_ms } of added) {
    if (first_content_ms < 0) continue;
    const ms = toTwoDigits(first_content_ms);
    for (const span of [day, hour])
      addTo(sums, `${span} ${ms}`, ['answers'], { answers: 1 }, () => ({ span, ms, answers: 1 }));
  }
  return [...sums.values()];
}

/** So an interval has some four hundred different times at most. SQL does the same: see `request-queries.ts`. */
function toTwoDigits(ms: number): number {
  const step = TWO_DIGIT_STEPS.find((one) => ms < one * 100) ?? 100_000;
  return ms - (ms % step);
}

export const TWO_DIGIT_STEPS = [1, 10, 100, 1_000, 10_000] as const;

export type AddedRow = RecordRow & { readonly sequence: number };

function spendIn(added: readonly AddedRow[], spender: Spender): Rollups['spend'][Spender] {
  const { column } = SPENDERS[spender];
  const days = new Map<string, Record<SpendMeasure, number>>();
  const totals = new Map<string, Record<SpendMeasure | 'last_used_ms' | 'sequence', number>>();
  for (const row of added) {
    const { day, started_ms, sequence } = row;
    const name = row[column];
    const use = useOf(row);
    const found = { [column]: name };
    addTo(days, JSON.stringify([name, day]), SPEND_MEASURES, use, () => ({ ...found, day, ...use }));
    const total = addTo(totals, name, SPEND_MEASURES, use, () => ({
      ...found,
      ...{ last_used_ms: 0, sequence: 0, ...use },
    }));
    total.last_used_ms = Math.max(total.last_used_ms, started_ms);
    total.sequence = Math.max(total.sequence, sequence);
  }
  return { days: [...days.values()], totals: [...totals.values()] };
}

/** Use reported for a key or its tenant: delivered answers, and the cost that the tenant pays. */
function useOf(row: DailyRow): Record<SpendMeasure, number> {
  const isDelivered = row.payer !== 'platform';
  const isPaid = row.payer === 'tenant';
  return {
    requests: row.requests,
    input: isDelivered ? row.input : 0,
    cached_input: isDelivered ? row.cached_input : 0,
    output: isDelivered ? row.output : 0,
    unpriced: isPaid ? row.unpriced : 0,
    cost_high: isPaid ? row.cost_high : 0,
    cost_low: isPaid ? row.cost_low : 0,
  };
}

/** Gives the sum. */
function addTo<Name extends string, Row extends Record<Name, number>>(
  rows: Map<string, Row>,
  place: string,
  names: readonly Name[],
  more: Readonly<Record<Name, number>>,
  begin: () => Row,
): Row {
  const row = rows.get(place);
  if (row === undefined) {
    const first = begin();
    rows.set(place, first);
    return first;
  }
  const sums: Record<Name, number> = row;
  for (const name of names) sums[name] += more[name];
  return row;
}

function pick<T, Name extends keyof T>(from: T, names: readonly Name[]): Pick<T, Name> {
  const picked: Partial<Pick<T, Name>> = {};
  for (const name of names) picked[name] = from[name];
  return picked as Pick<T, Name>;
}
