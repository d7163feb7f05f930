// GET /v1/models: what may this caller use, and what does it cost? One body that OpenAI and
// Anthropic clients both read. Served from memory.

import { isModelCapability, MODEL_CAPABILITIES } from '../../core/catalog/model-capabilities.ts';
import { type Rates, ratesFor } from '../../core/contract/cost.ts';
import type { Price } from '../../core/contract/routing-table.ts';
import { type Caller, ownsProvider } from '../request/caller.ts';
import { GatewayError } from '../request/errors.ts';
import { findListedModel, listModels, listUnavailable, modelNotFound } from '../route/find-model.ts';
import type { RouteView, TableView, UnavailableView } from '../table/view.ts';

/** Prices in USD per token, as decimal strings. */
interface TokenPricing {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read?: string;
  readonly input_cache_write?: string;
  /** For a cache that is kept for an hour, if its price is higher. */
  readonly input_cache_write_1h?: string;
  /** If its price is higher than that of other output. */
  readonly internal_reasoning?: string;
}

interface Pricing extends TokenPricing {
  readonly request?: string;
  /** Capacity is paid for, and calls cost nothing, at each target. */
  readonly provisioned?: true;
  /** For calls with a longer input, the lowest bound first. */
  readonly tiers?: readonly (TokenPricing & { readonly above: number })[];
}

/** Which part of the list is asked for, in Anthropic's form (Anthropic API reference, "List Models"); without a limit all that is left. */
interface ModelPage {
  readonly limit: number;
  readonly afterId: string | undefined;
  readonly beforeId: string | undefined;
}

const pageMax = 1000;

/**
 * @returns Undefined if the whole list is asked for: OpenAI's list has no pages.
 * @throws {GatewayError} `invalid_parameter`.
 */
export function readModelPage(url: string): ModelPage | undefined {
  const query = new URLSearchParams(url.split('?', 2)[1]);
  const [limit, afterId, beforeId] = ['limit', 'after_id', 'before_id'].map(
    (name) => query.get(name) || undefined,
  );
  if (limit === undefined && afterId === undefined && beforeId === undefined) return undefined;
  if (limit !== undefined && !(/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= pageMax)) {
    throw new GatewayError('invalid_parameter', `limit must be a whole number from 1 to ${pageMax}.`, {
      param: 'limit',
    });
  }
  if (afterId !== undefined && beforeId !== undefined) {
    const message = 'after_id and before_id cannot be combined. Send one of them.';
    throw new GatewayError('invalid_parameter', message, { param: 'before_id' });
  }
  return { limit: Number(limit ?? Number.POSITIVE_INFINITY), afterId, beforeId };
}

interface ListedModel {
  readonly id: string;
  readonly json: string;
}

/** The list as it is sent. What needs no key must cost next to nothing: the one for everybody is made once for each table. */
export function openModelList(): (view: TableView, caller: Caller | undefined, page?: ModelPage) => Buffer {
  const forEverybody = new WeakMap<
    TableView,
    { readonly models: readonly ListedModel[]; readonly whole: Buffer }
  >();
  return (view, caller, page) => {
    const made = caller ? undefined : forEverybody.get(view);
    if (made) return page ? encodePage(made.models, page) : made.whole;
    const models = describeModels(view, caller);
    const whole = encodeList(models, false);
    if (!caller) forEverybody.set(view, { models, whole });
    return page ? encodePage(models, page) : whole;
  };
}

function describeModels(view: TableView, caller: Caller | undefined): readonly ListedModel[] {
  // A model that is out of service for a while keeps its place in the list.
  const routes = [...listModels(view, caller), ...listUnavailable(view, caller)];
  if (view.unavailable.routes.length > 0)
    routes.sort(({ entry: { id: a } }, { entry: { id: b } }) => (a < b ? -1 : 1));
  return routes.map((route) => {
    const model = describeModel(route, caller, route.entry.model);
    return { id: model.id, json: JSON.stringify(model) };
  });
}

/** @throws {GatewayError} `invalid_parameter` if it begins or ends at a model that is not in the list. */
function encodePage(models: readonly ListedModel[], { limit, afterId, beforeId }: ModelPage): Buffer {
  if (beforeId !== undefined) {
    const end = placeOf(models, beforeId, 'before_id');
    const start = Math.max(0, end - limit);
    return encodeList(models.slice(start, end), start > 0);
  }
  const start = afterId === undefined ? 0 : placeOf(models, afterId, 'after_id') + 1;
  return encodeList(models.slice(start, start + limit), start + limit < models.length);
}

function placeOf(models: readonly ListedModel[], wanted: string, param: string): number {
  const place = models.findIndex(({ id }) => id === wanted);
  if (place !== -1) return place;
  const message = `The list has no model '${wanted.slice(0, 256)}'. Begin again without ${param}.`;
  throw new GatewayError('invalid_parameter', message, { param });
}

function encodeList(models: readonly ListedModel[], hasMore: boolean): Buffer {
  const ends = { has_more: hasMore, first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null };
  const data = models.map(({ json }) => json).join(',');
  return Buffer.from(`{"object":"list","data":[${data}],${JSON.stringify(ends).slice(1)}`);
}

/** @throws {GatewayError} `model_not_found`, also for models this caller may not see. */
export function describeOneModel(
  view: TableView,
  caller: Caller | undefined,
  id: string,
): Record<string, unknown> {
  const route = findListedModel(view, caller, id);
  if (!route) throw modelNotFound(id);
  return describeModel(route, caller, id);
}

/** A model of the caller's own namespace that uses only the namespace's own providers. */
export function isOwnModel({ namespace, targets }: RouteView, caller: Caller | undefined): boolean {
  return caller?.namespace === namespace && targets.every(({ provider }) => !provider.entry.isPlatform);
}

export function describeModel(
  route: RouteView | UnavailableView,
  caller: Caller | undefined,
  id: string,
): { readonly id: string } & Record<string, unknown> {
  const { entry } = route;
  return {
    id,
    object: 'model',
    created: entry.createdAt,
    owned_by: entry.ownedBy,
    type: 'model',
    display_name: entry.displayName ?? id,
    created_at: new Date(entry.createdAt * 1000).toISOString(),
    ...(entry.description === undefined ? {} : { description: entry.description }),
    pricing: pricingOf(route, caller),
    context_length: entry.contextLength ?? null,
    max_completion_tokens: entry.maxOutputTokens ?? null,
    supported_parameters: supportedParameters(entry.capabilities),
  };
}

/** The price of a model comes from the targets that serve it. */
function pricingOf(route: RouteView | UnavailableView, caller: Caller | undefined): Pricing | null {
  if (!('targets' in route)) return null;
  return isOwnModel(route, caller) ? ownPricing : highestPricing(pricesOf(route, caller));
}

/** The tenant pays its own provider; here it costs nothing. */
const ownPricing: Pricing = {
  prompt: '0',
  completion: '0',
  input_cache_read: '0',
  input_cache_write: '0',
  request: '0',
};

const free: Price = { source: 'target', input: 0, output: 0 };

/** Of the targets that are used, for this caller. */
function pricesOf(
  { entry: { unpriced }, targets }: RouteView,
  caller: Caller | undefined,
): readonly (Price | null)[] {
  const prices = targets.map(({ provider, entry }) => {
    return caller && ownsProvider(caller, provider) ? free : entry.price;
  });
  return unpriced === 'Deny' ? prices.filter((price) => price !== null) : prices;
}

/** Null where the price of one target is not known: it might be the highest. */
function highestPricing(prices: readonly (Price | null)[]): Pricing | null {
  const known = prices.filter((price) => price !== null);
  if (known.length < prices.length || known.length === 0) return null;
  const requests = known.flatMap(({ perRequest }) => perRequest ?? []);
  const bounds = known.flatMap(({ tiers = [] }) => tiers.map(({ aboveInputTokens }) => aboveInputTokens));
  const tiers = [...new Set(bounds)]
    .sort((a, b) => a - b)
    .map((above) => ({ above, ...highestForInput(above + 1, known) }));
  return {
    ...highestForInput(0, known),
    ...(requests.length === 0 ? {} : { request: usdPerToken(Math.max(...requests)) }),
    ...(known.every(({ source }) => source === 'provisioned') ? { provisioned: true } : {}),
    ...(tiers.length === 0 ? {} : { tiers }),
  };
}

/** Each kind on its own: the highest prices of input and of output may be those of different targets. */
function highestForInput(inputTokens: number, prices: readonly Price[]): TokenPricing {
  const rates = prices.map((price) => ratesFor(inputTokens, price));
  const highest = (kind: keyof Rates): number => Math.max(...rates.map((one) => one[kind]));
  const isStated = (kind: keyof Rates): boolean =>
    prices.some((price) => [price, ...(price.tiers ?? [])].some((one) => one[kind] !== undefined));
  return {
    prompt: usdPerToken(highest('input')),
    completion: usdPerToken(highest('output')),
    ...(isStated('cachedInput') ? { input_cache_read: usdPerToken(highest('cachedInput')) } : {}),
    ...(isStated('cacheWrite') ? { input_cache_write: usdPerToken(highest('cacheWrite')) } : {}),
    ...(highest('cacheWriteHour') > highest('cacheWrite')
      ? { input_cache_write_1h: usdPerToken(highest('cacheWriteHour')) }
      : {}),
    ...(highest('reasoning') > highest('output')
      ? { internal_reasoning: usdPerToken(highest('reasoning')) }
      : {}),
  };
}

/** Picodollars to a decimal string of dollars, exactly. */
function usdPerToken(picodollars: number): string {
  const digits = String(picodollars).padStart(13, '0');
  const fraction = digits.slice(-12).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${fraction}`;
}

function supportedParameters(capabilities: readonly string[]): readonly string[] {
  const always = ['max_tokens', 'temperature', 'top_p', 'stop'];
  const own = capabilities.filter(isModelCapability).flatMap((name) => MODEL_CAPABILITIES[name].parameters);
  return [...always, ...own];
}
