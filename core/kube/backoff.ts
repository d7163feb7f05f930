// How long to wait before trying again? Twice as long each time up to a bound, and never all at the same moment.

export interface Backoff {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** `attempt` counts failures from 0. Gives between half of the full wait and all of it; `random` is from 0 up to 1. */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  const fullMs = Math.min(backoff.lastMs, backoff.firstMs * 2 ** Math.min(attempt, 40));
  return (fullMs * (1 + random)) / 2;
}
