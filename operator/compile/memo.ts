// Reuses results of the last run whose inputs are identical.

import { isSameList } from '../lists/differing.ts';

interface Memo {
  /**
   * The last result for `subject`, if all inputs are identical; otherwise computes it. Use one memo for one kind of result, so that a
   * subject always has the same type. Entries are collected with their subject.
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
      if (slot !== undefined && isSameList(slot.inputs, inputs)) return slot.result as T;
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
export function createStable<L extends readonly unknown[]>(): (next: L) => L {
  let last: L | undefined;
  return (next) => {
    if (last === undefined || !isSameList(last, next)) last = next;
    return last;
  };
}
