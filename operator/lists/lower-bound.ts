// Where in an ordered list would an entry stand? By halving.

/**
 * The index of the first entry that does not come before it.
 *
 * @param isBefore whether an entry of the list comes before it: true of the first ones, then false of all others.
 */
export function lowerBound<T>(sorted: readonly T[], isBefore: (entry: T) => boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const entry = sorted[middle];
    if (entry !== undefined && isBefore(entry)) from = middle + 1;
    else to = middle;
  }
  return from;
}
