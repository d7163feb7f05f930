// What becomes of a request whose connection, kept from an earlier one, dies as it is used again? The scene of failover.test.ts and of
// the long form (fault-stages.ts).

import { expect } from 'vitest';
import { ask } from './ask.ts';
import { expectWhole, type Variant } from './fault-matrix.ts';
import type { Mode } from './faults.ts';
import type { House } from './house.ts';
import { failoverOf } from './rotated-keys.ts';

/** A fresh connection in place of a dead one is not kept: it happens to every other request. The route allows one attempt. Gives how often. */
export async function replacedConnections(
  house: House,
  { endpoint, upstream }: Variant,
  mode: Mode,
  times: number,
): Promise<number> {
  const wall = await house.wallThat(({ number }) => ({
    type: 'stale-reuse',
    how: number % 2 === 0 ? 'reset' : 'fin',
  }));
  const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }], {
    failover: { ...failoverOf(), maxAttempts: 1 },
  });
  for (let n = 0; n < times; n++)
    expectWhole(await ask(rig, { endpoint, isStream: mode === 'stream' }), mode);
  const died = wall.calls.filter(({ isConnectionReused }) => isConnectionReused);
  expect(wall.calls.length - died.length, 'each has gone over a fresh one in the end').toBe(times);
  return died.length;
}
