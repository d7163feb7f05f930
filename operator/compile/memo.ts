// Which results can be taken over from the last run? Those whose inputs are the same values.

export interface Memo {
  /** The result of the last call under `key`, if all inputs are identical to then; else computes it. */
  get<T>(key: string, inputs: readonly unknown[], compute: () => T): T;
  /** Forgets what was not asked for since the last sweep; gives how many results were computed since. */
  sweep(): number;
}

interface Slot {
  readonly inputs: readonly unknown[];
  readonly result: unknown;
  run: number;
}

/** One per compiler and kind of result, since the type of a result hangs on its key. */
export function createMemo(): Memo {
  const slots = new Map<string, Slot>();
  let run = 0;
  let computed = 0;
  return {
    get<T>(key: string, inputs: readonly unknown[], compute: () => T): T {
      const slot = slots.get(key);
      if (slot !== undefined && isSame(slot.inputs, inputs)) {
        slot.run = run;
        // The same key is always asked for with the same kind of computation.
        return slot.result as T;
      }
      const result = compute();
      computed += 1;
      slots.set(key, { inputs, result, run });
      return result;
    },
    sweep(): number {
      for (const [key, slot] of slots) if (slot.run < run) slots.delete(key);
      run += 1;
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

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}
