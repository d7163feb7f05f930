// A request that represents several upstream calls: does it get its answer where its upstream takes one at a time?

import { afterEach, describe, expect, test } from 'vitest';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { type Behaviour, startWall } from '../support/wall.ts';
import { ask, errorOf, lineOf } from './ask.ts';

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

const shapes = [
  ['plain', false],
  ['streamed', true],
] as const;

const failing: Behaviour = { type: 'status', status: 500 };
const prompts = Array.from({ length: 12 }, (_, n) => `prompt ${n}`);

async function start(more: Partial<RigTarget> = {}) {
  const wall = parts.adopt(await startWall(), (one) => one.close());
  const clock = makeFakeClock();
  const target: RigTarget = { baseUrl: wall.baseUrl, dialects: ['openai-chat'], ...more };
  const rig = parts.adopt(
    await startRig(tableOf([target]), { clock: { ...clock, wallMs: () => Date.now() }, random: () => 0 }),
    (one) => {
      one.gateway.hurry();
      return one.close();
    },
  );
  return { wall, clock, rig };
}

const complete = (rig: Rig, isStream: boolean, prompt: string | readonly string[] = prompts) =>
  ask(rig, { endpoint: 'completions', isStream, more: { prompt } });

const openForMs = 5_000;
const breaker = { consecutiveFailures: 1, openForMs, maxOpenMs: 25_000, rateLimitCooldownMs: 20_000 };

/** Its breaker is open, and its upstream is well again. */
async function startOpened(consecutiveFailures = 1) {
  const house = await start({ providerEntry: { breaker: { ...breaker, consecutiveFailures } } });
  house.wall.script(failing);
  expect((await complete(house.rig, false, 'one')).status).toBe(502);
  house.wall.script({ type: 'answer' });
  return house;
}

describe.each(shapes)('a %s request of twelve calls', (_, isStream) => {
  test('tries an upstream with a half-open breaker with one call, then sends the others', async () => {
    const { rig, wall, clock } = await startOpened();
    clock.advance(openForMs);
    expect((await complete(rig, isStream)).status).toBe(200);
    expect(wall.calls).toHaveLength(1 + prompts.length);
  });

  test('tries the last resort with one call, then sends the others', async () => {
    const { rig, wall } = await startOpened();
    expect((await complete(rig, isStream)).status).toBe(200);
    expect(wall.calls).toHaveLength(1 + prompts.length);
  });

  test('tries a key after its cooldown with one call, then sends the others', async () => {
    const { rig, wall, clock } = await start({ keys: { one: 'secret-of-several-calls' } });
    wall.script({ type: 'status', status: 401 });
    expect((await complete(rig, isStream, 'one')).status).toBe(502);
    wall.script({ type: 'answer' });
    clock.advance(60_000);
    expect((await complete(rig, isStream)).status).toBe(200);
    expect(wall.calls).toHaveLength(1 + prompts.length);
  });

  test('sends all of them through a provider that allows three at once', async () => {
    const { rig, wall } = await start({ providerEntry: { limits: { maxConcurrentRequests: 3 } } });
    expect((await complete(rig, isStream)).status).toBe(200);
    expect(wall.calls).toHaveLength(prompts.length);
  });

  test('fails with its trial call: its caller gets that error, and no other provider is called', async () => {
    const { rig, wall, clock } = await startOpened();
    clock.advance(openForMs);
    wall.script(failing);
    const seen = await complete(rig, isStream);
    expect([seen.status, errorOf(seen)?.code, seen.headers['x-penstock-attempts']]).toEqual([
      502,
      'upstream_error',
      '1',
    ]);
    expect(rig.records.map(lineOf)).toEqual(Array(2).fill('1 t0 failed status_500 platform'));
  });

  test('fails at once if no provider may be called', async () => {
    const { rig, wall } = await startOpened();
    wall.script(failing);
    // The last resort, which is asked once a second.
    expect((await complete(rig, isStream)).status).toBe(502);
    const seen = await complete(rig, isStream);
    expect([seen.status, errorOf(seen)?.code]).toEqual([503, 'upstream_unavailable']);
    expect(wall.calls).toHaveLength(2);
  });

  test('stops at a quota that the first of them have used up', async () => {
    const { rig, wall } = await start({ providerEntry: { limits: { requestsPerMinute: 4 } } });
    const seen = await complete(rig, isStream);
    expect(errorOf(seen)?.code).toBe('rate_limit_exceeded');
    if (!isStream) expect([seen.status, seen.headers['retry-after']]).toEqual([429, '15']);
    expect(wall.calls).toHaveLength(4);
  });
});
