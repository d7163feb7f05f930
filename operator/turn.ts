// Yields to the event loop between two pieces of a long computation, so that timers and sockets are served. A settled promise does not
// yield.

import type { Clock } from '../core/clock.ts';

export function letOthers(clock: Pick<Clock, 'setTimer'>): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(0, resolve);
  });
}
