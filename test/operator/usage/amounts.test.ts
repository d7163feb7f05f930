// Do money and periods come out as a person and the ledger count them?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { periodAt } from '../../../core/contract/budget.ts';
import { periodsOf } from '../../../ledger/store/periods.ts';
import { dollarsOf, microdollarsOf } from '../../../operator/usage/dollars.ts';

test.each([
  [0n, '0.00'],
  [1n, '0.00'],
  [999_999n, '0.00'],
  [1_000_000n, '0.000001'],
  [41_237_000_000_000n, '41.237'],
  [500_000_000_000n, '0.50'],
  [100_000_000_000_000n, '100.00'],
  // Where a float would not know the last digits any more.
  [123_456_789_012_345_678_901_234n, '123456789012.345678'],
])('%s picodollars are %s dollars', (picodollars, dollars) => {
  expect(dollarsOf(picodollars)).toBe(dollars);
});

test('an amount is read exactly, to the millionth, and an invalid amount is undefined', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), (picodollars) => {
      expect(microdollarsOf(dollarsOf(picodollars))).toBe(picodollars / 1_000_000n);
    }),
  );
  for (const odd of ['', '-1', '1.', '.5', '1e3', '0.1234567', '1,00', ' 1'])
    expect(microdollarsOf(odd), odd).toBeUndefined();
});

test('periods of budgets begin with the ledger’s', () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) }), (ms) => {
      const starts = (['Day', 'Week', 'Month'] as const).map((period) => periodAt(period, ms).start);
      expect(starts).toEqual(Object.values(periodsOf(ms)));
    }),
  );
});
