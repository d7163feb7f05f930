// What does a cost tool take? CSV with the columns of FOCUS 1.x, one row for each day and each way of use, and what FOCUS has no
// column for behind them as `x_…`.

import { usdOf } from '../money.ts';
import type { Dimension, Filter, LedgerStore, SumsRow } from '../store/store.ts';

interface FocusQuery {
  /** `YYYY-MM-DD`, UTC; the second is the day after the last. */
  readonly from: string;
  readonly to: string;
  readonly where?: Filter | undefined;
  /** Names the installation: the billing account. */
  readonly account: string;
}

const dimensions = [
  ...(['day', 'namespace', 'apiKey', 'route', 'provider'] as const),
  ...(['model', 'upstreamModel', 'payer'] as const),
] satisfies Dimension[];

/** Rows that are asked for, and held, at once. */
const pageRows = 50_000;

/** In the order in which they stand. An empty cell is null, as FOCUS has it. */
const columns: readonly (readonly [name: string, cell: (row: SumsRow, query: FocusQuery) => string])[] = [
  ['BillingAccountId', (_, { account }) => account],
  ['BillingAccountName', (_, { account }) => account],
  ['BillingPeriodStart', ({ group }) => `${group.day?.slice(0, 7)}-01T00:00:00Z`],
  ['BillingPeriodEnd', ({ group }) => startOf(nextMonth(group.day ?? ''))],
  ['ChargePeriodStart', ({ group }) => startOf(group.day ?? '')],
  ['ChargePeriodEnd', ({ group }) => startOf(nextDay(group.day ?? ''))],
  ['BillingCurrency', () => 'USD'],
  ['BilledCost', costOf],
  ['EffectiveCost', costOf],
  ['ListCost', costOf],
  ['ContractedCost', costOf],
  ['ChargeCategory', () => 'Usage'],
  ['ChargeClass', () => ''],
  ['ChargeFrequency', () => 'Usage-Based'],
  ['ChargeDescription', ({ group }) => `${group.model} by ${group.provider}`],
  ['ConsumedQuantity', ({ sums }) => String(sums.input + sums.output)],
  ['ConsumedUnit', () => 'Tokens'],
  ['PricingCategory', () => 'Standard'],
  ['PricingQuantity', ({ sums }) => String(sums.input + sums.output)],
  ['PricingUnit', () => 'Tokens'],
  // FOCUS 1.3 replaces this column by the next two. The host is unknown: a provider does not say who runs its machines.
  ['ProviderName', ({ group }) => group.provider ?? ''],
  ['ServiceProviderName', ({ group }) => group.provider ?? ''],
  ['HostProviderName', ({ group }) => group.provider ?? ''],
  ['PublisherName', ({ group }) => group.provider ?? ''],
  ['InvoiceIssuerName', ({ group }) => group.provider ?? ''],
  ['ServiceCategory', () => 'AI and Machine Learning'],
  ['ServiceName', ({ group }) => group.model ?? ''],
  ['ResourceId', ({ group }) => group.apiKey ?? ''],
  ['ResourceName', ({ group }) => group.apiKey ?? ''],
  ['ResourceType', () => 'ApiKey'],
  ['SkuId', ({ group }) => group.upstreamModel ?? ''],
  ['SkuPriceId', ({ group }) => `${group.provider}/${group.upstreamModel}`],
  ['SubAccountId', subAccountOf],
  ['SubAccountName', subAccountOf],
  ['x_Route', ({ group }) => group.route ?? ''],
  ['x_Payer', ({ group }) => group.payer ?? ''],
  // Equal to the requests only over all payers: after a failover the platform pays the first attempt, and the tenant another.
  ['x_FirstAttempts', ({ sums }) => String(sums.requests)],
  ['x_Attempts', ({ sums }) => String(sums.attempts)],
  ['x_EstimatedAttempts', ({ sums }) => String(sums.estimated)],
  ['x_UnpricedAttempts', ({ sums }) => String(sums.unpriced)],
  ['x_InputTokens', ({ sums }) => String(sums.input)],
  ['x_CachedInputTokens', ({ sums }) => String(sums.cachedInput)],
  ['x_CacheWriteTokens', ({ sums }) => String(sums.cacheWrite)],
  ['x_OutputTokens', ({ sums }) => String(sums.output)],
  ['x_ReasoningTokens', ({ sums }) => String(sums.reasoning)],
];

/** Lines with their ends, the head first. */
export async function* focusCsv(
  store: Pick<LedgerStore, 'sums'>,
  query: FocusQuery,
  limit = pageRows,
): AsyncGenerator<string> {
  yield lineOf(columns.map(([name]) => name));
  for (const day of daysBetween(query.from, query.to)) {
    for await (const row of rowsOf(store, day, query.where ?? {}, limit))
      yield lineOf(columns.map(([, cell]) => cell(row, query)));
  }
}

/** Each row once: where a new one comes before those that were read, as in a day that is not over, they move on into the next page. */
async function* rowsOf(
  store: Pick<LedgerStore, 'sums'>,
  day: string,
  where: Filter,
  limit: number,
): AsyncGenerator<SumsRow> {
  let before = new Set<string>();
  for (let offset = 0; ; offset += limit) {
    const page = await store.sums({ from: day, to: nextDay(day), by: dimensions, where, limit, offset });
    const names = page.map(({ group }) => JSON.stringify(dimensions.map((name) => group[name])));
    for (const [at, row] of page.entries()) if (!before.has(names[at] ?? '')) yield row;
    if (page.length < limit) return;
    before = new Set(names);
  }
}

/** `YYYY-MM-DD`, UTC, from the first up to the last that is left out. */
function* daysBetween(from: string, to: string): Generator<string> {
  for (let day = from; day < to; day = nextDay(day)) yield day;
}

export function nextDay(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}

function nextMonth(day: string): string {
  const date = new Date(Date.parse(`${day.slice(0, 7)}-01`));
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString().slice(0, 10);
}

function startOf(day: string): string {
  return `${day}T00:00:00Z`;
}

function costOf({ sums }: SumsRow): string {
  return usdOf(sums.costPicodollars);
}

/** A sum by sub-account charges tenants; the platform's own costs have no sub-account, which is null (FOCUS, Sub Account ID). */
function subAccountOf({ group: { payer, namespace = '' } }: SumsRow): string {
  return payer === 'platform' ? '' : namespace;
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(harmless(cell))).join(',')}\r\n`;
}

/** What spreadsheets take for the beginning of a formula, in full width too (OWASP, CSV injection). */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

const number = /^-?\d+(\.\d+)?$/;

/** Names come from callers and tenants. An apostrophe in front makes a spreadsheet show a text, and run nothing; a number stays a number. */
function harmless(cell: string): string {
  return formulaStart.test(cell) && !number.test(cell) ? `'${cell}` : cell;
}

/** RFC 4180: quotes where they are needed. */
function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
