// Two providers that answer with errors, and a gateway that has found out: the scene of all-down.test.ts and of the long form.

import { expect } from 'vitest';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import type { Wall } from '../support/wall.ts';
import { type AskOptions, ask, errorOf } from './ask.ts';
import type { House } from './house.ts';

export interface AllDown {
  readonly rig: Rig;
  readonly walls: readonly Wall[];
  /** Moves the clock of breakers on. */
  pass(ms: number): void;
}

/** @param asked the five requests that found out. */
export async function allDown(
  house: House,
  asked: AskOptions = {},
  upstream: DialectName = 'openai-chat',
): Promise<AllDown> {
  const walls = await Promise.all([1, 2].map(() => house.wallThat({ type: 'status', status: 501 })));
  // It stops, but for what the test lets pass. Whole milliseconds: of fractions, sums and differences do not come out even.
  let passedMs = Math.floor(systemClock.now());
  const clock: Clock = { ...systemClock, now: () => passedMs };
  const targets = walls.map(({ baseUrl }) => ({ baseUrl, dialects: [upstream] }));
  const rig = await startRig(tableOf(targets), { clock, random: () => 0 });
  house.onClose(() => rig.close());
  for (let n = 0; n < 5; n++) expect((await ask(rig, asked)).status).toBe(502);
  expect(callsOf(walls)).toEqual([5, 5]);
  return {
    rig,
    walls,
    pass(ms) {
      passedMs += ms;
    },
  };
}

export const callsOf = (walls: readonly Wall[]): number[] => walls.map(({ calls }) => calls.length);

/** All breakers are open, and this second's only try is made: nobody is called. */
export async function reportedAtOnce(
  { rig, walls }: AllDown,
  asked: AskOptions,
  times: number,
): Promise<void> {
  const before = callsOf(walls);
  for (let n = 0; n < times; n++) {
    const seen = await ask(rig, asked);
    expect([seen.status, errorOf(seen)?.code]).toEqual([503, 'upstream_unavailable']);
    // Automatic retries only add to the load that cannot be served.
    expect(seen.headers).toMatchObject({
      'retry-after': '5',
      'x-should-retry': 'false',
      'x-penstock-attempts': '0',
    });
  }
  expect(callsOf(walls)).toEqual(before);
}
