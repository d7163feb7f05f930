// Ring once at that time, or not at all.

import type { Clock } from '../../core/kube/clock.ts';

/** The longest a timer can wait. */
const timerMsMax = 2 ** 31 - 1;

/** In the time of the clock's `now`; each call takes the place of the one before, undefined takes it back. */
export type Alarm = (atMs: number | undefined) => void;

export function createAlarm(clock: Clock, onRing: () => void): Alarm {
  let cancel: (() => void) | undefined;
  return (atMs) => {
    cancel?.();
    cancel = undefined;
    if (atMs === undefined) return;
    // Too early, as after the longest wait, does no harm: the alarm is set anew by what it leads to.
    cancel = clock.setTimer(Math.min(Math.max(0, atMs - clock.now()), timerMsMax), () => {
      cancel = undefined;
      onRing();
    });
  };
}
