// Which of an upstream's counts of tokens is believed? It is billed by, and whoever runs the upstream may write anything.

/** More than any answer has, and so little that sums of counts stay exact. */
export const tokensMax = 1_000_000_000;

/** The count, where it is a whole number of tokens that an answer could have. */
export function believeCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= tokensMax
    ? value
    : undefined;
}
