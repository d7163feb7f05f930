// What time is it in a test? A clock that moves only when a test says so, with timers that fire in order.

import type { Clock } from '../../core/clock.ts';

/** Its calendar begins with 1970, and goes with it. */
export interface FakeClock extends Clock {
  /** Moves on; everything that falls due is fired at its own time, also what is set at the same time. */
  advance(ms: number): void;
  /** The times of the timers that are set, soonest first: a test can ask that none is left. */
  pending(): readonly number[];
}

interface Timer {
  dueMs: number;
  fire: () => void;
}

export function makeFakeClock(startMs = 0): FakeClock {
  let nowMs = startMs;
  const timers = new Set<Timer>();

  /** Of two timers for the same moment the one that was set first: a Set keeps that order. */
  function soonest(): Timer | undefined {
    let found: Timer | undefined;
    for (const timer of timers) if (found === undefined || timer.dueMs < found.dueMs) found = timer;
    return found;
  }

  return {
    now: () => nowMs,
    wallMs: () => nowMs,
    setTimer(ms, fire) {
      if (Number.isNaN(ms)) throw new RangeError('A timer needs a number of milliseconds, not NaN');
      const timer = { dueMs: nowMs + Math.max(0, ms), fire };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`A clock does not go backwards: advance(${ms})`);
      const endMs = nowMs + ms;
      for (let next = soonest(); next !== undefined && next.dueMs <= endMs; next = soonest()) {
        timers.delete(next);
        nowMs = next.dueMs;
        next.fire();
      }
      nowMs = endMs;
    },
    pending: () => [...timers].map((timer) => timer.dueMs).sort((a, b) => a - b),
  };
}
