// Do catalog and plan say what the gateway said?

import { describe, expect, test } from 'vitest';
import { modelsOf, verdictWords } from '../../../dashboard/pages/models/catalog.ts';
import { limitLines, parseBody, usdOf } from '../../../dashboard/pages/models/plan.ts';
import { openFormats } from '../../../dashboard/pages/words/format.ts';

test('prices are per million tokens, and unknown ones stay unknown', () => {
  const base = {
    owned_by: 'openai',
    own: false,
    dialects: { chat: { verdict: 'native' as const, lostFields: [] } },
  };
  const [known, unknown] = modelsOf({
    models: [
      { ...base, id: 'a', pricing: { prompt: '0.0000025', completion: '0.00001' }, context_length: 1000 },
      { ...base, id: 'b', display_name: 'B', pricing: null, context_length: null },
    ],
  });
  expect(known).toMatchObject({
    displayName: 'a',
    price: { input: '2.5', output: '10', cached: undefined, request: undefined, tiersAbove: undefined },
    contextTokens: 1000,
  });
  expect(unknown).toMatchObject({ displayName: 'B', price: undefined, contextTokens: undefined });
  expect(known?.dialects).toEqual([{ name: 'chat', verdict: 'native', lostFields: [] }]);
});

test('a dialect that cannot be served is not a fault', () => {
  expect(verdictWords('impossible')).toEqual({ word: 'not possible', tone: 'off' });
  expect(verdictWords('lossy').tone).toBe('warn');
});

test('each limit has a line', () => {
  const lines = limitLines(
    {
      rates: [{ of: 'apiKey', name: 'tokens', perMinute: 1000, remaining: -3.5 }],
      concurrency: [{ of: 'model', limit: 8, underWay: 1 }],
      budgets: [{ of: 'namespace', period: 'Month', limitUsd: '100', remainingUsd: '58.743' }],
    },
    openFormats('en-US'),
  );
  expect(lines.map(({ what, left }) => `${what}: ${left}`)).toEqual([
    'Tokens per minute of the key: 0 of 1,000 left',
    'Concurrent requests of the model: 1 of 8 in flight',
    'Budget of the namespace (month): $58.74 of $100.00 left',
  ]);
});

test('picodollars become dollars', () => {
  expect(usdOf(30_000_000)).toBe('0.000030000000');
});

describe('the body of a test request', () => {
  test('is a JSON object, or nothing', () => {
    expect(parseBody(' ')).toBeUndefined();
    expect(parseBody('{"a":1}')).toEqual({ a: 1 });
  });

  test.each(['[]', '1', 'null', '{', 'text'])('%s is refused in words', (text) => {
    expect(() => parseBody(text)).toThrow(/JSON/);
  });
});
