// Replaces some entries of a list by another form. Only differences from the last run are replaced.

import { changed, differing, without } from './differing.ts';

/**
 * `items`, with its substitute in the place of each that has one; in no order.
 *
 * @param substitutes by item; of items that are in the list.
 */
export function createSubstitution<T>(): (
  items: readonly T[],
  substitutes: ReadonlyMap<T, T>,
) => readonly T[] {
  let lastItems: readonly T[] = [];
  let lastSubstitutes: ReadonlyMap<T, T> = new Map();
  let last = lastItems;
  return (items, substitutes) => {
    // Mostly there are none.
    if (last === lastItems && substitutes.size === 0) {
      lastItems = items;
      last = items;
      return items;
    }
    const { gone, added } = differing(lastItems, items);
    const stood = new Set([...lastSubstitutes.keys(), ...substitutes.keys()]);
    const stayed = without([...stood], [...gone, ...added]);
    last = changed(last, {
      gone: [...gone, ...stayed].map((item) => lastSubstitutes.get(item) ?? item),
      added: [...added, ...stayed].map((item) => substitutes.get(item) ?? item),
    });
    lastItems = items;
    lastSubstitutes = substitutes;
    return last;
  };
}
