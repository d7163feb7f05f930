// How are rounds summed up? Medians and ranges; ratios are taken inside a round first, then their median.

export type Spread = { median: number; min: number; max: number };

/** The middle value; of an even count the mean of the two middle ones. Undefined for nothing. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2;
}

export function spread(values: readonly number[]): Spread | undefined {
  const middle = median(values);
  return middle === undefined
    ? undefined
    : { median: middle, min: Math.min(...values), max: Math.max(...values) };
}

/**
 * Pairs two series by round and gives `combine(ours, theirs)` of each round that has both.
 * The machine's speed moves between rounds much more than within one, so only values of the same round may meet.
 */
export function byRound(
  ours: ReadonlyMap<number, number>,
  theirs: ReadonlyMap<number, number>,
  combine: (ours: number, theirs: number) => number,
): number[] {
  const combined: number[] = [];
  for (const [round, value] of ours) {
    const other = theirs.get(round);
    if (other !== undefined) combined.push(combine(value, other));
  }
  return combined;
}

/** Ratios of the rounds that both series have; a round whose divisor is 0 is left out. */
export function ratiosByRound(
  ours: ReadonlyMap<number, number>,
  theirs: ReadonlyMap<number, number>,
): number[] {
  return byRound(ours, theirs, (a, b) => a / b).filter(Number.isFinite);
}

/** Differences (ours minus theirs) of the rounds that both series have. */
export function differencesByRound(
  ours: ReadonlyMap<number, number>,
  theirs: ReadonlyMap<number, number>,
): number[] {
  return byRound(ours, theirs, (a, b) => a - b);
}
