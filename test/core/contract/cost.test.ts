// What does an attempt cost? In integers, to the last picodollar.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costPicodollars } from '../../../core/contract/cost.ts';
import type { Usage } from '../../../core/contract/ledger-record.ts';
import type { Price } from '../../../core/contract/routing-table.ts';

const usage = (more: Partial<Usage>): Usage => ({
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
  ...more,
});
const price = (more: Partial<Price> = {}): Price => ({ input: 10, output: 100, source: 'target', ...more });

describe('a cost', () => {
  test.each<[string, Partial<Usage>, Partial<Price>, number]>([
    ['nothing used', {}, {}, 0],
    ['input and output', { input: 3, output: 2 }, {}, 230],
    ['a price for each request', { input: 1 }, { perRequest: 7 }, 17],
    ['only a price for each request', {}, { perRequest: 7 }, 7],
    ['cached tokens at their price', { input: 10, cachedInput: 4 }, { cachedInput: 1 }, 64],
    ['cached tokens that cost nothing', { input: 10, cachedInput: 4 }, { cachedInput: 0 }, 60],
    ['cached tokens without a price: as input', { input: 10, cachedInput: 4 }, {}, 100],
    ['written tokens at their price', { input: 10, cacheWrite: 4 }, { cacheWrite: 12 }, 108],
    ['written tokens without a price: as input', { input: 10, cacheWrite: 4 }, {}, 100],
    [
      'those written for an hour at their price',
      { input: 10, cacheWrite: 4, cacheWriteHour: 3 },
      { cacheWrite: 12, cacheWriteHour: 20 },
      132,
    ],
    [
      'those written for an hour without a price: as those written',
      { input: 10, cacheWrite: 4, cacheWriteHour: 3 },
      { cacheWrite: 12 },
      108,
    ],
    [
      'more written for an hour than was written',
      { input: 10, cacheWrite: 4, cacheWriteHour: 9 },
      { cacheWriteHour: 20 },
      140,
    ],
    [
      'those written for an hour in a tier that has a price of writes: as those',
      { input: 10, cacheWrite: 4, cacheWriteHour: 4 },
      { cacheWriteHour: 20, tiers: [{ aboveInputTokens: 1, cacheWrite: 12 }] },
      108,
    ],
    [
      'those written for an hour in a tier that says nothing of input',
      { input: 10, cacheWrite: 4, cacheWriteHour: 4 },
      { cacheWriteHour: 20, tiers: [{ aboveInputTokens: 1, output: 1 }] },
      140,
    ],
    [
      'cached, written and plain input',
      { input: 10, cachedInput: 4, cacheWrite: 3 },
      { cachedInput: 1, cacheWrite: 12 },
      70,
    ],
    ['reasoning at its price', { output: 10, reasoning: 4 }, { reasoning: 200 }, 1400],
    ['reasoning without a price: as output', { output: 10, reasoning: 4 }, {}, 1000],
    ['more cached than there was', { input: 3, cachedInput: 9 }, { cachedInput: 1 }, 3],
    [
      'more written than is left',
      { input: 3, cachedInput: 2, cacheWrite: 9 },
      { cachedInput: 1, cacheWrite: 5 },
      7,
    ],
    ['more reasoning than output', { output: 3, reasoning: 9 }, { reasoning: 200 }, 600],
    ['a price of nothing', { input: 1_000_000, output: 1_000_000 }, { input: 0, output: 0 }, 0],
    ['15 USD for a million tokens', { input: 1_000_000 }, { input: 15_000_000 }, 15_000_000_000_000],
  ])('of %s', (_, used, rates, wanted) => {
    expect(costPicodollars(usage(used), price(rates))).toBe(wanted);
  });

  const tiers = [
    { aboveInputTokens: 200, input: 30, output: 300 },
    { aboveInputTokens: 100, input: 20 },
  ];
  test.each<[string, Partial<Usage>, Partial<Price>, number]>([
    ['at the border: the rates below', { input: 100, output: 1 }, { tiers }, 1_100],
    ['above the border: for the whole call', { input: 101, output: 1 }, { tiers }, 2_120],
    ['above two borders: of the higher', { input: 201, output: 1 }, { tiers }, 6_330],
    ['by all input, cached too', { input: 101, cachedInput: 101, output: 1 }, { tiers }, 2_120],
    [
      'cached tokens cost what input costs there',
      { input: 101, cachedInput: 1 },
      { tiers, cachedInput: 1 },
      2_020,
    ],
    [
      'cached tokens at the price of the tier',
      { input: 101, cachedInput: 1 },
      { tiers: [{ aboveInputTokens: 100, input: 20, cachedInput: 2 }] },
      2_002,
    ],
    [
      'reasoning keeps its price where the tier leaves output alone',
      { input: 101, output: 1, reasoning: 1 },
      { tiers: [{ aboveInputTokens: 100, input: 20 }], reasoning: 7 },
      2_027,
    ],
    [
      'reasoning costs what output costs in a tier with another output price',
      { input: 201, output: 1, reasoning: 1 },
      { tiers, reasoning: 7 },
      6_330,
    ],
    ['the price for each request stays', { input: 101 }, { tiers, perRequest: 5 }, 2_025],
  ])('in tiers: %s', (_, used, rates, wanted) => {
    expect(costPicodollars(usage(used), price(rates))).toBe(wanted);
  });
});

describe('a sum that is too large for an integer', () => {
  const max = Number.MAX_SAFE_INTEGER;
  test.each<[string, Partial<Usage>, Partial<Price>]>([
    ['one product', { input: max }, { input: 2 }],
    ['one too many', { input: 1 }, { input: max, perRequest: 1 }],
    ['two halves', { input: 1, output: 1 }, { input: max, output: max }],
    ['beyond all numbers', { input: max }, { input: max }],
  ])('is refused: %s', (_, used, rates) => {
    expect(() => costPicodollars(usage(used), price(rates))).toThrow(RangeError);
  });

  test('is not reached by the largest safe integer', () => {
    expect(costPicodollars(usage({ input: 1 }), price({ input: max }))).toBe(max);
  });
});

test('any cost equals the calculation with unlimited integers, or is refused as too large', () => {
  const count = fc.oneof(fc.nat({ max: 1_000 }), fc.nat(), fc.maxSafeNat());
  const rate = fc.oneof(fc.nat({ max: 1_000 }), fc.nat(), fc.maxSafeNat());
  const optional = fc.option(rate, { nil: undefined });
  const counts = fc.record({
    input: count,
    cachedInput: count,
    cacheWrite: count,
    output: count,
    reasoning: count,
  });
  const rates = fc.record({
    input: rate,
    output: rate,
    cachedInput: optional,
    cacheWrite: optional,
    reasoning: optional,
    perRequest: optional,
  });
  const kinds = { exact: 0, refused: 0 };
  fc.assert(
    fc.property(counts, rates, (used, drawn) => {
      const given = {
        ...price(),
        ...Object.fromEntries(Object.entries(drawn).filter(([, value]) => value !== undefined)),
      };
      const exact = exactCost(used, given);
      if (exact > BigInt(Number.MAX_SAFE_INTEGER)) {
        kinds.refused++;
        expect(() => costPicodollars(used, given)).toThrow(RangeError);
      } else {
        kinds.exact++;
        expect(BigInt(costPicodollars(used, given))).toBe(exact);
      }
    }),
    { seed: 13, numRuns: 5_000 },
  );
  expect(Math.min(kinds.exact, kinds.refused)).toBeGreaterThan(200);
});

function exactCost(used: Usage, given: Price): bigint {
  const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
  const [input, output] = [BigInt(used.input), BigInt(used.output)];
  const cached = least(BigInt(used.cachedInput), input);
  const written = least(BigInt(used.cacheWrite), input - cached);
  const reasoning = least(BigInt(used.reasoning), output);
  return (
    (input - cached - written) * BigInt(given.input) +
    cached * BigInt(given.cachedInput ?? given.input) +
    written * BigInt(given.cacheWrite ?? given.input) +
    (output - reasoning) * BigInt(given.output) +
    reasoning * BigInt(given.reasoning ?? given.output) +
    BigInt(given.perRequest ?? 0)
  );
}
