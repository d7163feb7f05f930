// Facts of the catalog for the targets of a route: context windows and, without a price in the route, list prices and their next change.

import type { Price } from '../../core/contract/routing-table.ts';
import type { ModelRoute, TargetSpec } from '../resources/model-route.ts';
import type { PlatformSettings } from '../watch/snapshot.ts';
import type { Catalog, CatalogModel } from './catalog.ts';
import type { CompiledProvider } from './providers.ts';
import { statedPrice } from './stated-price.ts';

/** Or why there is none, as the end of a sentence. */
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
    const vendor = providers[index]?.priceList.vendor;
    return vendor === undefined ? undefined : catalog.find(vendor, target.upstreamModel)?.contextLength;
  });
}

export function quoteAt(quotes: Quotes, nowMs: number): Quote | undefined {
  return (quotes.findLast(({ fromMs }) => fromMs <= nowMs) ?? quotes[0])?.quote;
}

/** Unix milliseconds at which some price is another; undefined where none is. */
export function nextPriceMs(quotes: readonly Quotes[], nowMs: number): number | undefined {
  const times = quotes.flatMap((periods) => periods.flatMap(({ fromMs }) => (fromMs > nowMs ? fromMs : [])));
  return times.length === 0 ? undefined : Math.min(...times);
}

function quotesOf(target: TargetSpec, { priceList }: CompiledProvider, catalog: Catalog): Quotes {
  if (priceList.vendor === undefined) return [{ fromMs: 0, quote: { why: priceList.why } }];
  const { vendor } = priceList;
  const { name, version } = catalog;
  const found = catalog.find(vendor, target.upstreamModel);
  if (found !== undefined)
    return found.periods.map((period) => quotePeriod(period, found.model, vendor, catalog));
  const why = `${name} ${version} knows no model "${target.upstreamModel}" of ${vendor}`;
  return [{ fromMs: 0, quote: { why } }];
}

function quotePeriod(
  { fromMs, quote }: CatalogModel['periods'][number],
  model: string,
  vendor: string,
  { name, version }: Catalog,
): QuotePeriod {
  if ('unusable' in quote) {
    const why = `the entry ${vendor}/${model} of ${name} ${version} is not used, because ${quote.unusable}`;
    return { fromMs, quote: { why } };
  }
  const catalog = { name, version, provider: vendor, model };
  return { fromMs, quote: { price: { ...quote, source: 'catalog', catalog } } };
}
