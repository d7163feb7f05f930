// What time is it, and wake me later. Passed in wherever time decides, so that tests can turn it.

export interface Clock {
  /** Milliseconds that never go backwards; for timers, leases and durations. */
  now(): number;
  /** Unix milliseconds; for records, expiry and answers. */
  wallMs(): number;
  /**
   * Calls back once, after at least `ms`; gives a function that cancels. Does not keep the process alive: a server that listens
   * does, from before the first wait until everything is closed.
   */
  setTimer(ms: number, callback: () => void): () => void;
}

/** The longest that a timer of Node can wait. */
const timerMsMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(ms, callback) {
    const dueAt = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const sleep = (forMs: number) => {
      timer = setTimeout(wake, Math.min(forMs, timerMsMax));
      timer.unref();
    };
    // Timers of Node count whole milliseconds from the beginning of one, and may be early by a part of it.
    const wake = () => {
      const leftMs = dueAt - performance.now();
      if (leftMs > 0) sleep(leftMs);
      else callback();
    };
    sleep(ms);
    return () => clearTimeout(timer);
  },
};
