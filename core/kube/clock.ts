// What time is it, and wake me later. Passed in wherever time decides, so that tests can turn it.

export interface Clock {
  /** Milliseconds that never go backwards; for timers, leases and durations. */
  now(): number;
  /** Unix milliseconds; for what is written down. */
  wallMs(): number;
  /** Calls back once, after at least `ms`; gives a function that cancels. */
  setTimer(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
