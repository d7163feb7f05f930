// A token bucket: a burst, then a rate per second. It returns the wait until the next call.

import type { Clock } from '../core/clock.ts';

export interface TokenBucket {
  /** Takes one token, of the future if none is left; gives the time until that one is there. */
  reserveMs(): number;
  /** Takes one token if there is one. */
  take(): boolean;
  /** Until `take` succeeds; 0: now. */
  waitMs(): number;
}

export function createTokenBucket(clock: Clock, perSecond: number, burst: number): TokenBucket {
  let tokens = burst;
  let filledAtMs = clock.now();

  function fill(): void {
    const nowMs = clock.now();
    tokens = Math.min(burst, tokens + ((nowMs - filledAtMs) * perSecond) / 1000);
    filledAtMs = nowMs;
  }
  // Sums of fractions miss a whole token by very little; without this a wait of nothing would follow.
  const untilOneMs = (): number => (tokens > 1 - 1e-9 ? 0 : ((1 - tokens) * 1000) / perSecond);

  return {
    reserveMs() {
      fill();
      const waitMs = untilOneMs();
      tokens -= 1;
      return waitMs;
    },
    take() {
      fill();
      if (untilOneMs() > 0) return false;
      tokens -= 1;
      return true;
    },
    waitMs() {
      fill();
      return untilOneMs();
    },
  };
}
