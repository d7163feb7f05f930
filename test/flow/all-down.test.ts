// What becomes of requests while every breaker is open? One a second finds out whether the least bad is back, all others
// are told at once. How quickly, under load: test/e2e/all-down.e2e.ts.

import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../gateway/clock.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { ask, errorOf } from './ask.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Stage {
  readonly rig: Rig;
  readonly walls: readonly Wall[];
  /** Moves the clock of breakers on. */
  pass(ms: number): void;
}

/** Two targets, both overloaded, and five requests that found out. */
async function allDown(): Promise<Stage> {
  const walls = await Promise.all([1, 2].map(() => startWall({ type: 'status', status: 503 })));
  for (const wall of walls) closers.push(() => wall.close());
  // It stands still, but for what the test lets pass. Whole milliseconds: of fractions, sums and differences do not come out even.
  let passedMs = Math.floor(systemClock.now());
  const clock: Clock = { ...systemClock, now: () => passedMs };
  const rig = await startRig(tableOf(walls.map(({ baseUrl }) => ({ baseUrl }))), { clock, random: () => 0 });
  closers.push(() => rig.close());
  for (let n = 0; n < 5; n++) expect((await ask(rig)).status).toBe(502);
  expect(callsOf(walls)).toEqual([5, 5]);
  return {
    rig,
    walls,
    pass(ms) {
      passedMs += ms;
    },
  };
}

const callsOf = (walls: readonly Wall[]): number[] => walls.map(({ calls }) => calls.length);

test('one request a second is tried at the least bad, a hundred others get 503 without a call', async () => {
  const { rig, walls, pass } = await allDown();
  expect((await ask(rig)).status).toBe(502);
  expect(callsOf(walls)).toEqual([6, 5]);
  for (let n = 0; n < 100; n++) {
    const seen = await ask(rig, { isStream: n % 2 === 0 });
    expect([seen.status, errorOf(seen)?.code]).toEqual([503, 'upstream_unavailable']);
    // Whoever asks again by itself only adds to what cannot be served.
    expect(seen.headers).toMatchObject({
      'retry-after': '5',
      'x-should-retry': 'false',
      'x-penstock-attempts': '0',
    });
  }
  expect(callsOf(walls)).toEqual([6, 5]);
  pass(1_000);
  expect((await ask(rig)).status).toBe(502);
  expect((await ask(rig)).headers['retry-after']).toBe('4');
  expect(callsOf(walls)).toEqual([7, 5]);
  const metrics = await rig.gateway.metrics.registry.metrics();
  expect(metrics).toContain('penstock_no_target_total{model="m"} 101');
  expect(metrics).toMatch(/penstock_breaker_state\{provider="platform\/p1",.*state="open"\} 1/);
});

test('what answers as the last resort is back before its time, and serves again after a second answer', async () => {
  const { rig, walls, pass } = await allDown();
  for (const wall of walls) wall.script({ type: 'answer' });
  for (let n = 0; n < 2; n++) {
    pass(10);
    expect((await ask(rig)).status).toBe(200);
  }
  expect(callsOf(walls)).toEqual([7, 5]);
  expect(await rig.gateway.metrics.registry.metrics()).toMatch(
    /penstock_breaker_state\{provider="platform\/p0",.*state="slow-start"\} 1/,
  );
});
