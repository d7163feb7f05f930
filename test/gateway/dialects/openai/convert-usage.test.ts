// How many tokens does an upstream say were used? Money is counted by it, so only clear numbers are believed.

import { describe, expect, test } from 'vitest';
import { costPicodollars } from '../../../../core/contract/cost.ts';
import { usageSchema } from '../../../../core/contract/ledger-record.ts';
import { encodeMessagesUsage } from '../../../../gateway/dialects/anthropic-messages/convert-usage.ts';
import {
  addUsage,
  encodeOpenAiUsage,
  readOpenAiUsage,
} from '../../../../gateway/dialects/openai/convert-usage.ts';
import { decodeResponsesUsage } from '../../../../gateway/dialects/openai-responses/convert-usage.ts';

const usage = (input: number, output: number, more = {}) => ({
  input,
  cachedInput: 0,
  cacheWrite: 0,
  output,
  reasoning: 0,
  ...more,
});

const reportedTwice = { prompt_tokens: 10_032, completion_tokens: 1, total_tokens: 10_033 };

describe('reading', () => {
  test.each([
    ['the three counts', { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }, usage(7, 3)],
    ['zeros', { prompt_tokens: 0, completion_tokens: 0 }, usage(0, 0)],
    ['only the completion', { completion_tokens: 3 }, usage(0, 3)],
    ['the prompt and the total', { prompt_tokens: 7, total_tokens: 10 }, usage(7, 3, { reasoning: 0 })],
    ['the completion and the total', { completion_tokens: 3, total_tokens: 10 }, usage(7, 3)],
    [
      'all details',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20, audio_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 40, audio_tokens: 5, rejected_prediction_tokens: 3 },
      },
      usage(100, 50, { cachedInput: 30, cacheWrite: 20, reasoning: 40, audioInput: 1, audioOutput: 5 }),
    ],
    [
      'null details',
      {
        prompt_tokens: 7,
        completion_tokens: 3,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
      usage(7, 3),
    ],
    [
      'reasoning that only the total holds',
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 215 },
      usage(10, 205, { reasoning: 200 }),
    ],
    [
      'reasoning beside the completion, named in the details',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 215,
        completion_tokens_details: { reasoning_tokens: 200 },
      },
      usage(10, 205, { reasoning: 200 }),
    ],
    ['a total that is too small', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 3 }, usage(10, 5)],
    [
      'more cached than there was',
      { prompt_tokens: 10, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 99 } },
      usage(10, 0, { cachedInput: 10 }),
    ],
    [
      'more written to the cache than is left',
      {
        prompt_tokens: 10,
        completion_tokens: 0,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 99 },
      },
      usage(10, 0, { cachedInput: 4, cacheWrite: 6 }),
    ],
    [
      'more reasoning than completion, and no total: it is beside the completion',
      { prompt_tokens: 1, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 99 } },
      usage(1, 104, { reasoning: 99 }),
    ],
    [
      'as much reasoning as completion, and no total: it is in the completion',
      { prompt_tokens: 1, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 5 } },
      usage(1, 5, { reasoning: 5 }),
    ],
    [
      'more reasoning than the total has room for',
      {
        prompt_tokens: 1,
        completion_tokens: 5,
        total_tokens: 6,
        completion_tokens_details: { reasoning_tokens: 99 },
      },
      usage(1, 5, { reasoning: 5 }),
    ],
    ['a count that is null beside one', { prompt_tokens: null, completion_tokens: 3 }, usage(0, 3)],
    [
      'more sound than there was',
      {
        prompt_tokens: 1,
        completion_tokens: 2,
        prompt_tokens_details: { audio_tokens: 9 },
        completion_tokens_details: { audio_tokens: 1.5 },
      },
      usage(1, 2, { audioInput: 1 }),
    ],
    ['counts in quotes', { prompt_tokens: '7', completion_tokens: '3' }, usage(7, 3)],
    [
      "DeepSeek's name of what was cached",
      { prompt_tokens: 7, completion_tokens: 3, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 3 },
      usage(7, 3, { cachedInput: 4 }),
    ],
    [
      'both names of what was cached',
      {
        prompt_tokens: 7,
        completion_tokens: 3,
        prompt_cache_hit_tokens: 4,
        prompt_tokens_details: { cached_tokens: 2 },
      },
      usage(7, 3, { cachedInput: 2 }),
    ],
    [
      'what was cached beside the counts, as Moonshot tells it',
      { prompt_tokens: 7, completion_tokens: 3, cached_tokens: 4 },
      usage(7, 3, { cachedInput: 4 }),
    ],
    [
      'cache writes under two names at once, as LiteLLM tells them: one count',
      {
        ...reportedTwice,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 10_017 },
        cache_creation_input_tokens: 10_017,
        cache_read_input_tokens: 0,
      },
      usage(10_032, 1, { cacheWrite: 10_017 }),
    ],
    [
      'cache writes and reads beside the counts alone, as Databricks tells them',
      { ...reportedTwice, cache_creation_input_tokens: 10_000, cache_read_input_tokens: 17 },
      usage(10_032, 1, { cachedInput: 17, cacheWrite: 10_000 }),
    ],
    [
      'cache writes in the details by the name of Alibaba',
      {
        ...reportedTwice,
        prompt_tokens_details: {
          cache_creation: { ephemeral_5m_input_tokens: 10_017 },
          cache_creation_input_tokens: 10_017,
          cache_type: 'ephemeral',
          cached_tokens: 0,
        },
      },
      usage(10_032, 1, { cacheWrite: 10_017 }),
    ],
    [
      'cache writes in the details by the name of new-api',
      { ...reportedTwice, prompt_tokens_details: { cached_tokens: 2, cached_creation_tokens: 30 } },
      usage(10_032, 1, { cachedInput: 2, cacheWrite: 30 }),
    ],
    [
      'writes for an hour, as LiteLLM tells them',
      {
        ...reportedTwice,
        prompt_tokens_details: {
          cache_creation_tokens: 30,
          cache_creation_token_details: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        },
      },
      usage(10_032, 1, { cacheWrite: 30, cacheWriteHour: 20 }),
    ],
    [
      'more writes for an hour than writes',
      {
        ...reportedTwice,
        prompt_tokens_details: {
          cache_creation_input_tokens: 30,
          cache_creation: { ephemeral_1h_input_tokens: 99 },
        },
      },
      usage(10_032, 1, { cacheWrite: 30, cacheWriteHour: 30 }),
    ],
    [
      'more reads and writes together than the prompt has',
      { ...reportedTwice, cache_creation_input_tokens: 10_032, cache_read_input_tokens: 32 },
      usage(10_032, 1, { cachedInput: 32, cacheWrite: 10_000 }),
    ],
    [
      'a zero under one name, and a count under another',
      {
        ...reportedTwice,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        cache_creation_input_tokens: 5,
        cache_read_input_tokens: 6,
      },
      usage(10_032, 1, { cachedInput: 6, cacheWrite: 5 }),
    ],
    [
      'names of cache writes with what is no count',
      {
        ...reportedTwice,
        prompt_tokens_details: { cache_creation_tokens: -1, cache_creation: 'many' },
        cache_creation_input_tokens: '7',
        x_details: [],
      },
      usage(10_032, 1, { cacheWrite: 7 }),
    ],
    ['unknown members', { prompt_tokens: 7, completion_tokens: 3, cost: 'x' }, usage(7, 3)],
  ])('%s', (_, value, wanted) => {
    const read = readOpenAiUsage(value);
    expect(read).toEqual(wanted);
    expect(usageSchema.safeParse(read).success).toBe(true);
  });

  test.each([
    [undefined],
    [null],
    [7],
    ['7'],
    [[]],
    [{}],
    [{ total_tokens: 10 }],
    [{ prompt_tokens: 7 }],
    [{ prompt_tokens: 7, completion_tokens: null }],
    [{ prompt_tokens: '7.5', completion_tokens: '-3' }],
    [{ prompt_tokens: '', completion_tokens: '1e3' }],
    [{ prompt_tokens: 1.5, completion_tokens: -3 }],
    [{ prompt_tokens: 1e300, completion_tokens: 2 ** 53 }],
    [{ prompt_tokens: -1, completion_tokens: 3 }],
    [{ prompt_tokens: 7, completion_tokens: 1e300, total_tokens: 10 }],
    [{ prompt_tokens: 7, completion_tokens: 'many' }],
    [{ prompt_tokens: Number.NaN, completion_tokens: null }],
  ])('%j holds no counts', (value) => {
    expect(readOpenAiUsage(value)).toBeUndefined();
  });
});

test.each([
  ['its own name', { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 10_017 } }],
  ['the name of LiteLLM', { input_tokens_details: { cache_creation_tokens: 10_017 } }],
  [
    'the entry of Alibaba',
    {
      input_tokens_details: { cached_tokens: 0 },
      x_details: [{ prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 10_017 } }],
    },
  ],
])('responses read cache writes under %s', (_, more) => {
  const reported = { input_tokens: 10_032, output_tokens: 1, total_tokens: 10_033, ...more };
  expect(decodeResponsesUsage(reported)).toEqual(usage(10_032, 1, { cacheWrite: 10_017 }));
});

test('cache writes that are reported twice are billed once, and shown to messages clients', () => {
  const read = readOpenAiUsage({
    ...reportedTwice,
    prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 10_017 },
    cache_creation_input_tokens: 10_017,
    cache_read_input_tokens: 0,
  });
  const perMillion = { input: 3e6, cachedInput: 0.3e6, cacheWrite: 3.75e6, output: 15e6 };
  expect(read && costPicodollars(read, { ...perMillion, source: 'target' })).toBe(37_623.75e6);
  expect(encodeMessagesUsage(read, 0, 0)).toEqual({
    input_tokens: 15,
    cache_creation_input_tokens: 10_017,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  });
});

test('writing and reading again gives the same counts', () => {
  for (const counts of [
    usage(7, 3),
    usage(0, 0),
    usage(100, 50, { cachedInput: 30, cacheWrite: 20, reasoning: 40 }),
    usage(100, 50, { audioInput: 60, audioOutput: 40 }),
  ]) {
    expect(readOpenAiUsage(encodeOpenAiUsage(counts))).toEqual(counts);
  }
});

test('details are written only where there are any', () => {
  expect(encodeOpenAiUsage(usage(7, 3))).toEqual({
    prompt_tokens: 7,
    completion_tokens: 3,
    total_tokens: 10,
  });
});

test('a sum adds every kind', () => {
  const one = usage(1, 2, { cachedInput: 3, cacheWrite: 4, reasoning: 5 });
  expect(addUsage(one, one)).toEqual(usage(2, 4, { cachedInput: 6, cacheWrite: 8, reasoning: 10 }));
  expect(addUsage(one, { ...one, audioOutput: 2 })).toMatchObject({ audioOutput: 2 });
});
