// Which results can be taken over from the last run? Those whose inputs are the same values.

import { differing } from './differing.ts';

export interface Memo {
  /**
   * The last result for `subject`, if all inputs are identical to then; else computes it. One memo serves
   * one kind of result, so that a subject always stands for the same type. Forgets with the subject.
   */
  get<T>(subject: object, inputs: readonly unknown[], compute: () => T): T;
  /** How many results were computed since this was last asked. */
  takeCount(): number;
}

export function createMemo(): Memo {
  // Keyed by identity: no string to build for each of 50,000 keys, and nothing to clear away.
  const slots = new WeakMap<object, { readonly inputs: readonly unknown[]; readonly result: unknown }>();
  let computed = 0;
  return {
    get<T>(subject: object, inputs: readonly unknown[], compute: () => T): T {
      const slot = slots.get(subject);
      if (slot !== undefined && isSame(slot.inputs, inputs)) return slot.result as T;
      const result = compute();
      computed += 1;
      slots.set(subject, { inputs, result });
      return result;
    },
    takeCount(): number {
      const count = computed;
      computed = 0;
      return count;
    },
  };
}

/** Gives the earlier list where the new one holds the same values in the same order, so that it can be an input. */
export function createStable<T>(): (next: readonly T[]) => readonly T[] {
  let last: readonly T[] = [];
  return (next) => {
    if (!isSame(last, next)) last = next;
    return last;
  };
}

/**
 * Sorts by an order in which no two items are equal, beginning with the result of the last run: the few that came are put where
 * they belong. Each item is a value of its own.
 */
export function createSorter<T extends object>(
  compare: (a: T, b: T) => number,
): (items: readonly T[]) => T[] {
  let lastItems: readonly T[] = [];
  let last: readonly T[] = [];
  return (items) => {
    const { gone, added } = differing(lastItems, items);
    lastItems = items;
    const left = new Set(gone);
    const kept = left.size === 0 ? last : last.filter((item) => !left.has(item));
    last = merge(kept, added.toSorted(compare), compare);
    // A copy: the caller may do with it what it likes.
    return [...last];
  };
}

/** Both in order; of the second there are few, mostly. */
function merge<T>(many: readonly T[], few: readonly T[], compare: (a: T, b: T) => number): readonly T[] {
  if (few.length === 0) return many;
  if (many.length === 0) return few;
  const merged: T[] = [];
  let from = 0;
  for (const item of few) {
    const to = placeFor(item, many, from, compare);
    for (; from < to; from += 1) {
      const next = many[from];
      if (next !== undefined) merged.push(next);
    }
    merged.push(item);
  }
  for (; from < many.length; from += 1) {
    const next = many[from];
    if (next !== undefined) merged.push(next);
  }
  return merged;
}

/** The index of the first that comes after it, by halving. */
function placeFor<T>(item: T, sorted: readonly T[], from: number, compare: (a: T, b: T) => number): number {
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const other = sorted[middle];
    if (other !== undefined && compare(other, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}
