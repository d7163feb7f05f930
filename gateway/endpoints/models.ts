// GET /v1/models: what may this caller use, and what does it cost? One body that OpenAI and
// Anthropic clients both read. Served from memory.

import type { Caller } from '../caller.ts';
import type { Price } from '../contract/routing-table.ts';
import { findListedModel, listModels, modelNotFound } from '../route/find-model.ts';
import type { RouteView, TableView } from '../table/view.ts';

/** Prices in USD per token, as decimal strings. */
interface Pricing {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read?: string;
  readonly input_cache_write?: string;
  readonly request?: string;
}

/** The list as it is sent. What needs no key must cost next to nothing: the one for everybody is made once for each table. */
export function openModelList(): (view: TableView, caller: Caller | undefined) => Buffer {
  const forEverybody = new WeakMap<TableView, Buffer>();
  return (view, caller) => {
    const made = caller ? undefined : forEverybody.get(view);
    if (made) return made;
    const list = Buffer.from(JSON.stringify(describeModels(view, caller)));
    if (!caller) forEverybody.set(view, list);
    return list;
  };
}

function describeModels(view: TableView, caller: Caller | undefined): Record<string, unknown> {
  const data = listModels(view, caller).map((route) => describeModel(route, caller, route.entry.model));
  return {
    object: 'list',
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
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

/** Of the caller's own namespace, with providers of its own alone. */
export function isOwnModel({ namespace, targets }: RouteView, caller: Caller | undefined): boolean {
  return caller?.namespace === namespace && targets.every(({ provider }) => !provider.entry.isPlatform);
}

export function describeModel(
  route: RouteView,
  caller: Caller | undefined,
  id: string,
): { readonly id: string } & Record<string, unknown> {
  const { entry, targets } = route;
  return {
    id,
    object: 'model',
    created: entry.createdAt,
    owned_by: entry.ownedBy,
    type: 'model',
    display_name: entry.displayName ?? id,
    created_at: new Date(entry.createdAt * 1000).toISOString(),
    ...(entry.description === undefined ? {} : { description: entry.description }),
    pricing: isOwnModel(route, caller) ? ownPricing : highestPricing(pricesOf(entry, targets)),
    context_length: entry.contextLength ?? null,
    max_completion_tokens: entry.maxOutputTokens ?? null,
    supported_parameters: supportedParameters(entry.capabilities),
  };
}

/** The tenant pays its own provider; here it costs nothing. */
const ownPricing: Pricing = {
  prompt: '0',
  completion: '0',
  input_cache_read: '0',
  input_cache_write: '0',
  request: '0',
};

/** Of the targets that are used. */
function pricesOf(
  { unpriced }: RouteView['entry'],
  targets: RouteView['targets'],
): readonly (Price | null)[] {
  const prices = targets.map((target) => target.entry.price);
  return unpriced === 'Deny' ? prices.filter((price) => price !== null) : prices;
}

/** Null where the price of one target is not known: it might be the highest. */
function highestPricing(prices: readonly (Price | null)[]): Pricing | null {
  const known = prices.filter((price) => price !== null);
  if (known.length < prices.length || known.length === 0) return null;
  const highest = (rate: (price: Price) => number): string => usdPerToken(Math.max(...known.map(rate)));
  const isAnySet = (rate: (price: Price) => number | undefined): boolean =>
    known.some((price) => rate(price) !== undefined);
  return {
    prompt: highest(({ input }) => input),
    completion: highest(({ output }) => output),
    ...(isAnySet(({ cachedInput }) => cachedInput)
      ? { input_cache_read: highest(({ cachedInput, input }) => cachedInput ?? input) }
      : {}),
    ...(isAnySet(({ cacheWrite }) => cacheWrite)
      ? { input_cache_write: highest(({ cacheWrite, input }) => cacheWrite ?? input) }
      : {}),
    ...(isAnySet(({ perRequest }) => perRequest)
      ? { request: highest(({ perRequest }) => perRequest ?? 0) }
      : {}),
  };
}

/** Picodollars to a decimal string of dollars, exactly. */
function usdPerToken(picodollars: number): string {
  const digits = String(picodollars).padStart(13, '0');
  const fraction = digits.slice(-12).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${fraction}`;
}

const parametersOf: Readonly<Record<string, readonly string[]>> = {
  Streaming: ['stream', 'stream_options'],
  Tools: ['tools', 'tool_choice', 'parallel_tool_calls'],
  Reasoning: ['reasoning_effort'],
  PromptCaching: ['prompt_cache_key'],
};

function supportedParameters(capabilities: readonly string[]): readonly string[] {
  const always = ['max_tokens', 'temperature', 'top_p', 'stop'];
  return [...always, ...capabilities.flatMap((capability) => parametersOf[capability] ?? [])];
}
