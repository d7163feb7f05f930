// How does a list stay in order from run to run? What came is put where it belongs; the rest is not compared again.

import { differing, madeFrom, without } from './differing.ts';
import { lowerBound } from './lower-bound.ts';

/**
 * The parts of all items in an order in which no two are equal.
 *
 * @param partsOf the same values whenever it is asked about an item; each part belongs to one item alone.
 * @returns an immutable list.
 */
export function createSorter<T, P>(
  partsOf: (item: T) => readonly P[],
  compare: (a: P, b: P) => number,
): (items: readonly T[]) => P[] {
  let lastItems: readonly T[] = [];
  let last: P[] = [];
  return (items) => {
    const change = differing(lastItems, items);
    lastItems = items;
    const [gone, added] = [change.gone.flatMap(partsOf), change.added.flatMap(partsOf)];
    if (gone.length + added.length > 0) {
      last = madeFrom(last, { gone, added }, merge(without(last, gone), added.sort(compare), compare));
    }
    return last;
  };
}

/** Both in order; of the second there are few, mostly. */
function merge<P>(many: readonly P[], few: readonly P[], compare: (a: P, b: P) => number): P[] {
  const merged: P[] = [];
  let from = 0;
  for (const part of few) {
    const to = lowerBound(many, (other) => compare(other, part) < 0, from);
    append(merged, many, from, to);
    merged.push(part);
    from = to;
  }
  append(merged, many, from, many.length);
  return merged;
}

/** Of fifty thousand, more than one call takes as arguments. */
function append<P>(merged: P[], list: readonly P[], from: number, to: number): void {
  for (let index = from; index < to; index += 1) {
    const part = list[index];
    if (part !== undefined) merged.push(part);
  }
}
