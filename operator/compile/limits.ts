// What becomes of the limits in a spec: in the table, and in the words of its status?

import type { RateLimits } from '../../gateway/contract/routing-table.ts';
import type { PlatformSettings } from '../watch/snapshot.ts';

/** As a schema gives them: what is left out is undefined. */
type LimitsSpec = { readonly [Name in keyof RateLimits]?: number | undefined };

/** Nothing where nothing is limited. */
export function buildLimits({ requestsPerMinute, tokensPerMinute, maxConcurrentRequests }: LimitsSpec = {}): {
  readonly limits?: RateLimits;
} {
  const limits = {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(maxConcurrentRequests === undefined ? {} : { maxConcurrentRequests }),
  };
  return Object.keys(limits).length === 0 ? {} : { limits };
}

/** For the message of the condition Accepted: how exactly they are kept, where that is not exactly. */
export function wordsOnLimits(
  specs: readonly (LimitsSpec | undefined)[],
  { hasExactLimits = false }: Pick<PlatformSettings, 'hasExactLimits'>,
): string {
  if (hasExactLimits || specs.every((spec) => buildLimits(spec).limits === undefined)) return '';
  return (
    'limits are kept by shares: each ready gateway lets through its part of them, and one request beyond it at most; ' +
    'the chart value limits.store.url has them kept exactly'
  );
}
