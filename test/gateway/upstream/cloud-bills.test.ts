// What do calls at the clouds cost, to the picodollar? Ten bills each of Bedrock, Vertex AI's Claude and Azure, computed by hand; those of Gemini
// are in gemini.test.ts. Prices are examples in the form that each cloud bills by.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Price, UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import { ask } from '../../flow/ask.ts';
import { startRig, tableOf } from '../rig.ts';

/** What the upstream answers next. */
let answer: object = {};
const server = createServer((incoming, response) => {
  incoming.resume();
  incoming.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
});
let baseUrl: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

interface Cloud {
  readonly type: string;
  readonly dialect: UpstreamDialectName;
  readonly auth: { readonly header: string; readonly prefix: string };
  readonly answerOf: (usage: object) => object;
}

async function costAt({ type, dialect, auth, answerOf }: Cloud, usage: object, price: Price) {
  answer = answerOf(usage);
  const rig = await startRig(
    tableOf([
      {
        baseUrl,
        upstreamModel: 'example',
        dialects: [dialect],
        keys: { main: 'key-of-the-account-0123456789' },
        price,
        providerEntry: { type, dialects: [dialect], auth },
      },
    ]),
  );
  try {
    expect((await ask(rig)).status).toBe(200);
    expect(rig.records).toHaveLength(1);
    return rig.records[0]?.costPicodollars;
  } finally {
    await rig.close();
  }
}

/** In picodollars a token: dollars a million tokens, times a million. */
const claude: Price = {
  source: 'target',
  input: 3_000_000,
  cachedInput: 300_000,
  cacheWrite: 3_750_000,
  cacheWriteHour: 6_000_000,
  output: 15_000_000,
};
/** A tenth more. */
const regional: Price = {
  source: 'target',
  input: 3_300_000,
  cachedInput: 330_000,
  cacheWrite: 4_125_000,
  cacheWriteHour: 6_600_000,
  output: 16_500_000,
};
const tiered: Price = {
  ...claude,
  tiers: [
    {
      aboveInputTokens: 200_000,
      input: 6_000_000,
      cachedInput: 600_000,
      cacheWrite: 7_500_000,
      cacheWriteHour: 12_000_000,
      output: 22_500_000,
    },
  ],
};

const converse: Cloud = {
  type: 'Bedrock',
  dialect: 'bedrock-converse',
  auth: { header: 'Authorization', prefix: 'Bearer ' },
  answerOf: (usage) => ({
    output: { message: { role: 'assistant', content: [{ text: 'All is well.' }] } },
    stopReason: 'end_turn',
    usage,
    metrics: { latencyMs: 1 },
  }),
};

test.each<[string, Price, object, number]>([
  ['input and output', claude, { inputTokens: 1_000, outputTokens: 200, totalTokens: 1_200 }, 6_000_000_000],
  [
    'the same in a region',
    regional,
    { inputTokens: 1_000, outputTokens: 200, totalTokens: 1_200 },
    6_600_000_000,
  ],
  [
    'a read of the cache',
    claude,
    { inputTokens: 200, cacheReadInputTokens: 800, outputTokens: 10, totalTokens: 1_010 },
    990_000_000,
  ],
  [
    'a write for five minutes',
    claude,
    { inputTokens: 200, cacheWriteInputTokens: 800, outputTokens: 10, totalTokens: 1_010 },
    3_750_000_000,
  ],
  [
    'a write for an hour',
    claude,
    {
      inputTokens: 200,
      cacheWriteInputTokens: 800,
      cacheDetails: [{ ttl: '1h', inputTokens: 800 }],
      outputTokens: 10,
      totalTokens: 1_010,
    },
    5_550_000_000,
  ],
  [
    'writes of both kinds and a read',
    claude,
    {
      inputTokens: 100,
      cacheReadInputTokens: 400,
      cacheWriteInputTokens: 500,
      cacheDetails: [
        { ttl: '5m', inputTokens: 300 },
        { ttl: '1h', inputTokens: 200 },
      ],
      outputTokens: 10,
      totalTokens: 1_010,
    },
    2_895_000_000,
  ],
  [
    'a write for an hour in a region',
    regional,
    {
      inputTokens: 200,
      cacheWriteInputTokens: 800,
      cacheDetails: [{ ttl: '1h', inputTokens: 800 }],
      outputTokens: 10,
      totalTokens: 1_010,
    },
    6_105_000_000,
  ],
  [
    'the longest of the lower tier, with what was cached',
    tiered,
    { inputTokens: 50_000, cacheReadInputTokens: 150_000, outputTokens: 1, totalTokens: 200_001 },
    195_015_000_000,
  ],
  [
    'the shortest of the higher tier',
    tiered,
    { inputTokens: 50_001, cacheReadInputTokens: 150_000, outputTokens: 1, totalTokens: 200_002 },
    390_028_500_000,
  ],
  ['a single token of input', claude, { inputTokens: 1, outputTokens: 7, totalTokens: 8 }, 108_000_000],
])('Bedrock bills %s', async (_, price, usage, cost) => {
  expect(await costAt(converse, usage, price)).toBe(cost);
});

const foundry: Cloud = {
  type: 'AzureOpenAI',
  dialect: 'anthropic-messages',
  auth: { header: 'x-api-key', prefix: '' },
  answerOf: (usage) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'example',
    content: [{ type: 'text', text: 'All is well.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  }),
};
const vertex: Cloud = { ...foundry, type: 'VertexAI', auth: { header: 'x-goog-api-key', prefix: '' } };

test.each<[string, Price, object, number]>([
  ['input and output', claude, { input_tokens: 1_000, output_tokens: 200 }, 6_000_000_000],
  ['the same in a region', regional, { input_tokens: 1_000, output_tokens: 200 }, 6_600_000_000],
  [
    'a read of the cache',
    claude,
    { input_tokens: 200, cache_read_input_tokens: 800, output_tokens: 10 },
    990_000_000,
  ],
  [
    'a write for five minutes',
    claude,
    { input_tokens: 200, cache_creation_input_tokens: 800, output_tokens: 10 },
    3_750_000_000,
  ],
  [
    'a write for an hour',
    claude,
    {
      input_tokens: 200,
      cache_creation_input_tokens: 800,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 800 },
      output_tokens: 10,
    },
    5_550_000_000,
  ],
  [
    'writes of both kinds and a read',
    claude,
    {
      input_tokens: 100,
      cache_read_input_tokens: 400,
      cache_creation_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 },
      output_tokens: 10,
    },
    2_895_000_000,
  ],
  [
    'a write for an hour in a region',
    regional,
    {
      input_tokens: 200,
      cache_creation_input_tokens: 800,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 800 },
      output_tokens: 10,
    },
    6_105_000_000,
  ],
  [
    'the longest of the lower tier, with what was cached',
    tiered,
    { input_tokens: 50_000, cache_read_input_tokens: 150_000, output_tokens: 1 },
    195_015_000_000,
  ],
  [
    'the shortest of the higher tier',
    tiered,
    { input_tokens: 50_001, cache_read_input_tokens: 150_000, output_tokens: 1 },
    390_028_500_000,
  ],
  ['a single token of input', claude, { input_tokens: 1, output_tokens: 7 }, 108_000_000],
])('Vertex AI and Foundry bill %s of Claude', async (_, price, usage, cost) => {
  for (const cloud of [vertex, foundry]) expect(await costAt(cloud, usage, price)).toBe(cost);
});

describe('Azure bills', () => {
  const azure: Cloud = {
    type: 'AzureOpenAI',
    dialect: 'openai-chat',
    auth: { header: 'api-key', prefix: '' },
    answerOf: (usage) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'example',
      choices: [{ index: 0, message: { role: 'assistant', content: 'All is well.' }, finish_reason: 'stop' }],
      usage,
    }),
  };
  const gpt: Price = { source: 'target', input: 1_250_000, cachedInput: 125_000, output: 10_000_000 };
  const zone: Price = { source: 'target', input: 1_375_000, cachedInput: 137_500, output: 11_000_000 };
  const long: Price = {
    ...gpt,
    tiers: [{ aboveInputTokens: 271_999, input: 2_500_000, cachedInput: 250_000, output: 15_000_000 }],
  };
  const free: Price = { source: 'target', input: 0, output: 0 };
  const usage = (prompt: number, completion: number, cached = 0, reasoning = 0): object => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  });

  test.each<[string, Price, object, number]>([
    ['input and output', gpt, usage(1_000, 200), 3_250_000_000],
    ['the same in a data zone', zone, usage(1_000, 200), 3_575_000_000],
    ['a read of the cache', gpt, usage(1_000, 10, 800), 450_000_000],
    ['a read of the cache in a data zone', zone, usage(1_000, 10, 800), 495_000_000],
    ['reasoning as output', gpt, usage(1_000, 200, 0, 150), 3_250_000_000],
    [
      'reasoning at a separate price',
      { ...gpt, reasoning: 20_000_000 },
      usage(1_000, 200, 0, 150),
      4_750_000_000,
    ],
    ['an answer that was cut off after its first token', gpt, usage(400, 1), 510_000_000],
    ['the longest of the lower tier', long, usage(271_999, 1), 340_008_750_000],
    ['the shortest of the higher tier', long, usage(272_000, 1, 72_000), 518_015_000_000],
    ['nothing for capacity that is paid by the hour', free, usage(1_000, 200), 0],
  ])('%s', async (_, price, counted, cost) => {
    expect(await costAt(azure, counted, price)).toBe(cost);
  });
});
