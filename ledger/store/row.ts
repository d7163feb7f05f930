// Which columns do a record and the sums have? The same for every store.

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

export const SPAN_DETAILS = ['route', 'provider', 'model', 'upstream_model', 'payer', 'outcome'] as const;

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

export type DailyRow = Record<(typeof DAILY_KEYS)[number], string> & Record<Measure, number>;

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
  const cost = splitCost(record.costPicodollars ?? 0);
  return {
    id: storable(record.id),
    started_ms: Date.parse(record.startedAt),
    day: record.startedAt.slice(0, 10),
    hour: `${record.startedAt.slice(0, 13)}:00:00Z`,
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

/** A page to store, with the time of its arrival. */
export interface Arrival {
  readonly page: PageRows;
  readonly nowMs: number;
}

/** If two records have one id, the first of the page counts, as in the whole ledger. */
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

/** Steps of first-content times, see `roll-up.ts`. */
export const TWO_DIGIT_STEPS = [1, 10, 100, 1_000, 10_000] as const;

export type AddedRow = RecordRow & { readonly sequence: number };
