// Which of an upstream's token counts is used for billing? The operator of an upstream can report any number.

import type { Usage } from '../../../core/contract/ledger-record.ts';

/** More than any answer has, and so little that sums of counts stay exact. */
const tokensMax = 1_000_000_000;

/** The count, where it is a whole number of tokens that an answer could have. */
export function believeCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= tokensMax
    ? value
    : undefined;
}

/**
 * The counts of an answer that was seen, where they can be: no request is without input (what came from a cache is input too),
 * and a whole answer is not without output of which something was seen.
 */
export function believeUsage(
  usage: Usage | undefined,
  { isWhole, outputEstimate }: { readonly isWhole: boolean; readonly outputEstimate: number },
): Usage | undefined {
  if (usage?.input === 0) return undefined;
  return isWhole && usage?.output === 0 && outputEstimate > 0 ? undefined : usage;
}
