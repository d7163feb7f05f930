// How do many small writes become few large ones? What comes while one is in progress goes into the next one together.

interface Waiting<T, R> {
  readonly item: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/** @param write All of the items or none; gives the result of each. If a group fails, each item is tried separately. */
export function inGroups<T, R>(
  write: (items: readonly T[]) => Promise<readonly R[]>,
): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = [];
  let isWriting = false;

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!isWriting) void writeAll();
    });

  async function writeAll(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const isWritten = await settle(group, group.length === 1);
      if (!isWritten) for (const one of group) await settle([one], true);
    }
    isWriting = false;
  }

  /** Gives whether everybody has an answer. */
  async function settle(group: readonly Waiting<T, R>[], isLastTry: boolean): Promise<boolean> {
    try {
      const results = await write(group.map(({ item }) => item));
      for (const [at, result] of results.entries()) group[at]?.resolve(result);
      return true;
    } catch (error) {
      if (isLastTry) for (const { reject } of group) reject(error);
      return isLastTry;
    }
  }
}
