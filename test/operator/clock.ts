// A clock for the operator in a test: it stops until it is asked to move.

import { type FakeClock, makeFakeClock } from '../support/fake-clock.ts';

export function makeClock(): FakeClock {
  const clock = makeFakeClock();
  return { ...clock, wallMs: () => Date.UTC(2026, 0, 1) + clock.now() };
}

/** Lets everything run that waits for nothing but promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}
