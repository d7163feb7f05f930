// Does a model cost what its vendor's list says? Our numbers against those of the list's own calculation, and the cases in
// which no list price counts.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROVIDER_TYPES } from '../../../core/catalog/provider-types.ts';
import { costPicodollars } from '../../../core/contract/cost.ts';
import type { Price } from '../../../core/contract/routing-table.ts';
import { type Catalog, findModel, PRICE_CATALOG } from '../../../operator/compile/catalog.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, condition, NOW_MS } from './support.ts';

type Fields = Readonly<Record<string, unknown>>;

const vendors = [...new Set(Object.values(PROVIDER_TYPES).flatMap(({ priceVendor }) => priceVendor ?? []))];

/** Every name under which the list itself knows a model, word for word. */
function namesOf({ id, match }: ModelInfo): string[] {
  const parts = 'or' in match ? match.or : [match];
  return [id, ...parts.flatMap((part) => ('equals' in part ? part.equals : []))];
}

const known = vendors.flatMap((vendor) =>
  (findProvider({ providerId: vendor })?.models ?? []).flatMap(namesOf).flatMap((name) => {
    const found = PRICE_CATALOG.find(vendor, name);
    return found === undefined ? [] : [{ vendor, name, found }];
  }),
);
const priced = known.flatMap(({ vendor, name, found }) =>
  found.periods.flatMap(({ fromMs, quote }) =>
    'unusable' in quote ? [] : [{ vendor, name, model: found.model, fromMs, quote }],
  ),
);

describe('compared with the calculation of the list itself', () => {
  test('prices of every vendor are compared', () => {
    const count = (vendor: string) => priced.filter((one) => one.vendor === vendor).length;
    expect(vendors).toEqual(['openai', 'anthropic', 'google', 'openrouter', 'mistral']);
    expect(count('openai')).toBeGreaterThan(60);
    expect(count('anthropic')).toBeGreaterThan(15);
    expect(count('google')).toBeGreaterThan(10);
    expect(count('openrouter')).toBeGreaterThan(400);
    expect(count('mistral')).toBeGreaterThan(25);
  });

  test('any call costs the same, at any time', () => {
    const tokens = fc.oneof(fc.nat(1000), fc.nat(1_200_000));
    const share = fc.nat(100);
    const afterMs = fc.nat(5 * 365 * 86_400_000);
    fc.assert(
      fc.property(
        fc.constantFrom(...known),
        fc.tuple(tokens, tokens, share, share, share),
        afterMs,
        ({ vendor, name, found }, [input, output, cachedShare, writtenShare, reasoningShare], afterMs) => {
          const nowMs = Date.parse('2024-01-01T00:00:00Z') + afterMs;
          const quote = (found.periods.findLast(({ fromMs }) => fromMs <= nowMs) ?? found.periods[0]).quote;
          fc.pre(!('unusable' in quote));
          const cachedInput = Math.floor((input * cachedShare) / 100);
          const cacheWrite = Math.floor(((input - cachedInput) * writtenShare) / 100);
          const reasoning = Math.floor((output * reasoningShare) / 100);
          const ours = costPicodollars(
            { input, cachedInput, cacheWrite, output, reasoning },
            { ...(quote as Price), source: 'catalog' },
          );
          const theirs = calcPrice(
            {
              input_tokens: input,
              cache_read_tokens: cachedInput,
              cache_write_tokens: cacheWrite,
              output_tokens: output,
              output_reasoning_tokens: reasoning,
            },
            name,
            { providerId: vendor, timestamp: new Date(nowMs) },
          );
          expect(theirs?.model.id).toBe(found.model);
          // A list price finer than a picodollar per token is rounded; theirs is a float.
          const roundingMax = 0.5 * cacheWrite + 1e-6 * ours + 1;
          expect(Math.abs((theirs?.total_price ?? Number.NaN) * 1e12 - ours)).toBeLessThanOrEqual(
            roundingMax,
          );
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('a plain call costs the same at every price of every name', () => {
    for (const { vendor, name, fromMs, quote } of priced) {
      const [input, output] = [1000, 1000];
      const ours = 1000 * (quote.input + quote.output);
      const theirs = calcPrice({ input_tokens: input, output_tokens: output }, name, {
        providerId: vendor,
        timestamp: new Date(fromMs),
      });
      expect(ours / 1e12, `${vendor}/${name}`).toBeCloseTo(theirs?.total_price ?? Number.NaN, 9);
    }
  });
});

test('an hour in Anthropic’s cache costs twice the input, as documented', () => {
  const quotes = priced.filter(
    ({ vendor, quote }) => vendor === 'anthropic' && quote.cacheWrite !== undefined,
  );
  expect(quotes.length).toBeGreaterThan(15);
  for (const { name, quote } of quotes) expect(quote.cacheWriteHour, name).toBe(2 * quote.input);
});

describe('the entry for a model', () => {
  test.each([
    ['anthropic', 'claude-opus-4-5', 'claude-opus-4-5'],
    ['anthropic', 'claude-opus-4-5-20251101', 'claude-opus-4-5'],
    ['anthropic', 'claude-sonnet-4-20250514', 'claude-sonnet-4-0'],
    ['anthropic', 'claude-3-5-haiku-latest', 'claude-3-5-haiku-latest'],
    ['openai', 'gpt-4o-2024-08-06', 'gpt-4o'],
    ['mistral', 'magistral-small-2506', 'magistral-small'],
  ])('of %s, %s is %s', (vendor, name, model) => {
    expect(PRICE_CATALOG.find(vendor, name)?.model).toBe(model);
  });

  test.each([
    ['a successor of another number', 'anthropic', 'claude-opus-4-10'],
    ['a successor of a further number', 'anthropic', 'claude-sonnet-5-1'],
    ['a variant', 'anthropic', 'claude-haiku-4-5-thinking'],
    ['a fine-tuned model', 'openai', 'ft:gpt-4o-2024-08-06:org::id'],
    ['the name of another spelling', 'openai', 'GPT-4o'],
    ['a model of another vendor', 'openai', 'claude-opus-4-5'],
    ['a regional model', 'anthropic', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['a variant of a gateway vendor', 'openrouter', 'openai/gpt-4o:nitro'],
  ])('%s is not known', (_, vendor, name) => {
    expect(PRICE_CATALOG.find(vendor, name)).toBeUndefined();
  });

  test.each([
    ['openai', 'gpt-4o-audio-preview'],
    ['openai', 'gpt-4o-audio-preview-2024-12-17'],
    ['openai', 'gpt-4o-mini-audio'],
    ['openrouter', 'openai/gpt-audio'],
    // Which the list takes for another name of a model of text.
    ['openrouter', 'openai/gpt-4o-audio-preview'],
    ['mistral', 'voxtral-small-latest'],
  ])('of %s, %s is made for sound, and a list that prices only text has no price of it', (vendor, name) => {
    const unusable: unknown = expect.stringContaining('no price of sound');
    const quotes = PRICE_CATALOG.find(vendor, name)?.periods.map(({ quote }) => quote) ?? [];
    expect(quotes.length).toBeGreaterThan(0);
    for (const quote of quotes) expect(quote).toEqual({ unusable });
  });

  test('the reported version is the installed one', () => {
    const folder = join(import.meta.dirname, '../../../node_modules', PRICE_CATALOG.name);
    const installed = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    expect(PRICE_CATALOG.version).toBe(installed.version);
  });
});

describe('an entry', () => {
  const quoteOf = (prices: ModelInfo['prices']) =>
    findModel([{ id: 'm', match: { equals: 'm' }, prices }], 'm')?.periods.map(({ quote }) => quote);

  test('with tiers has every rate in each, also if the tiers of its prices begin apart', () => {
    const prices = {
      input_mtok: { base: 1, tiers: [{ start: 100, price: 2 }] },
      cache_read_mtok: 0.1,
      output_mtok: { base: 4, tiers: [{ start: 200, price: 8 }] },
    };
    expect(quoteOf(prices)).toEqual([
      {
        input: 1_000_000,
        cachedInput: 100_000,
        output: 4_000_000,
        tiers: [
          { aboveInputTokens: 100, input: 2_000_000, cachedInput: 100_000, output: 4_000_000 },
          { aboveInputTokens: 200, input: 2_000_000, cachedInput: 100_000, output: 8_000_000 },
        ],
      },
    ]);
  });

  test('that is finer than a picodollar per token is rounded to the nearest', () => {
    const [third, tiny] = [0.083_333_333_333_333_34, 0.000_000_6];
    expect(quoteOf({ input_mtok: third, output_mtok: tiny })).toEqual([{ input: 83_333, output: 1 }]);
  });

  test.each([
    ['that names nothing, which may be free or not', {}, /names no price/],
    ['for embeddings', { input_mtok: 1 }, /names no price/],
    ['that charges for sound', { input_mtok: 1, output_mtok: 1, input_audio_mtok: 9 }, /input_audio_mtok/],
    ['with an absurd price', { input_mtok: 1e12, output_mtok: 1 }, /cannot be read/],
    ['with a price below nothing', { input_mtok: -1, output_mtok: 1 }, /cannot be read/],
  ])('%s is not used', (_, prices, why) => {
    expect(quoteOf(prices)).toEqual([{ unusable: expect.stringMatching(why) as unknown }]);
  });

  test('with a price that depends on the time of day is not used', () => {
    const constraint = { type: 'time_of_date', start_time: '00:00:00Z', end_time: '12:00:00Z' } as const;
    expect(quoteOf([{ constraint, prices: { input_mtok: 1, output_mtok: 1 } }])).toBeUndefined();
  });
});

const dated: Catalog = {
  name: 'list',
  version: '1',
  find: (_, name) =>
    findModel(
      [
        {
          id: 'dated',
          match: { equals: 'dated' },
          prices: [
            { prices: { input_mtok: 3, output_mtok: 3 } },
            {
              constraint: { type: 'start_date', start_date: '2026-07-01' },
              prices: { input_mtok: 1, output_mtok: 2 },
            },
          ],
        },
      ],
      name,
    ),
};

describe('a route', () => {
  const world = (targets: Fields[], ofProvider: Fields = {}, spec: Fields = {}) =>
    snapshot({
      secrets: [
        secret({ annotations: { 'penstock.dev/allowed-hosts': 'eu.api.openai.com,api.openai.com' } }),
      ],
      providers: [provider(ofProvider)],
      modelRoutes: [route({ targets, ...spec })],
    });
  const priceOf = (...parts: Parameters<typeof world>) =>
    compileOnce(world(...parts)).table.routes[0]?.targets[0]?.price;

  test('without a price takes the list price, and names it', () => {
    const snap = world([target({ upstreamModel: 'gpt-4o-2024-08-06' })]);
    const result = compileOnce(snap);
    expect(result.table.routes[0]?.targets[0]?.price).toEqual({
      input: 2_500_000,
      cachedInput: 1_250_000,
      output: 10_000_000,
      source: 'catalog',
      catalog: { name: '@pydantic/genai-prices', version: '0.1.8', provider: 'openai', model: 'gpt-4o' },
    });
    expect(condition(result, 'ModelRoute', 'team-a/chat', 'Priced')).toMatchObject({
      status: 'True',
      message: 'target main by the entry openai/gpt-4o of @pydantic/genai-prices 0.1.8',
    });
  });

  test('has the context length of each target, if the list knows it, whatever it costs', () => {
    const own = { currency: 'USD', inputPerMillion: '1', outputPerMillion: '1' };
    const targets = [
      target({ upstreamModel: 'gpt-4o-2024-08-06', pricing: own }),
      target({ name: 'other', upstreamModel: 'my-own' }),
    ];
    const [route] = compileOnce(world(targets)).table.routes;
    expect(route?.targets.map(({ contextLength }) => contextLength)).toEqual([128_000, undefined]);
  });

  test('with its own price, or the target’s, keeps it', () => {
    const own = { currency: 'USD', inputPerMillion: '1', outputPerMillion: '1' };
    const listed = target({ upstreamModel: 'gpt-4o' });
    expect(priceOf([{ ...listed, pricing: own }])).toMatchObject({ source: 'target', input: 1_000_000 });
    expect(priceOf([listed], {}, { pricing: own })).toMatchObject({ source: 'route', input: 1_000_000 });
  });

  test.each([
    ['at another address of the vendor', { baseURL: 'https://eu.api.openai.com/v1' }, 'own address'],
    [
      'of a type that is no vendor',
      { type: 'OpenAICompatible', baseURL: 'https://api.openai.com/v1', apis: ['ChatCompletions'] },
      'type OpenAICompatible',
    ],
    [
      'on a tenant’s own machine',
      { type: 'Ollama', baseURL: 'https://api.openai.com', apis: ['ChatCompletions'] },
      'type Ollama',
    ],
  ])('with a Provider %s has no list price, whatever its model is called', (_, ofProvider, why) => {
    const result = compileOnce(world([target({ upstreamModel: 'gpt-4o' })], ofProvider));
    expect(result.table.routes[0]?.targets[0]?.price).toBeNull();
    const { status, reason, message } = condition(result, 'ModelRoute', 'team-a/chat', 'Priced');
    expect([status, reason]).toEqual(['False', 'NoPrice']);
    expect(message).toContain(why);
    expect(message).toContain('set spec.pricing');
  });

  test('with the vendor’s address spelled out has the list price', () => {
    expect(
      priceOf([target({ upstreamModel: 'gpt-4o' })], { baseURL: 'https://api.openai.com/v1' }),
    ).toMatchObject({ source: 'catalog' });
  });

  test('on a dated price has the price of the day, and changes at midnight without an edit', () => {
    const compile = createCompiler(dated);
    const snap = world([target({ upstreamModel: 'dated' })]);
    const turnMs = Date.parse('2026-07-01T00:00:00Z');
    const before = compile(snap, NOW_MS);
    expect(before.table.routes[0]?.targets[0]?.price).toMatchObject({ input: 3_000_000 });
    expect(before.staleAtMs).toBe(turnMs);
    expect(compile(snap, turnMs - 1).compiled.routes).toBe(0);
    const after = compile(snap, turnMs);
    expect(after.compiled.routes).toBe(1);
    expect(after.table.routes[0]?.targets[0]?.price).toMatchObject({ input: 1_000_000, output: 2_000_000 });
    expect(after.staleAtMs).toBeUndefined();
  });
});
