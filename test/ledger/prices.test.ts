// Is money written exactly, and is a period rated again by the rules by which it was rated first?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../core/contract/ledger-record.ts';
import { picodollarsOf, picodollarsPerToken, usdOf } from '../../ledger/money.ts';
import { readPrices } from '../../ledger/prices/read-prices.ts';
import { costAt } from '../../ledger/prices/rerate.ts';
import { compilePrice } from '../../operator/compile/price.ts';
import { pricingSchema } from '../../operator/resources/pricing.ts';
import { makeRecord } from '../gateway/meter/make-facts.ts';

test.each([
  [0n, '0'],
  [1n, '0.000000000001'],
  [1_000_000_000_000n, '1'],
  [-3_420_000_000n, '-0.00342'],
  [9_223_372_036_854_775_807_000_000_000_001n, '9223372036854775807.000000000001'],
])('%s picodollars are %s dollars', (picodollars, usd) => {
  expect(usdOf(picodollars)).toBe(usd);
});

test('a text in dollars is read back unchanged', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 9_999_999n * 10n ** 12n }), (picodollars) => {
      expect(picodollarsOf(usdOf(picodollars))).toBe(picodollars);
    }),
  );
  expect(picodollarsPerToken('0.0125')).toBe(12_500n);
  for (const odd of ['', '-1', '1.', '.5', '1e3', '0.1234567', ' 1'])
    expect(picodollarsPerToken(odd), odd).toBeUndefined();
});

describe('other prices', () => {
  test('give each attempt the cost that the gateway would have written at those prices', () => {
    const count = fc.nat({ max: 2_000_000 });
    const usages: fc.Arbitrary<Usage> = fc.record({
      input: count,
      cachedInput: count,
      cacheWrite: count,
      cacheWriteHour: count,
      output: count,
      reasoning: count,
    });
    const amount = fc.nat({ max: 99_999_999 }).map((units) => {
      const [whole, fraction] = usdOf(BigInt(units) * 1_000_000n).split('.');
      return fraction === undefined ? `${whole}` : `${whole}.${fraction}`;
    });
    const rates = {
      cachedInputPerMillion: amount,
      cacheWritePerMillion: amount,
      cacheWriteHourPerMillion: amount,
      reasoningPerMillion: amount,
    };
    const both = { inputPerMillion: amount, outputPerMillion: amount };
    const tier = fc.record(
      { aboveInputTokens: fc.integer({ min: 1, max: 2_000_000 }), ...rates, ...both },
      { requiredKeys: ['aboveInputTokens', 'inputPerMillion', 'outputPerMillion'] },
    );
    const pricings = fc.record(
      {
        ...rates,
        ...both,
        perRequest: amount,
        tiers: fc.uniqueArray(tier, { maxLength: 3, selector: ({ aboveInputTokens }) => aboveInputTokens }),
      },
      { requiredKeys: ['inputPerMillion', 'outputPerMillion'] },
    );
    // Without a price of tokens they are free.
    const fees = fc.record(
      { ...rates, perRequest: amount, tiers: fc.array(tier, { maxLength: 1 }) },
      { requiredKeys: ['perRequest'] },
    );
    const outcomes = fc.constantFrom('answered', 'failed', 'broken-off', 'cancelled');
    fc.assert(
      fc.property(
        usages,
        fc.oneof({ weight: 3, arbitrary: pricings }, fees),
        outcomes,
        fc.boolean(),
        fc.nat(2),
        fc.option(fc.nat(99), { nil: undefined }),
        fc.boolean(),
        (usage, pricing, outcome, isPlatform, call, firstContentMs, isStream) => {
          const price = compilePrice(pricingSchema.parse(pricing), 'target');
          // Waste of the platform, and calls with an own provider, by the gateway's own hand.
          const record = makeRecord({
            usage,
            outcome,
            call,
            firstContentMs,
            isStream,
            entry: { price },
            provider: isPlatform ? {} : { id: 'team/own', isPlatform },
          });
          const other = readPrices(JSON.stringify({ m: pricing })).get('m');
          if (other === undefined) throw new Error('the model has prices');
          if (record.costPicodollars !== null)
            expect(costAt(other, record)).toBe(BigInt(record.costPicodollars));
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    ['{', /are not JSON/],
    ['[]', /the prices are not valid/],
    ['{"m": {"inputPerMillion": "1"}}', /m: inputPerMillion and outputPerMillion belong together/],
    ['{"m": {"outputPerMillion": "1", "perRequest": "1"}}', /m: inputPerMillion and .* belong together/],
    [
      '{"m": {"cachedInputPerMillion": "1"}}',
      /m: a price needs an amount: set inputPerMillion and outputPerMillion, or perRequest/,
    ],
    ['{"m": {"inputPerMillion": 1, "outputPerMillion": "1"}}', /m\.inputPerMillion: must be dollars/],
    ['{"m": {"inputPerMillion": "1", "outputPerMillion": "1", "audio": "1"}}', /m: .*audio/],
  ])('that are written as %s are refused with the reason', (text, words) => {
    expect(() => readPrices(text)).toThrow(words);
  });
});
