// What does a model cost at a cloud? By its region, by the geography of its profile, or not at all; and what does the route say, where nobody knows?

import { describe, expect, test } from 'vitest';
import { costPicodollars } from '../../../core/contract/cost.ts';
import { provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, condition } from './support.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A route with one target at a Provider of the cloud. */
function compiled(ofProvider: Fields, upstreamModel: string, spec: Fields = {}) {
  const hosts = URL.parse(String(ofProvider.baseURL ?? ''))?.host ?? 'aiplatform.googleapis.com';
  const more = ',generativelanguage.googleapis.com';
  return compileOnce(
    snapshot({
      secrets: [secret({ annotations: { 'penstock.dev/allowed-hosts': hosts + more } })],
      providers: [provider(ofProvider)],
      modelRoutes: [route({ targets: [target({ upstreamModel })], ...spec })],
    }),
  );
}

function priceOf(...parts: Parameters<typeof compiled>) {
  const result = compiled(...parts);
  expect(result.table.routes[0]?.targets).toHaveLength(1);
  return result.table.routes[0]?.targets[0]?.price;
}

function priced(...parts: Parameters<typeof compiled>) {
  return condition(compiled(...parts), 'ModelRoute', 'team-a/chat', 'Priced');
}

const bedrock = (region: string) => ({
  type: 'Bedrock',
  baseURL: `https://bedrock-runtime.${region}.amazonaws.com`,
});
const mantle = { type: 'Bedrock', baseURL: 'https://bedrock-mantle.us-east-1.api.aws' };
const vertexIn = (location: string) => ({
  type: 'VertexAI',
  ...(location === 'global' ? {} : { baseURL: `https://${location}-aiplatform.googleapis.com/v1` }),
});
const dollars = (perMillion: number) => Math.round(perMillion * 1_000_000);

describe('Bedrock', () => {
  test.each([
    ['global', 'us-east-1', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0', 3, 15],
    ['a geography', 'us-east-1', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3.3, 16.5],
    ['another geography', 'eu-central-1', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 3.3, 16.5],
    ['one that the list never names', 'ap-south-1', 'apac.anthropic.claude-opus-4-8', 5.5, 27.5],
    ['none: the region', 'ap-northeast-1', 'anthropic.claude-haiku-4-5-20251001-v1:0', 1.1, 5.5],
    [
      'the profile’s ARN',
      'us-east-1',
      `arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-5`,
      2.2,
      11,
    ],
    ['Nova of a geography', 'us-east-1', 'us.amazon.nova-2-lite-v1:0', 0.33, 2.75],
    ['Nova everywhere', 'us-east-1', 'global.amazon.nova-2-lite-v1:0', 0.3, 2.5],
    ['a plain price in its region', 'us-east-1', 'amazon.nova-pro-v1:0', 0.8, 3.2],
    ['the same by a profile', 'us-west-2', 'us.meta.llama4-maverick-17b-instruct-v1:0', 0.24, 0.97],
    ['a date that the list leaves out', 'us-east-1', 'us.anthropic.claude-opus-4-5-20251101-v1:0', 5.5, 27.5],
    ['a version that the id leaves out', 'us-east-1', 'qwen.qwen3-32b', 0.15, 0.6],
  ])('%s: in %s, %s costs $%f and $%f', (_, region, model, input, output) => {
    expect(priceOf(bedrock(region), model)).toMatchObject({
      input: dollars(input),
      output: dollars(output),
      source: 'catalog',
      catalog: { provider: 'aws' },
    });
  });

  test('at mantle has the ids without a version at the same price', () => {
    const at = [
      priceOf(mantle, 'openai.gpt-oss-120b'),
      priceOf(bedrock('us-east-1'), 'openai.gpt-oss-120b-1:0'),
    ];
    expect(at[0]).toMatchObject({ input: dollars(0.15), output: dollars(0.6) });
    expect(at[0]).toEqual(at[1]);
  });

  test('charges Claude twice its input for an hour in the cache, and 1.25 times for five minutes', () => {
    const price = priceOf(bedrock('eu-central-1'), 'eu.anthropic.claude-sonnet-5');
    if (!price) throw new Error('no price');
    const usage = {
      input: 600,
      cachedInput: 100,
      cacheWrite: 400,
      cacheWriteHour: 150,
      output: 10,
      reasoning: 0,
    };
    // 100 plain, 100 read, 250 for five minutes, 150 for an hour, at $2.20 of input.
    expect(costPicodollars(usage, price)).toBe(
      100 * 2_200_000 + 100 * 220_000 + 250 * 2_750_000 + 150 * 4_400_000 + 10 * 11_000_000,
    );
  });

  test.each([
    [
      'a plain price in a region where most models cost more',
      bedrock('eu-central-1'),
      'amazon.nova-pro-v1:0',
      'knows no model "amazon.nova-pro-v1:0" of aws in eu-central-1',
    ],
    [
      'a region in the options beside a host of another one',
      { ...bedrock('eu-central-1'), options: { region: 'us-east-1' } },
      'amazon.nova-pro-v1:0',
      'of aws in eu-central-1',
    ],
    [
      'a global profile of a model without one in the list',
      bedrock('us-east-1'),
      'global.openai.gpt-6',
      'knows no model "global.openai.gpt-6"',
    ],
    [
      'a model that is not in the list',
      bedrock('us-east-1'),
      'xai.grok-4.7',
      'knows no model "xai.grok-4.7" of aws in us-east-1',
    ],
    [
      'a variant with another context length',
      bedrock('us-east-1'),
      'amazon.nova-pro-v1:0:300k',
      'knows no model',
    ],
    [
      'GovCloud',
      bedrock('us-gov-west-1'),
      'us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0',
      'list prices do not count in us-gov-west-1',
    ],
    [
      'an application’s own profile',
      bedrock('us-east-1'),
      'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc123',
      'its ARN does not say which model it is',
    ],
    [
      'provisioned capacity',
      bedrock('us-east-1'),
      'arn:aws:bedrock:us-east-1:1:provisioned-model/abc123',
      'pricing {provisioned: true}',
    ],
    [
      'another host',
      { type: 'Bedrock', baseURL: 'https://proxy.example.com', options: { region: 'us-east-1' } },
      'amazon.nova-pro-v1:0',
      'not at a host of AWS',
    ],
  ])('has no price of %s, and says what to set', (_, at, model, why) => {
    expect(priceOf(at, model)).toBeNull();
    const { status, reason, message } = priced(at, model);
    expect([status, reason]).toEqual(['False', 'NoPrice']);
    expect(message).toContain(why);
    expect(message).toContain('set spec.pricing, or pricing at the target');
  });
});

describe('Vertex AI', () => {
  test.each([
    ['Gemini', 'global', 'gemini-3.1-pro-preview', 2, 12],
    ['Gemini by the publisher', 'global', 'google/gemini-2.5-pro', 1.25, 10],
    ['an open model of Google', 'global', 'google/gemma-4-26b-a4b-it-maas', 0.15, 0.6],
    ['Claude', 'global', 'claude-opus-5', 5, 25],
    ['Claude with its date', 'global', 'claude-sonnet-4-5@20250929', 3, 15],
    ['Claude that only its maker lists', 'global', 'claude-haiku-4-5@20251001', 1, 5],
    ['Claude in a region', 'europe-west4', 'claude-opus-5', 5.5, 27.5],
    ['Claude before 4.5 in a region', 'europe-west4', 'claude-opus-4-1@20250805', 15, 75],
    ['Claude 4 in a region', 'europe-west4', 'claude-sonnet-4@20250514', 3, 15],
  ])('%s: in %s, %s costs $%f and $%f', (_, location, model, input, output) => {
    expect(priceOf(vertexIn(location), model)).toMatchObject({
      input: dollars(input),
      output: dollars(output),
    });
  });

  test('adds ten per cent for a location in a long input and in the cache too, and says so', () => {
    const model = 'claude-sonnet-4-5@20250929';
    expect(priceOf(vertexIn('europe-west4'), model)).toMatchObject({
      cachedInput: 330_000,
      cacheWrite: 4_125_000,
      cacheWriteHour: 6_600_000,
      tiers: [
        { aboveInputTokens: 200_000, input: 6_600_000, output: 24_750_000, cacheWriteHour: 13_200_000 },
      ],
      catalog: { model: 'claude-sonnet-4-5', surchargePercent: 10 },
    });
    expect(priced(vertexIn('europe-west4'), model).message).toContain(
      'the entry google/claude-sonnet-4-5 of @pydantic/genai-prices 0.1.8, and 10 % for its location',
    );
    // A location that the options name, at the host of all.
    const byOption = { type: 'VertexAI', options: { project: 'my-project', location: 'eu' } };
    expect(priceOf(byOption, 'claude-opus-5')).toMatchObject({ input: 5_500_000 });
  });

  test.each([
    ['Gemini in a region', vertexIn('europe-west4'), 'gemini-2.5-pro', 'those of the location global'],
    [
      'Gemini in a region of the options',
      { type: 'VertexAI', options: { project: 'my-project', location: 'europe-west4' } },
      'gemini-2.5-pro',
      'its Provider is in europe-west4',
    ],
    ['a tuned model', vertexIn('global'), 'endpoints/1234567890', 'knows no model'],
    [
      'a model that the list does not have',
      vertexIn('global'),
      'meta/llama-4-maverick-17b-128e-instruct-maas',
      'knows no model',
    ],
    [
      'a model of which sound has its own price',
      vertexIn('global'),
      'gemini-2.5-flash',
      'it charges for more than text',
    ],
  ])('has no price of %s, and says what to set', (_, at, model, why) => {
    expect(priceOf(at, model)).toBeNull();
    const { status, message } = priced(at, model);
    expect(status).toBe('False');
    expect(message).toContain(why);
    expect(message).toContain('set spec.pricing, or pricing at the target');
  });
});

test.each([
  [
    'of the Gemini API',
    { type: 'Gemini' },
    'gemini-4-hydrogen',
    'knows no model "gemini-4-hydrogen" of google',
  ],
  [
    'of the Gemini API that is free in the list',
    { type: 'Gemini' },
    'gemma-3',
    'names no price of input and output',
  ],
  [
    'of Azure, by the name of a deployment',
    { type: 'AzureOpenAI', baseURL: 'https://res.openai.azure.com' },
    'gpt-4o',
    'the name of a deployment does not say its model',
  ],
])('a model %s has no price, and the route says what to set', (_, at, model, why) => {
  expect(priceOf(at, model)).toBeNull();
  expect(priced(at, model)).toMatchObject({ status: 'False', reason: 'NoPrice' });
  expect(priced(at, model).message).toContain(`no price for target main: `);
  expect(priced(at, model).message).toContain(why);
  expect(priced(at, model).message).toContain('set spec.pricing, or pricing at the target');
});

test('a model of the Gemini API has its list price, under its own name', () => {
  expect(priceOf({ type: 'Gemini' }, 'gemini-2.5-pro')).toMatchObject({
    input: 1_250_000,
    output: 10_000_000,
  });
});

describe('provisioned capacity', () => {
  const arn = 'arn:aws:bedrock:us-east-1:1:provisioned-model/abc123';
  const spec = { pricing: { provisioned: true } };

  test('costs nothing per call, and is marked as such', () => {
    expect(priceOf(bedrock('us-east-1'), arn, spec)).toEqual({ input: 0, output: 0, source: 'provisioned' });
    const atTarget = { targets: [target({ upstreamModel: arn, pricing: { provisioned: true } })] };
    expect(priceOf(bedrock('us-east-1'), arn, atTarget)).toMatchObject({ input: 0, source: 'provisioned' });
    expect(priced(bedrock('us-east-1'), arn, spec)).toMatchObject({
      status: 'True',
      reason: 'Priced',
      message: 'target main is provisioned capacity, its calls cost 0',
    });
  });

  test('has no amounts beside it, since they would never apply', () => {
    const both = { pricing: { provisioned: true, inputPerMillion: '1', outputPerMillion: '1' } };
    const accepted = condition(
      compiled(bedrock('us-east-1'), arn, both),
      'ModelRoute',
      'team-a/chat',
      'Accepted',
    );
    expect(accepted).toMatchObject({ status: 'False' });
    expect(accepted.message).toContain('provisioned replaces all amounts');
  });

  test('set to false is not a price', () => {
    const none = { pricing: { provisioned: false } };
    const accepted = condition(
      compiled(bedrock('us-east-1'), arn, none),
      'ModelRoute',
      'team-a/chat',
      'Accepted',
    );
    expect(accepted.message).toContain('a price needs an amount');
  });
});
