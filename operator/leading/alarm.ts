// Calls back once at a time, unless it is cancelled.

import type { Clock } from '../../core/clock.ts';

/** In the time of the clock's `now`; each call takes the place of the one before, undefined takes it back. */
type Alarm = (atMs: number | undefined) => void;

export function createAlarm(clock: Clock, onRing: () => void): Alarm {
  let cancel: (() => void) | undefined;
  return (atMs) => {
    cancel?.();
    cancel = undefined;
    if (atMs === undefined) return;
    cancel = clock.setTimer(Math.max(0, atMs - clock.now()), () => {
      cancel = undefined;
      onRing();
    });
  };
}
