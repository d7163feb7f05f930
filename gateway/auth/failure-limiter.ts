// How often may one address be told that its key is not good? A bucket for each, filled by time; only failures take from it, so
// whoever has a good key is never slowed.

import { GatewayError } from '../request/errors.ts';
import { sourceOf } from '../request/source-of.ts';

export interface FailureLimiter {
  /**
   * Counts one failure; gives what the caller is told instead of 401 where there were too many.
   *
   * @param address Undefined where the connection was reset before anybody asked whose it is: it counts for nobody, and nobody is told.
   */
  judge(address: string | undefined): GatewayError | undefined;
}

/** The addresses longest unheard of are forgotten first: to be forgotten is to have a full bucket again. */
const addressesMax = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** `perMinute` may come at once, and as many in each minute that follows; 0: any number. */
export function openFailureLimiter(perMinute: number, now: () => number): FailureLimiter {
  if (perMinute === 0) return { judge: () => undefined };
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;
  return {
    judge(address) {
      if (address === undefined) return undefined;
      const source = sourceOf(address);
      const atMs = now();
      const before = buckets.get(source);
      const tokens = before ? Math.min(perMinute, before.tokens + (atMs - before.atMs) * perMs) : perMinute;
      // Put behind all others: a Map keeps the order in which things were put in.
      buckets.delete(source);
      buckets.set(source, { tokens: Math.max(0, tokens >= 1 ? tokens - 1 : tokens), atMs });
      if (buckets.size > addressesMax) forgetOldest(buckets);
      return tokens >= 1 ? undefined : tooMany((1 - tokens) / perMs / 1000);
    },
  };
}

function forgetOldest(buckets: Map<string, Bucket>): void {
  for (const oldest of buckets.keys()) {
    buckets.delete(oldest);
    return;
  }
}

function tooMany(retryAfterSeconds: number): GatewayError {
  return new GatewayError(
    'rate_limit_exceeded',
    'The API key is missing or not valid, and too many such requests came from this address. Correct the key first.',
    // To send the same key again cannot help, however long one waits.
    { retryAfterSeconds, headers: { 'x-should-retry': 'false' } },
  );
}
