// How do others get their turn while one thing goes on for long? It stops between two of its pieces until timers and sockets were
// looked at: a promise that is settled already is no such stop.

import type { Clock } from '../core/clock.ts';

export function letOthers(clock: Pick<Clock, 'setTimer'>): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(0, resolve);
  });
}
