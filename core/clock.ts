// What time is it, and wake me later. Passed in wherever time decides, so that tests can turn it.

export interface Clock {
  /** Milliseconds that never go backwards; for timers and durations. */
  now(): number;
  /** Unix milliseconds; for records, expiry and answers. */
  wallMs(): number;
  /** Calls back once, after at least `ms`; gives a function that cancels. Does not keep the process alive. */
  setTimer(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(ms, callback) {
    const dueAt = performance.now() + ms;
    // Timers of Node count whole milliseconds from the beginning of one, and may be early by a part of it.
    const wake = () => (performance.now() < dueAt ? sleep(1) : callback());
    let timer: NodeJS.Timeout;
    const sleep = (forMs: number) => {
      timer = setTimeout(wake, forMs);
      timer.unref();
    };
    sleep(ms);
    return () => clearTimeout(timer);
  },
};
