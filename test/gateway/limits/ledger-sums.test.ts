// What is made of what the ledger tells? Pure.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { periodAt } from '../../../core/contract/budget.ts';
import type { SpendPage } from '../../../core/contract/spend.ts';
import { LedgerSums } from '../../../gateway/limits/ledger-sums.ts';

const monday = Date.UTC(2026, 10, 16);
const dayMs = 86_400_000;

function reportedOf(apiKey: string, atMs: number, spent: number): SpendPage['keys'][number] {
  const of = (nano: number) => ({ costPicodollars: String(BigInt(nano) * 1_000n) });
  return {
    apiKey,
    day: { since: periodAt('Day', atMs).start, ...of(spent) },
    week: { since: periodAt('Week', atMs).start, ...of(spent + 1) },
    month: { since: periodAt('Month', atMs).start, ...of(spent + 2) },
    total: of(spent + 3),
  };
}

const dayAt = (atMs: number) => periodAt('Day', atMs).start;

describe('the sums of the ledger', () => {
  test('belong to the period in which they were read, and to no later one', () => {
    const sums = new LedgerSums();
    sums.take([reportedOf('team/key', monday, 10)]);
    const of = (period: 'Day' | 'Week' | 'Month' | 'Total', atMs: number) =>
      sums.spentOf('api-key', 'team/key', period, periodAt(period, atMs).start);
    expect([of('Day', monday), of('Week', monday), of('Month', monday), of('Total', monday)]).toEqual([
      10, 11, 12, 13,
    ]);
    const tuesday = monday + dayMs;
    expect([of('Day', tuesday), of('Week', tuesday)]).toEqual([0, 11]);
    expect(sums.spentOf('api-key', 'team/other', 'Day', dayAt(monday))).toBe(0);
  });

  test("of a day stay known while only the ledger's clock is in the next one", () => {
    const sums = new LedgerSums();
    sums.take([reportedOf('team/key', monday, 10)]);
    sums.take([reportedOf('team/key', monday + dayMs, 1)]);
    expect(sums.spentOf('api-key', 'team/key', 'Day', dayAt(monday))).toBe(10);
    expect(sums.spentOf('api-key', 'team/key', 'Day', dayAt(monday + dayMs))).toBe(1);
  });

  test('of two days are kept side by side while the clocks disagree on the day', () => {
    const sums = new LedgerSums();
    const tuesday = monday + dayMs;
    for (const [key, atMs, spent] of [
      ['team/one', monday, 10],
      ['team/one', tuesday, 1],
      ['team/two', monday, 20],
      ['team/one', monday, 14],
      ['team/one', tuesday, 3],
    ] as const)
      sums.take([reportedOf(key, atMs, spent)]);
    const on = (atMs: number) => [
      sums.spentOf('api-key', 'team/one', 'Day', dayAt(atMs)),
      sums.spentOf('tenant', 'team', 'Day', dayAt(atMs)),
    ];
    expect([on(monday), on(tuesday)]).toEqual([
      [14, 34],
      [3, 3],
    ]);
  });

  test('of a tenant are those of its keys, in any order of arrival', () => {
    const reported = fc.record({
      key: fc.constantFrom('a/one', 'a/two', 'b/one'),
      day: fc.integer({ min: 0, max: 3 }),
      more: fc.nat(1_000),
    });
    fc.assert(
      fc.property(fc.array(reported, { maxLength: 30 }), (all) => {
        const sums = new LedgerSums();
        const spent = new Map<string, number>();
        for (const { key, day, more } of all.toSorted((a, b) => a.day - b.day)) {
          const place = `${key} ${day}`;
          spent.set(place, (spent.get(place) ?? 0) + more);
          sums.take([reportedOf(key, monday + day * dayMs, spent.get(place) ?? 0)]);
        }
        const last = Math.max(0, ...all.map(({ day }) => day));
        const start = dayAt(monday + last * dayMs);
        const of = (key: string) => spent.get(`${key} ${last}`) ?? 0;
        expect(sums.spentOf('tenant', 'a', 'Day', start)).toBe(of('a/one') + of('a/two'));
        expect(sums.spentOf('tenant', 'b', 'Day', start)).toBe(of('b/one'));
        expect(sums.spentOf('api-key', 'a/one', 'Day', start)).toBe(of('a/one'));
      }),
    );
  });

  test('are never below those of the ledger, however small or large', () => {
    const sums = new LedgerSums();
    sums.take([{ ...reportedOf('team/key', monday, 0), total: { costPicodollars: '1' } }]);
    expect(sums.spentOf('api-key', 'team/key', 'Total', '')).toBe(1);
    // Above 2^53: as a number it would be the picodollar less that makes a whole of it.
    sums.take([{ ...reportedOf('team/key', monday, 0), total: { costPicodollars: '9007199254741001' } }]);
    expect(sums.spentOf('api-key', 'team/key', 'Total', '')).toBe(9_007_199_254_742);
  });
});
