// An upstream cannot write outside its own answer (T20); a hundred times as many streams run in test/e2e/security.e2e.ts.

import { describe, expect, test } from 'vitest';
import { mergeCounters, usageOf } from '../../gateway/dialects/anthropic-messages/convert-usage.ts';
import { laterUsage, readOpenAiUsage } from '../../gateway/dialects/openai/convert-usage.ts';
import { runHostileStreams } from './hostile-streams.ts';

test('whatever an upstream streams, only whole events of its dialect go on, and what is counted can be billed', () => {
  const { relayed, refused, broken } = runHostileStreams(2_500, 20_261_122);
  expect(broken).toEqual([]);
  expect([relayed, refused].every((count) => count > 1_000)).toBe(true);
});

describe('counts of tokens', () => {
  test.each([1_000_000_001, 2 ** 53 - 1, 2 ** 53, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'of %d are not believed',
    (count) => {
      expect(readOpenAiUsage({ prompt_tokens: count, completion_tokens: count })).toBeUndefined();
      expect(usageOf(mergeCounters({}, { input_tokens: count, output_tokens: count }))).toBeUndefined();
    },
  );

  test('of what was put out never become less', () => {
    const counters = [{ output_tokens: 9 }, { output_tokens: 4 }].reduce(mergeCounters, {});
    expect(usageOf(counters)?.output).toBe(9);
    const usage = (output: number) => readOpenAiUsage({ prompt_tokens: 1, completion_tokens: output });
    const [first, second] = [usage(9), usage(4)];
    expect(first && second && laterUsage(first, second).output).toBe(9);
  });
});
