// How often may one address try a bad key before it gets 429? A token bucket for each address, filled by time. Only failures take
// from it, so valid keys are never slowed.

import { GatewayError } from '../request/errors.ts';
import { sourceOf } from '../request/source-of.ts';

export interface FailureLimiter {
  /**
   * Counts one failure; returns the error to send instead of 401 after too many.
   *
   * @param address Undefined if the connection was reset before its address was read: nothing is counted, and no answer reaches the client.
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
      // Moves it to the end: a Map keeps the order of insertion.
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
