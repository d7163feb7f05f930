// Makes many calls, a few at a time. After a failure no further call starts, and those in progress are awaited: after the rejection no
// call is running.

/** The results in the order of the items. @throws what the first failing call threw. */
export async function eachOf<T, R>(
  items: readonly T[],
  atOnceMax: number,
  call: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const waiting = [...items.entries()].reverse();
  const lane = async () => {
    for (let next = waiting.pop(); next !== undefined && failures.length === 0; next = waiting.pop()) {
      const [index, item] = next;
      try {
        results[index] = await call(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
