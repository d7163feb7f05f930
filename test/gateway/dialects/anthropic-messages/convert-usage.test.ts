// How many tokens does a message say were used? Its input counter leaves out what ours has in.

import { describe, expect, test } from 'vitest';
import {
  mergeCounters,
  mergeFinalCounters,
  usageOf,
} from '../../../../gateway/dialects/anthropic-messages/convert-usage.ts';

const read = (...reported: unknown[]) => usageOf(reported.reduce(mergeCounters, {}));

describe('input', () => {
  test('is the sum of uncached, cache-read and cache-written tokens', () => {
    const reported = {
      input_tokens: 10,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 3,
      output_tokens: 2,
    };
    expect(read(reported)).toEqual({ input: 18, cachedInput: 5, cacheWrite: 3, output: 2, reasoning: 0 });
  });

  test('has cache writes for an hour apart, by the latest value, and never more than all writes', () => {
    const lifetimes = { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 };
    const begun = {
      input_tokens: 1,
      cache_creation_input_tokens: 7,
      cache_creation: lifetimes,
      output_tokens: 1,
    };
    expect(read(begun)).toMatchObject({ cacheWrite: 7, cacheWriteHour: 4 });
    expect(read(begun, { output_tokens: 9 })).toMatchObject({ cacheWrite: 7, cacheWriteHour: 4, output: 9 });
    const later = { cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 2 } };
    expect(read(begun, later)).toMatchObject({ cacheWrite: 7, cacheWriteHour: 2 });
    expect(read(begun, { cache_creation_input_tokens: 1 })).toMatchObject({
      cacheWrite: 1,
      cacheWriteHour: 1,
    });
    const none = { cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 0 } };
    expect(read(begun, none)).not.toHaveProperty('cacheWriteHour');
  });

  test('has cache writes for five minutes and for an hour in one count', () => {
    const lifetimes = { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 };
    expect(read({ input_tokens: 10, cache_creation: lifetimes, output_tokens: 2 })).toMatchObject({
      input: 17,
      cacheWrite: 7,
    });
    // Reported in both ways it is not counted twice.
    const both = { cache_creation_input_tokens: 7, cache_creation: lifetimes };
    expect(read({ input_tokens: 10, ...both, output_tokens: 2 })).toMatchObject({ input: 17, cacheWrite: 7 });
  });
});

test('output tokens never decrease', () => {
  expect(read({ input_tokens: 1, output_tokens: 9 }, { output_tokens: 4 })).toMatchObject({ output: 9 });
});

test('a final count of 0 corrects the estimate at the start, and never an earlier final count', () => {
  const begun = mergeCounters({}, { input_tokens: 1, output_tokens: 1 });
  const none = mergeFinalCounters(begun, { output_tokens: 0 });
  expect(usageOf(none)).toMatchObject({ input: 1, output: 0 });
  const reported = mergeFinalCounters(none, { output_tokens: 9 });
  expect(usageOf(mergeFinalCounters(reported, { output_tokens: 0 }))).toMatchObject({ output: 9 });
});

test.each([[-1], [1.5], [1e300], ['7'], [[7]], [{}], [true]])('%j tokens are no usage at all', (count) => {
  expect(read({ input_tokens: 10, output_tokens: 1 }, { output_tokens: count })).toBeUndefined();
  expect(read({ input_tokens: count, output_tokens: 1 })).toBeUndefined();
});

describe('usage of a compaction by the upstream', () => {
  // It tells it beside its other counts, and bills it like them.
  const compacted = {
    input_tokens: 23_000,
    output_tokens: 1_000,
    iterations: [
      {
        type: 'compaction',
        input_tokens: 100,
        cache_read_input_tokens: 180_000,
        cache_creation_input_tokens: 20,
        cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 15 },
        output_tokens: 3_500,
      },
      { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
    ],
  };
  const whole = {
    input: 203_120,
    cachedInput: 180_000,
    cacheWrite: 20,
    cacheWriteHour: 15,
    output: 4_500,
    reasoning: 0,
  };

  test('is added, and the usage of the message itself is counted once', () => {
    expect(read(compacted)).toEqual(whole);
  });

  test('is counted once, however many events report it', () => {
    expect(read({ input_tokens: 1, output_tokens: 1 }, compacted, compacted)).toEqual(whole);
    expect(read(compacted, { output_tokens: 1_000, iterations: null })).toEqual(whole);
  });

  test.each([[null], [{}], [['x', null, { type: 'compaction' }]]])('%j is ignored', (iterations) => {
    expect(read({ input_tokens: 10, output_tokens: 2, iterations })).toMatchObject({ input: 10, output: 2 });
  });
});

describe('usage of other models called in between', () => {
  const advice = {
    type: 'advisor_message',
    model: 'claude-opus-4-7',
    input_tokens: 8_230,
    cache_read_input_tokens: 70,
    output_tokens: 1_612,
  };
  const reported = (...iterations: object[]) => ({ input_tokens: 412, output_tokens: 531, iterations });
  const message = { type: 'message', model: 'claude-sonnet-4-6', input_tokens: 412, output_tokens: 531 };
  const alone = { input: 412, output: 531 };

  test('is added for each call', () => {
    const half = { ...message, output_tokens: 265 };
    expect(read(reported(half, advice, half, advice))).toEqual({
      input: 412 + 2 * 8_300,
      cachedInput: 140,
      cacheWrite: 0,
      output: 531 + 2 * 1_612,
      reasoning: 0,
    });
  });

  test('is added for kinds that this version does not know', () => {
    const other = { type: 'critic_message', input_tokens: 5, output_tokens: 6 };
    expect(read(reported(message, other))).toMatchObject({ input: 417, output: 537 });
  });

  test.each([
    ['nothing of the message itself, of however many turns', [message, message]],
    ['nothing of the model that answered instead', [{ ...message, type: 'fallback_message' }]],
    ['nothing of what is of no kind', [{ input_tokens: 5, output_tokens: 6 }]],
  ])('%s is in there twice', (_, iterations) => {
    expect(read(reported(...iterations))).toMatchObject(alone);
  });

  describe('of a model that declined', () => {
    // The totals are those of the model whose answer is given.
    const declined = { type: 'message', model: 'claude-fable-5', input_tokens: 400, output_tokens: 90 };
    const served = { ...message, type: 'fallback_message' };

    test('is added if the model had begun to answer', () => {
      expect(read(reported(declined, message, served))).toMatchObject({ input: 812, output: 621 });
      expect(read(reported(declined, message))).toMatchObject({ input: 812, output: 621 });
    });

    test('is not added if the model had not begun: it is not billed', () => {
      expect(read(reported({ ...declined, output_tokens: 0 }, served))).toMatchObject(alone);
    });

    test('is not added if the model is not named', () => {
      expect(read(reported({ ...declined, model: null }, served))).toMatchObject(alone);
      expect(read(reported(declined, { ...served, model: undefined }))).toMatchObject(alone);
    });
  });
});
