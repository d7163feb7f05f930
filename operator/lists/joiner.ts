// Joins two lists, from the differences of each, without a walk of the whole.

import { differing, madeFrom } from './differing.ts';

/** @returns the entries of both, in their order. */
export function createJoiner<T>(): (first: readonly T[], second: readonly T[]) => readonly T[] {
  let lastFirst: readonly T[] = [];
  let lastSecond: readonly T[] = [];
  let last: readonly T[] = [];
  return (first, second) => {
    const [ofFirst, ofSecond] = [differing(lastFirst, first), differing(lastSecond, second)];
    last = madeFrom(
      last,
      { gone: [...ofFirst.gone, ...ofSecond.gone], added: [...ofFirst.added, ...ofSecond.added] },
      [...first, ...second],
    );
    lastFirst = first;
    lastSecond = second;
    return last;
  };
}
