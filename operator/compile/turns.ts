// When does the same input give another result? At the next time that the compilation compares with now.

export interface Turns {
  /** There is one then. @param timeMs Unix milliseconds. */
  at(timeMs: number | undefined): void;
  /** How many of these are over: of the time, nothing else makes a difference. */
  passed(times: readonly number[]): number;
  next(): number | undefined;
}

export function startTurns(nowMs: number): Turns {
  let nextMs = Number.POSITIVE_INFINITY;
  return {
    at(timeMs) {
      if (timeMs !== undefined) nextMs = Math.min(nextMs, timeMs);
    },
    passed(times) {
      const ahead = times.filter((time) => time > nowMs);
      nextMs = Math.min(nextMs, ...ahead);
      return times.length - ahead.length;
    },
    next: () => (Number.isFinite(nextMs) ? nextMs : undefined),
  };
}
