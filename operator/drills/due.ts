// When is a drill due? Pure. Missed times count as one run.

import type { Drill } from '../compile/drill.ts';
import { nextCronMs } from '../resources/cron.ts';

export interface LastRun {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** As it was then. */
  readonly trigger?: string | undefined;
}

/**
 * Unix milliseconds, which may have passed. A drill that never ran is due at once: its author wants to know the state of the route.
 */
export function dueMs(drill: Drill, last: LastRun | undefined, nowMs: number): number {
  if (last === undefined) return nowMs;
  if (drill.trigger !== undefined && drill.trigger !== last.trigger) return nowMs;
  // A clock may have been ahead: what lies in the future was not run yet.
  return nextCronMs(drill.schedule, Math.min(last.atMs, nowMs));
}
