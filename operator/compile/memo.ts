// Which results can be taken over from the last run? Those whose inputs are the same values.

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
 * Sorts by an order in which no two items are equal, beginning with the order of the last run: where little
 * changed, that is nearly sorted, and the sort of the engine (TimSort) takes linear time.
 */
export function createSorter<T extends object>(
  compare: (a: T, b: T) => number,
): (items: readonly T[]) => T[] {
  let last: T[] = [];
  let known = new Set<T>();
  return (items) => {
    const present = new Set(items);
    const kept = last.filter((item) => present.has(item));
    const added = items.filter((item) => !known.has(item));
    last = [...kept, ...added].sort(compare);
    known = present;
    // A copy: the caller may do with it what it likes.
    return [...last];
  };
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}
