// The position of an entry in an ordered list, by binary search.

/**
 * The index of the first entry that does not come before it.
 *
 * @param isBefore whether an entry of the list comes before it: true of the first ones, then false of all others.
 * @param from those before this index are known to come before it.
 */
export function lowerBound<T>(sorted: readonly T[], isBefore: (entry: T) => boolean, from = 0): number {
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const entry = sorted[middle];
    if (entry !== undefined && isBefore(entry)) from = middle + 1;
    else to = middle;
  }
  return from;
}
