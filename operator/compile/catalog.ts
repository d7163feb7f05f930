// List prices of vendors' models, from `@pydantic/genai-prices`, in whole picodollars.
//
// A wrong price is worse than none. So a model is looked up under its own vendor only, by its name or a dated version of it. An entry
// is not used if its prices need more kinds of tokens than a call reports, or if it has no price for the main use of its model.

import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices';
import type { Price } from '../../core/contract/routing-table.ts';
import { scaled } from './price.ts';

export interface Catalog {
  readonly name: string;
  readonly version: string;
  /**
   * @param vendor as the catalog calls it.
   * @param isEntry It is the name of an entry, with or without the version at its end: what models the entry is for is known otherwise.
   */
  find(vendor: string, upstreamModel: string, isEntry?: boolean): CatalogModel | undefined;
}

/** A model of one vendor, and what it costs from when on. */
export interface CatalogModel {
  /** As the catalog calls it. */
  readonly model: string;
  /** Tokens that fit into it, where the catalog says so. */
  readonly contextLength?: number;
  /** Oldest first; the first holds for all the time before, too. Each keeps its identity. */
  readonly periods: readonly [CatalogPeriod, ...CatalogPeriod[]];
}

interface CatalogPeriod {
  /** Unix milliseconds. */
  readonly fromMs: number;
  /** Or why the entry cannot be used. */
  readonly quote: Rates | { readonly unusable: string };
}

export type Rates = Omit<Price, 'perRequest' | 'source' | 'catalog'>;
type RateName = 'input' | 'cachedInput' | 'cacheWrite' | 'cacheWriteHour' | 'output' | 'reasoning';

const VERSION = '0.1.8';

/** Prices of ours by those of the catalog, in dollars per million tokens. */
const RATES: Readonly<Record<string, RateName>> = {
  input_mtok: 'input',
  cache_read_mtok: 'cachedInput',
  // Of the class that is kept for 5 minutes.
  cache_write_mtok: 'cacheWrite',
  cache_write_1h_mtok: 'cacheWriteHour',
  output_mtok: 'output',
  output_reasoning_mtok: 'reasoning',
};
/** What vendors charge beside tokens; the ledger counts tokens. */
const BESIDE_TOKENS = new Set(['web_searches_kcount', 'storage_searches_kcount']);

export const PRICE_CATALOG: Catalog = {
  name: '@pydantic/genai-prices',
  version: VERSION,
  find(vendor, upstreamModel, isEntry) {
    const models = findProvider({ providerId: vendor })?.models ?? [];
    return findModel(models, upstreamModel, isEntry);
  },
};

/** Exported for tests with lists of their own. */
export function findModel(
  models: readonly ModelInfo[],
  upstreamModel: string,
  isEntry = false,
): CatalogModel | undefined {
  const entry = isEntry ? calledSo(models, upstreamModel) : takenFor(models, upstreamModel);
  if (entry === undefined) return undefined;
  const isForSound = [upstreamModel, entry.id].some((name) => FOR_SOUND.test(name));
  const periods = periodsOf(entry, isForSound);
  if (periods === undefined) return undefined;
  const { id, context_window: window } = entry;
  const isKnown = window !== undefined && Number.isSafeInteger(window) && window > 0;
  return { model: id, periods, ...(isKnown ? { contextLength: window } : {}) };
}

/**
 * Parts of the names of models that are made for sound. A token of it costs many times what one of text costs, and an entry that
 * has a price of text alone would be billed for both.
 */
const FOR_SOUND = /\b(?:audio|realtime|transcribe|tts|voxtral)\b/;

/** The first that the catalog itself would take, if it is the model itself: a later one may match a part of the name by accident. */
function takenFor(models: readonly ModelInfo[], name: string): ModelInfo | undefined {
  const entry = models.find(({ match }) => matches(match, name, isTakenByCatalog));
  if (entry === undefined) return undefined;
  return matches(entry.match, name, isItself) || calledSo([entry], name) !== undefined ? entry : undefined;
}

function calledSo(models: readonly ModelInfo[], name: string): ModelInfo | undefined {
  return [name, name.replace(VERSION_STAMP, '')]
    .map((text) => models.find(({ id }) => id === text || id.replace(AWS_VERSION, '') === text))
    .find((one) => one !== undefined);
}

/** Behind the ids of AWS: `-v1:0`, `-1:0`, `:0`. */
const AWS_VERSION = /(-v?\d+)?:\d+$/;

type Clause = 'equals' | 'starts_with' | 'ends_with' | 'contains' | 'regex';
type Judge = (clause: Clause, text: string, id: string) => boolean;

function matches(logic: MatchLogic, id: string, judge: Judge): boolean {
  if ('or' in logic) return logic.or.some((part) => matches(part, id, judge));
  if ('and' in logic) return logic.and.every((part) => matches(part, id, judge));
  if ('equals' in logic) return judge('equals', logic.equals, id);
  if ('starts_with' in logic) return judge('starts_with', logic.starts_with, id);
  if ('ends_with' in logic) return judge('ends_with', logic.ends_with, id);
  if ('contains' in logic) return judge('contains', logic.contains, id);
  return judge('regex', logic.regex, id);
}

function isTakenByCatalog(clause: Clause, text: string, id: string): boolean {
  switch (clause) {
    case 'equals':
      return id === text;
    case 'starts_with':
      return id.startsWith(text);
    case 'ends_with':
      return id.endsWith(text);
    case 'contains':
      return id.includes(text);
    case 'regex':
      return new RegExp(text).test(id);
  }
}

/** `-20260101`, `-2026-01-01`, `-2601` and `-latest`: versions of one model. `-1` is another model. */
const VERSION_STAMP = /[-@](20\d{6}|20\d{2}-\d{2}-\d{2}|2\d(0[1-9]|1[0-2])|latest)$/;

/** Is this the model itself, and not one whose name merely begins like it? */
function isItself(clause: Clause, text: string, id: string): boolean {
  switch (clause) {
    case 'equals':
      return id === text;
    case 'starts_with':
      return id.startsWith(text) && text.length >= id.replace(VERSION_STAMP, '').length;
    case 'regex':
      return new RegExp(`^(?:${text})$`).test(id);
    case 'ends_with':
    case 'contains':
      return false;
  }
}

/** Undefined where a price depends on the time of day: a table has one price at a time. */
function periodsOf({ prices }: ModelInfo, isForSound: boolean): CatalogModel['periods'] | undefined {
  if (!Array.isArray(prices)) return [{ fromMs: 0, quote: quoteOf(prices, isForSound) }];
  const periods: CatalogPeriod[] = [];
  for (const { constraint, prices: ofPeriod } of prices) {
    if (constraint !== undefined && constraint.type !== 'start_date') return undefined;
    const fromMs = constraint === undefined ? 0 : Date.parse(`${constraint.start_date}T00:00:00Z`);
    periods.push({ fromMs, quote: quoteOf(ofPeriod, isForSound) });
  }
  // Where two begin on one day, the later one in the list counts; the sort keeps their order.
  const [first, ...rest] = periods.sort((a, b) => a.fromMs - b.fromMs);
  return first === undefined ? undefined : [first, ...rest];
}

function quoteOf(prices: ModelPrice, isForSound: boolean): CatalogPeriod['quote'] {
  const others = Object.keys(prices).filter((name) => !(name in RATES) && !BESIDE_TOKENS.has(name));
  if (others.length > 0) return { unusable: `it charges for more than text (${others.sort().join(', ')})` };
  if (prices.input_mtok === undefined || prices.output_mtok === undefined) {
    return { unusable: 'it names no price of input and output tokens' };
  }
  if (isForSound) return { unusable: 'its model is made for sound, and it names no price of sound' };
  try {
    return readRates(prices);
  } catch {
    return { unusable: 'its prices cannot be read' };
  }
}

/** @throws {RangeError} where an amount is no amount of money. */
function readRates(prices: ModelPrice): Rates {
  const starts = new Set<number>();
  const priced = Object.entries(RATES).flatMap(([name, rate]) => {
    const price = prices[name];
    if (price === undefined) return [];
    const [base, tiers] = typeof price === 'number' ? [price, []] : [price.base, price.tiers];
    for (const { start } of tiers) starts.add(start);
    return [{ rate, at: (start: number) => perToken(tierAt(tiers, start)?.price ?? base) }];
  });
  const ratesAt = (start: number) =>
    Object.fromEntries(priced.map(({ rate, at }) => [rate, at(start)])) as Partial<Record<RateName, number>>;
  const tiers = [...starts].sort((a, b) => a - b);
  if (tiers.some((start) => !Number.isSafeInteger(start) || start < 1)) throw new RangeError('no tier');
  return {
    input: 0,
    output: 0,
    ...ratesAt(0),
    ...(tiers.length === 0
      ? {}
      : { tiers: tiers.map((start) => ({ aboveInputTokens: start, ...ratesAt(start) })) }),
  };
}

/** The last tier that begins at this number of tokens or before. */
function tierAt(tiers: readonly { readonly start: number; readonly price: number }[], start: number) {
  return tiers.filter((tier) => tier.start <= start).sort((a, b) => b.start - a.start)[0];
}

const PER_MILLION_DECIMALS = 6;

/**
 * Dollars per million tokens as whole picodollars per token, from the decimal text of the number: no arithmetic on a float. Finer
 * fractions are rounded.
 *
 * @throws {RangeError} for an invalid amount of money.
 */
function perToken(dollars: number): number {
  const text = String(dollars);
  const [whole = '', fraction = ''] = (text.includes('e-') ? dollars.toFixed(20) : text).split('.');
  const kept = scaled(`${whole}.${fraction.slice(0, PER_MILLION_DECIMALS)}`, PER_MILLION_DECIMALS);
  return (fraction[PER_MILLION_DECIMALS] ?? '0') >= '5' ? kept + 1 : kept;
}
