// How does a list stay in order from run to run? What came is put where it belongs; the rest is not compared again.

import { differing, FEW, madeFrom, without } from './differing.ts';
import { lowerBound } from './lower-bound.ts';

/**
 * The parts of all items in an order in which no two are equal.
 *
 * @param partsOf the same values whenever it is asked about an item; each part belongs to one item alone.
 * @returns a list that nobody changes.
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
      last = madeFrom(last, { gone, added }, put(added, without(last, gone), compare));
    }
    return last;
  };
}

/** Into a list that is in order. */
function put<P>(parts: readonly P[], sorted: P[], compare: (a: P, b: P) => number): P[] {
  if (parts.length > FEW) return sorted.concat(parts).sort(compare);
  for (const part of parts) {
    sorted.splice(
      lowerBound(sorted, (other) => compare(other, part) < 0),
      0,
      part,
    );
  }
  return sorted;
}
