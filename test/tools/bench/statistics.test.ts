// Medians and ratios: the arithmetic that every verdict is on.

import { describe, expect, test } from 'vitest';
import { differencesByRound, median, ratiosByRound, spread } from '../../../tools/bench/statistics.ts';

describe('statistics', () => {
  test.each([
    [[], undefined],
    [[7], 7],
    [[10, 2, 9], 9],
    [[4, 1, 3, 2], 2.5],
  ])('the median of %j is %j', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test('a spread keeps the best and the worst round', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spread([])).toBeUndefined();
  });

  test('ratios are taken inside a round, and only of rounds that both have', () => {
    // The machine was twice as slow in round 2, for both; every ratio is still 2. The ratio of medians would be 3.
    const ours = new Map([
      [1, 20],
      [2, 40],
      [3, 60],
    ]);
    const theirs = new Map([
      [1, 10],
      [2, 20],
      [4, 1],
    ]);
    expect(ratiosByRound(ours, theirs)).toEqual([2, 2]);
    expect(differencesByRound(ours, theirs)).toEqual([10, 20]);
  });

  test('a round in which the other did nothing gives no ratio', () => {
    expect(ratiosByRound(new Map([[1, 5]]), new Map([[1, 0]]))).toEqual([]);
    expect(ratiosByRound(new Map([[1, Number.NaN]]), new Map([[1, 5]]))).toEqual([]);
  });
});
