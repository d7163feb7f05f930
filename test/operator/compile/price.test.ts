// Is a price counted exactly? Decimal dollars in, whole picodollars out.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compilePrice, scaled } from '../../../operator/compile/price.ts';

test.each([
  ['2.50', 2_500_000],
  ['0.000001', 1],
  ['0', 0],
  ['10', 10_000_000],
  ['999999.999999', 999_999_999_999],
])('%s dollars per million are %i picodollars per token', (amount, expected) => {
  expect(scaled(amount, 6)).toBe(expected);
});

test.each(['0.0000001', '1e3', '', '-1', 'x', '99999999999'])(
  '"%s" cannot be counted exactly, and is not rounded',
  (amount) => {
    expect(() => scaled(amount, 6)).toThrow(/cannot be counted exactly/);
  },
);

test('any amount that the schema accepts is kept exactly', () => {
  fc.assert(
    fc.property(fc.nat(999_999), fc.nat(999_999), (whole, micros) => {
      const amount = `${whole}.${String(micros).padStart(6, '0')}`;
      return BigInt(scaled(amount, 6)) === BigInt(whole) * 1_000_000n + BigInt(micros);
    }),
  );
});

test('a tier is written completely: missing rates come from the tier before', () => {
  const price = compilePrice(
    {
      currency: 'USD',
      inputPerMillion: '1',
      cachedInputPerMillion: '0.5',
      outputPerMillion: '2',
      tiers: [
        { aboveInputTokens: 200, inputPerMillion: '4' },
        { aboveInputTokens: 100, outputPerMillion: '3' },
      ],
    },
    'route',
  );
  expect(price.tiers).toEqual([
    { aboveInputTokens: 100, input: 1_000_000, cachedInput: 500_000, output: 3_000_000 },
    { aboveInputTokens: 200, input: 4_000_000, cachedInput: 500_000, output: 2_000_000 },
  ]);
});

test('a price per request alone makes tokens free', () => {
  const price = compilePrice({ currency: 'USD', perRequest: '0.01' }, 'target');
  expect(price).toEqual({ input: 0, output: 0, perRequest: 10_000_000_000, source: 'target' });
});
