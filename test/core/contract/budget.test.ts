// When does a period of a budget begin and end, and can more be spent than is said?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BudgetPeriod, periodAt, worstOvershoot } from '../../../core/contract/budget.ts';
import { periodsOf } from '../../../ledger/store/periods.ts';

describe('a period', () => {
  test.each<[BudgetPeriod, string, string, string | undefined]>([
    ['Day', '2026-03-01T00:00:00.000Z', '2026-03-01', '2026-03-02T00:00:00.000Z'],
    ['Day', '2026-02-28T23:59:59.999Z', '2026-02-28', '2026-03-01T00:00:00.000Z'],
    // A Sunday, and the Monday after it.
    ['Week', '2026-11-22T23:59:59.999Z', '2026-11-16', '2026-11-23T00:00:00.000Z'],
    ['Week', '2026-11-23T00:00:00.000Z', '2026-11-23', '2026-11-30T00:00:00.000Z'],
    // A week knows no year.
    ['Week', '2027-01-01T12:00:00.000Z', '2026-12-28', '2027-01-04T00:00:00.000Z'],
    ['Month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01T00:00:00.000Z'],
    ['Month', '2028-02-29T00:00:00.000Z', '2028-02-01', '2028-03-01T00:00:00.000Z'],
    ['Total', '2026-12-31T23:59:59.999Z', '', undefined],
  ])('%s at %s', (period, at, start, end) => {
    expect(periodAt(period, Date.parse(at))).toEqual({ start, endMs: end && Date.parse(end) });
  });

  test('begins as in the ledger, and the next one begins at its end', () => {
    const moment = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2200, 0, 1) });
    fc.assert(
      fc.property(
        moment,
        fc.constantFrom('Day' as const, 'Week' as const, 'Month' as const),
        (atMs, period) => {
          const names = { Day: 'day', Week: 'week', Month: 'month' } as const;
          const { start, endMs = Number.NaN } = periodAt(period, atMs);
          expect(start).toBe(periodsOf(atMs)[names[period]]);
          expect(periodAt(period, Date.parse(start)).start).toBe(start);
          expect(periodAt(period, endMs - 1).start).toBe(start);
          expect(Date.parse(periodAt(period, endMs).start)).toBe(endMs);
        },
      ),
    );
  });
});

describe('the highest spend beyond a budget', () => {
  test('is one request with a common count, and one budget for each gateway that loses it', () => {
    const facts = { limitMicrodollars: 100, gateways: 4 };
    expect(worstOvershoot({ ...facts, hasStore: true })).toEqual({
      requests: 1,
      unheardMicrodollarsMax: 0,
      withoutStore: { requests: 4, unheardMicrodollarsMax: 300 },
    });
    expect(worstOvershoot({ ...facts, gateways: 1, hasStore: true }).withoutStore).toEqual({
      requests: 1,
      unheardMicrodollarsMax: 0,
    });
  });

  test('is one request for each gateway that shares a budget, plus spend that some of them have not read yet', () => {
    const facts = { limitMicrodollars: 100, hasStore: false };
    expect(worstOvershoot({ ...facts, gateways: 4 })).toEqual({ requests: 4, unheardMicrodollarsMax: 75 });
    expect(worstOvershoot({ ...facts, gateways: 1 })).toEqual({ requests: 1, unheardMicrodollarsMax: 0 });
  });
});
