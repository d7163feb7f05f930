// An upstream cannot write outside its own answer (T20); a hundred times as many streams run in test/e2e/security.e2e.ts.

import { describe, expect, test } from 'vitest';
import { mergeCounters, usageOf } from '../../gateway/dialects/anthropic-messages/convert-usage.ts';
import { laterUsage, readOpenAiUsage } from '../../gateway/dialects/openai/convert-usage.ts';
import { findDialect } from '../../gateway/dialects/registry.ts';
import { streamFacts } from '../gateway/dialects/pass-through/stream-facts.ts';
import { startCpuTimer } from '../support/cpu-timer.ts';
import { runHostileStreams } from './hostile-streams.ts';

test('for any stream of an upstream, only whole events of its dialect are forwarded, and its counts can be billed', () => {
  const { relayed, refused, broken } = runHostileStreams(2_500, 20_261_122);
  expect(broken).toEqual([]);
  expect([relayed, refused].every((count) => count > 1_000)).toBe(true);
});

test('an event that comes byte by byte costs its bytes once, not all that came before them again', () => {
  const stream = findDialect('openai-chat').same.relayStream(streamFacts);
  const head = 'data: {"choices":[{"index":0,"delta":{"content":"';
  const [begun, byByte, end] = ['x'.repeat(900_000), 40_000, '"}}]}'];
  stream.push(Buffer.from(head + begun));
  const workedMs = startCpuTimer();
  for (let count = 0; count < byByte; count++) stream.push(Buffer.from('x'));
  // Each of them once: a tenth of a second. All of them each time: 20 s.
  expect(workedMs()).toBeLessThan(5_000);
  expect(stream.push(Buffer.from(`${end}\n`))).toBeUndefined();
  expect(stream.push(Buffer.from('\n'))?.toString()).toBe(`${head}${begun}${'x'.repeat(byByte)}${end}\n\n`);
  expect(stream.facts.fault).toBeUndefined();
});

describe('counts of tokens', () => {
  test.each([1_000_000_001, 2 ** 53 - 1, 2 ** 53, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'of %d are not believed',
    (count) => {
      expect(readOpenAiUsage({ prompt_tokens: count, completion_tokens: count })).toBeUndefined();
      expect(usageOf(mergeCounters({}, { input_tokens: count, output_tokens: count }))).toBeUndefined();
    },
  );

  test('of output never decrease', () => {
    const counters = [{ output_tokens: 9 }, { output_tokens: 4 }].reduce(mergeCounters, {});
    expect(usageOf(counters)?.output).toBe(9);
    const usage = (output: number) => readOpenAiUsage({ prompt_tokens: 1, completion_tokens: output });
    const [first, second] = [usage(9), usage(4)];
    expect(first && second && laterUsage(first, second).output).toBe(9);
  });
});
