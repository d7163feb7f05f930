// Whatever comes and goes, does a list that goes on from run to run stand as if it were made again, and is it reported what differs?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createChangingList } from '../../../operator/lists/changing-list.ts';
import { changed, type Differing, differing, madeFrom } from '../../../operator/lists/differing.ts';
import { createJoiner } from '../../../operator/lists/joiner.ts';
import { lowerBound } from '../../../operator/lists/lower-bound.ts';
import { emptyMap, keysUnlike } from '../../../operator/lists/shared-map.ts';
import { createSorter } from '../../../operator/lists/sorter.ts';
import { createSubstitution } from '../../../operator/lists/substitution.ts';

interface Item {
  readonly index: number;
}

const POOL: readonly Item[] = Array.from({ length: 40 }, (_, index) => ({ index }));
const some = fc.shuffledSubarray([...POOL]);
/** Lists that are used one after the other; sometimes few differ, sometimes many, sometimes it is the same list. */
const lists = fc.array(some, { minLength: 1, maxLength: 6 }).map((made) =>
  made.flatMap((list) => {
    const one = list.slice(1);
    return [list, list, one, changed(one, { gone: one.slice(0, 1), added: list.slice(0, 1) })];
  }),
);

/** What the short cut says is what a walk over lists that nobody knows says. */
function expectReported<T>(last: readonly T[], next: readonly T[]): void {
  const reported = differing(last, next);
  const found = differing([...last], [...next]);
  expect(setsOf(reported)).toEqual(setsOf(found));
}

function setsOf<T>({ gone, added }: Differing<T>) {
  return { gone: new Set(gone), added: new Set(added) };
}

const byIndex = (a: Item, b: Item) => a.index - b.index;
const indexes = (items: readonly Item[]) => items.map(({ index }) => index);

describe('the difference of two lists', () => {
  test('has the items of one list alone, by identity, in any position', () => {
    const onlyIn = (these: readonly Item[], others: readonly Item[]) =>
      these.filter((one) => !others.includes(one));
    fc.assert(
      fc.property(some, some, (last, next) => {
        expect(differing(last, next)).toEqual({ gone: onlyIn(last, next), added: onlyIn(next, last) });
      }),
    );
    fc.assert(
      fc.property(fc.subarray([...POOL]), fc.subarray([...POOL]), (last, next) => {
        expect(differing(last, next)).toEqual({ gone: onlyIn(last, next), added: onlyIn(next, last) });
      }),
    );
  });

  test('trusts a derived list only relative to the list it was made from', () => {
    const [a, b, c] = POOL;
    if (a === undefined || b === undefined || c === undefined) throw new Error('there are three');
    const last = [a, b];
    const next = madeFrom(last, { gone: [a, b], added: [b, c] }, [b, c]);
    // What is said to go and to come has stayed.
    expect(differing(last, next)).toEqual({ gone: [a], added: [c] });
    expect(differing([a], next)).toEqual({ gone: [a], added: [b, c] });
    expect(differing(next, last)).toEqual({ gone: [c], added: [a] });
  });
});

test('a list that changes has the added items and not the removed ones, and is the same list without changes', () => {
  const edits = fc.array(fc.record({ key: fc.nat(9), item: fc.option(fc.constantFrom(...POOL)) }));
  fc.assert(
    fc.property(fc.array(edits), (rounds) => {
      const changing = createChangingList<Item>();
      const present = new Map<number, Item>();
      let last = changing.list();
      for (const round of rounds) {
        for (const { key, item } of round) {
          // Each value is at one place.
          const after = item === null ? undefined : { ...item };
          changing.replace(present.get(key), after);
          if (after === undefined) present.delete(key);
          else present.set(key, after);
        }
        const next = changing.list();
        expect(new Set(next)).toEqual(new Set(present.values()));
        expect(next).toHaveLength(present.size);
        expect(changing.list()).toBe(next);
        expectReported(last, next);
        last = next;
      }
    }),
  );
});

test('a sorter returns the parts of all items in order, with any number of new ones', () => {
  // Two parts of each, far from one another in the order.
  const partsOf = new Map(POOL.map((item) => [item, [item, { index: 100 - item.index }]]));
  fc.assert(
    fc.property(lists, (rounds) => {
      const sort = createSorter<Item, Item>((item) => partsOf.get(item) ?? [], byIndex);
      let last: readonly Item[] = [];
      for (const items of rounds) {
        const next = sort(items);
        expect(indexes(next)).toEqual(
          indexes(items.flatMap((item) => partsOf.get(item) ?? [])).sort((a, b) => a - b),
        );
        expectReported(last, next);
        last = next;
      }
    }),
  );
});

test('a substitution returns each item or its replacement', () => {
  const substitutes = fc.dictionary(fc.nat(39).map(String), fc.constantFrom('x', 'y'));
  const forms = new Map(
    POOL.flatMap((item) => ['x', 'y'].map((form) => [`${item.index}${form}`, { ...item }])),
  );
  fc.assert(
    fc.property(lists, fc.array(substitutes, { minLength: 1 }), (rounds, wishes) => {
      const substitute = createSubstitution<Item>();
      let last: readonly Item[] = [];
      for (const [round, items] of rounds.entries()) {
        const wished = Object.entries(wishes[round % (wishes.length + 1)] ?? {}).flatMap(([index, form]) => {
          const [item, is] = [POOL[Number(index)], forms.get(`${index}${form}`)];
          if (item === undefined || is === undefined || !items.includes(item)) return [];
          return [[item, is] as const];
        });
        const standing = new Map(wished);
        const next = substitute(items, standing);
        expect(new Set(next)).toEqual(new Set(items.map((item) => standing.get(item) ?? item)));
        expect(next).toHaveLength(items.length);
        expectReported(last, next);
        last = next;
      }
    }),
  );
});

test('two joined lists follow each other', () => {
  fc.assert(
    fc.property(lists, (rounds) => {
      const join = createJoiner<Item>();
      let last: readonly Item[] = [];
      for (const [index, items] of rounds.entries()) {
        const others = (rounds[index + 1] ?? []).map((item) => partners.get(item) ?? item);
        const next = join(items, others);
        expect(next).toEqual([...items, ...others]);
        expectReported(last, next);
        last = next;
      }
    }),
  );
});

/** So that no entry is in both. */
const partners = new Map(POOL.map((item) => [item, { ...item }]));

test('the lower bound of a value is its place of insertion', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.nat(20), (numbers, wanted) => {
      const sorted = numbers.toSorted((a, b) => a - b);
      const found = sorted.findIndex((number) => number >= wanted);
      expect(lowerBound(sorted, (number) => number < wanted)).toBe(found < 0 ? sorted.length : found);
    }),
  );
});

test('a shared map has the latest values, its earlier states stay, and any two states tell their differences', () => {
  const edits = fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.option(fc.constantFrom(...POOL))));
  fc.assert(
    fc.property(fc.array(edits, { maxLength: 6 }), (rounds) => {
      const states = [{ map: emptyMap<Item>(), model: new Map<string, Item>() }];
      for (const round of rounds) {
        const { map, model } = states.at(-1) ?? { map: emptyMap<Item>(), model: new Map() };
        const next = new Map(model);
        for (const [key, item] of round) {
          if (item === null) next.delete(key);
          else next.set(key, item);
        }
        states.push({ map: map.with(round.map(([key, item]) => [key, item ?? undefined])), model: next });
      }
      for (const { map, model } of states) {
        expect(new Map(map.entries())).toEqual(model);
        expect(map.size).toBe(model.size);
        for (const [key, item] of model) expect([map.has(key), map.get(key)]).toEqual([true, item]);
        expect([map.has('none such'), map.get('none such')]).toEqual([false, undefined]);
        for (const other of states) {
          const unlike = [...new Set([...model.keys(), ...other.model.keys()])].filter(
            (key) => model.get(key) !== other.model.get(key),
          );
          expect(keysUnlike(map, other.map).sort()).toEqual(unlike.sort());
        }
      }
    }),
  );
});
