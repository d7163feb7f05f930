// Facts of the catalog for the targets of a route: context windows and, without a price in the route, list prices and their next change.

import type { ListName } from '../../core/catalog/list-names.ts';
import type { Price } from '../../core/contract/routing-table.ts';
import type { ModelRoute, TargetSpec } from '../resources/model-route.ts';
import type { PlatformSettings } from '../watch/snapshot.ts';
import type { Catalog, CatalogModel } from './catalog.ts';
import type { CompiledProvider } from './providers.ts';
import { ratesThere } from './rates-there.ts';
import { statedPrice } from './stated-price.ts';

/** Or why the model has no price, as the end of a sentence. */
export type Quote = { readonly price: Price } | { readonly why: string };

interface QuotePeriod {
  readonly fromMs: number;
  readonly quote: Quote;
}

/** Of one target, oldest first; none where the catalog is not asked. */
type Quotes = readonly QuotePeriod[];

/**
 * Everything the catalog will ever say about the targets of a route, in their order. Each quote keeps its identity, so
 * that it can be an input of what is remembered.
 */
export function lookUpPrices(
  route: ModelRoute,
  providers: readonly (CompiledProvider | undefined)[],
  catalog: Catalog,
  platform: Pick<PlatformSettings, 'platformNamespaces'>,
): readonly Quotes[] {
  return route.spec.targets.map((target, index) => {
    const provider = providers[index];
    if (provider === undefined || statedPrice(route, target, platform) !== undefined) return [];
    return quotesOf(target, provider, catalog);
  });
}

/** Tokens that fit into the model of each target, in their order; undefined where the catalog does not know it. */
export function lookUpWindows(
  { spec }: ModelRoute,
  providers: readonly (CompiledProvider | undefined)[],
  catalog: Catalog,
): readonly (number | undefined)[] {
  return spec.targets.map((target, index) => {
    const names = providers[index]?.priceList.namesOf(target.upstreamModel).names ?? [];
    return firstOf(names, catalog)?.found.contextLength;
  });
}

export function quoteAt(quotes: Quotes, nowMs: number): Quote | undefined {
  return (quotes.findLast(({ fromMs }) => fromMs <= nowMs) ?? quotes[0])?.quote;
}

/** Unix milliseconds of the next price change; undefined without one. */
export function nextPriceMs(quotes: readonly Quotes[], nowMs: number): number | undefined {
  const times = quotes.flatMap((periods) => periods.flatMap(({ fromMs }) => (fromMs > nowMs ? fromMs : [])));
  return times.length === 0 ? undefined : Math.min(...times);
}

function quotesOf({ upstreamModel }: TargetSpec, { priceList }: CompiledProvider, catalog: Catalog): Quotes {
  const listed = priceList.namesOf(upstreamModel);
  if (listed.names === undefined) return [{ fromMs: 0, quote: { why: listed.why } }];
  const one = firstOf(listed.names, catalog);
  if (one !== undefined) return one.found.periods.map((period) => quotePeriod(period, one, catalog));
  const [vendor] = listed.names.map((name) => name.vendor);
  const where = listed.place === undefined ? '' : ` ${listed.place}`;
  const why = `${catalog.name} ${catalog.version} knows no model "${upstreamModel}" of ${vendor}${where}`;
  return [{ fromMs: 0, quote: { why } }];
}

interface Listed {
  readonly name: ListName;
  readonly found: CatalogModel;
}

function firstOf(names: readonly ListName[], catalog: Catalog): Listed | undefined {
  for (const name of names) {
    const found = catalog.find(name.vendor, name.model, name.isEntry);
    if (found !== undefined) return { name, found };
  }
  return undefined;
}

function quotePeriod(
  { fromMs, quote }: CatalogModel['periods'][number],
  { name: { vendor, surchargePercent, cacheHourInputs }, found: { model } }: Listed,
  { name, version }: Catalog,
): QuotePeriod {
  if ('unusable' in quote) {
    const why = `the entry ${vendor}/${model} of ${name} ${version} is not used, because ${quote.unusable}`;
    return { fromMs, quote: { why } };
  }
  const surcharge = surchargePercent === undefined ? {} : { surchargePercent };
  const catalog = { name, version, provider: vendor, model, ...surcharge };
  const rates = ratesThere(quote, surchargePercent ?? 0, cacheHourInputs);
  return { fromMs, quote: { price: { ...rates, source: 'catalog', catalog } } };
}
