// A list of tens of thousands of changing values. Each version knows its differences from the last.

import { changed } from './differing.ts';

export interface ChangingList<T> {
  /** One value takes the place of another; undefined: it comes, or it goes. */
  replace(before: T | undefined, after: T | undefined): void;
  /** The same list as before where nothing came or went. In no order. */
  list(): readonly T[];
}

export function createChangingList<T>(): ChangingList<T> {
  let last: readonly T[] = [];
  // Since the last list.
  const gone = new Set<T>();
  const added = new Set<T>();
  return {
    replace(before, after) {
      if (before !== undefined && !added.delete(before)) gone.add(before);
      if (after !== undefined && !gone.delete(after)) added.add(after);
    },
    list() {
      last = changed(last, { gone: [...gone], added: [...added] });
      gone.clear();
      added.clear();
      return last;
    },
  };
}
