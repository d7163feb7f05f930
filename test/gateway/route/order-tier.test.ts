// In which order are those of one tier tried: by draw and load, or by hash?

import { describe, expect, test } from 'vitest';
import { orderByDraw, orderByHash, type Weighed } from '../../../gateway/route/order-tier.ts';
import { makeRandom } from '../../support/wall/split.ts';

const one = (name: string, weight = 1, inFlight = 0): Weighed<string> => ({
  item: name,
  name,
  weight,
  inFlight,
});
const names = (items: readonly Weighed<string>[]): string[] => items.map(({ item }) => item);

/** Who comes first, of so many draws, as a share. */
function firstShares(
  runs: number,
  order: (run: number) => readonly Weighed<string>[],
): (name: string) => number {
  const firsts = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    const [first = ''] = names(order(run));
    firsts.set(first, (firsts.get(first) ?? 0) + 1);
  }
  return (name) => (firsts.get(name) ?? 0) / runs;
}

describe('by draw', () => {
  test('every peer is in the order once', () => {
    const random = makeRandom(3);
    const items = [one('a', 3, 2), one('b', 1, 9), one('c', 2), one('d', 1, 1)];
    for (let n = 0; n < 200; n++)
      expect(names(orderByDraw(items, random)).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('of two the one with fewer requests in flight for its weight is first', () => {
    const random = makeRandom(4);
    for (let n = 0; n < 100; n++) {
      expect(names(orderByDraw([one('a', 1, 3), one('b', 1, 2)], random))).toEqual(['b', 'a']);
      expect(names(orderByDraw([one('a', 4, 6), one('b', 1, 2)], random))).toEqual(['a', 'b']);
    }
  });

  test('a tie keeps the first draw: shares are exactly weighted', () => {
    const random = makeRandom(5);
    const shareOf = firstShares(20_000, () => orderByDraw([one('a', 3, 6), one('b', 1, 2)], random));
    expect(Math.abs(shareOf('a') - 0.75)).toBeLessThan(0.015);
  });

  test('of three the busiest is never first if a less busy one is drawn with it', () => {
    const random = makeRandom(6);
    const shareOf = firstShares(5_000, () => orderByDraw([one('a', 1, 5), one('b'), one('c')], random));
    expect(shareOf('a')).toBe(0);
    expect(Math.abs(shareOf('b') - 0.5)).toBeLessThan(0.03);
  });
});

describe('by hash', () => {
  const trio = [one('a', 2), one('b'), one('c')];

  test('the same text gives the same order, in any order of the names', () => {
    for (let n = 0; n < 200; n++) {
      const order = names(orderByHash(trio, `text ${n}`));
      expect(names(orderByHash(trio.toReversed(), `text ${n}`))).toEqual(order);
    }
  });

  test('many texts are shared by weight', () => {
    const shareOf = firstShares(20_000, (run) => orderByHash(trio, `text ${run}`));
    expect(Math.abs(shareOf('a') - 0.5)).toBeLessThan(0.015);
    expect(Math.abs(shareOf('b') - 0.25)).toBeLessThan(0.015);
  });

  test('if one leaves, only its own texts move', () => {
    for (let n = 0; n < 500; n++) {
      const order = names(orderByHash(trio, `text ${n}`));
      const without = names(orderByHash(trio.slice(0, 2), `text ${n}`));
      expect(without).toEqual(order.filter((name) => name !== 'c'));
    }
  });

  test('a clearly overloaded peer comes last; a peer that is only busier does not', () => {
    const texts = Array.from({ length: 200 }, (_, n) => `text ${n}`);
    const busy = (inFlight: number) => [one('a', 1, inFlight), one('b', 1, 4), one('c', 1, 4)];
    for (const text of texts) {
      const order = names(orderByHash(busy(0), text));
      expect(names(orderByHash(busy(7), text))).toEqual(order);
      expect(names(orderByHash(busy(15), text)), 'few are in flight at all').toEqual(order);
      expect(names(orderByHash(busy(16), text)).at(-1)).toBe('a');
    }
  });

  test('a single peer is never overloaded', () => {
    expect(names(orderByHash([one('a', 1, 500)], 'text'))).toEqual(['a']);
  });
});
