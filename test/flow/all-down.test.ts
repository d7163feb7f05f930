// What becomes of requests while every breaker is open? One a second finds out whether the least bad is back, all others
// are reported at once. How quickly, under load: test/e2e/all-down.e2e.ts.

import { expect, test } from 'vitest';
import { allDown, callsOf, reportedAtOnce } from './all-down.ts';
import { ask } from './ask.ts';
import { inHouse } from './house.ts';

test(
  'one request a second tries the least bad target, a hundred others get 503 without a call',
  inHouse(async (house) => {
    const stage = await allDown(house);
    const { rig, walls, pass } = stage;
    expect((await ask(rig)).status).toBe(502);
    expect(callsOf(walls)).toEqual([6, 5]);
    await reportedAtOnce(stage, { isStream: true }, 50);
    await reportedAtOnce(stage, { isStream: false }, 50);
    pass(1_000);
    expect((await ask(rig)).status).toBe(502);
    expect((await ask(rig)).headers['retry-after']).toBe('4');
    expect(callsOf(walls)).toEqual([7, 5]);
    const metrics = await rig.gateway.metrics.registry.metrics();
    expect(metrics).toContain('penstock_no_target_total{model="m"} 101');
    expect(metrics).toMatch(/penstock_breaker_state\{provider="platform\/p1",.*state="open"\} 1/);
  }),
);

test(
  'an answer as the last resort restores its target early, and a second answer closes the breaker',
  inHouse(async (house) => {
    const { rig, walls, pass } = await allDown(house);
    for (const wall of walls) wall.script({ type: 'answer' });
    for (let n = 0; n < 2; n++) {
      pass(10);
      expect((await ask(rig)).status).toBe(200);
    }
    expect(callsOf(walls)).toEqual([7, 5]);
    expect(await rig.gateway.metrics.registry.metrics()).toMatch(
      /penstock_breaker_state\{provider="platform\/p0",.*state="slow-start"\} 1/,
    );
  }),
);
