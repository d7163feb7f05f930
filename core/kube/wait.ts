// How does a loop wait? Until a time, or until it is cancelled.

import type { Clock } from '../clock.ts';

export function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const cancel = clock.setTimer(ms, finish);
    signal.addEventListener('abort', finish, { once: true });
    function finish(): void {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    }
  });
}
