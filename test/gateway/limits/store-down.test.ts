// What becomes of limits when the store dies, stops or forgets? Nobody fails, nobody waits long, and all is as before when it is back.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import type { Outcome } from '../../../gateway/limits/outcome.ts';
import { openStore } from '../../../gateway/limits/store.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

let redis: RedisServer;
const limiters: Limiter[] = [];
const callBudgetMs = 2_000;
const turns: string[] = [];

beforeEach(async () => {
  redis = await startRedis('pass-word');
  turns.length = 0;
});
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  await redis.close();
});

async function limiterOf(
  onStoreError: 'LocalShare' | 'Deny' = 'LocalShare',
  password = 'pass-word',
): Promise<Limiter> {
  const limiter = new Limiter({
    clock: systemClock,
    name: `test-${limiters.length}`,
    pods: () => 2,
    // So long that a healthy store is never late on a machine with much else to do.
    callBudgetMs,
    store: await openStore({ url: redis.url, password, prefix: 'test' }),
    onStoreError,
    events: {
      onLimited() {},
      onCall() {},
      onFailure() {},
      onTurn: (isInUse, why) => turns.push(`${isInUse ? 'on' : 'off'}: ${why}`),
    },
  });
  limiters.push(limiter);
  await limiter.start();
  return limiter;
}

const subject = {
  kind: 'api-key' as const,
  id: 'team/key',
  limits: { requestsPerMinute: 10, maxConcurrentRequests: 1_000 },
};
const ask = async (limiter: Limiter): Promise<Outcome> => {
  const outcome = await limiter.reserve([subject], { requests: 1, tokens: 0, takesPlace: true }, 60_000);
  if (outcome === undefined) throw new Error('no limit was asked');
  return outcome;
};
const letIn = async (limiter: Limiter, asked = 30): Promise<number> => {
  const outcomes = await Promise.all(Array.from({ length: asked }, () => ask(limiter)));
  return outcomes.filter(({ type }) => type === 'granted').length;
};
const placesInStore = async (): Promise<unknown> =>
  await redis.command('ZCARD', '{test:limits}:api-key:team/key:places');
const back = (limiter: Limiter) => until(async () => limiter.mode === 'store');

test('two gateways with one store let through the limit together', async () => {
  const [first, second] = [await limiterOf(), await limiterOf()];
  expect((await Promise.all([letIn(first), letIn(second)])).reduce((sum, one) => sum + one)).toBe(10);
});

describe.each([
  ['stops', () => redis.pause(), () => redis.resume()],
  ['dies', () => redis.kill(), () => redis.startAgain()],
] as const)('a store that %s', (_, harm, mend) => {
  test('is replaced by the share of each gateway, and used again when it is back', async () => {
    const limiter = await limiterOf();
    expect((await ask(limiter)).type).toBe('granted');
    await harm();
    // Of ten, half are for the other gateway, and one has been used.
    expect(await letIn(limiter)).toBe(4);
    expect(limiter.mode).toBe('local');
    const againMs = performance.now();
    expect(await letIn(limiter)).toBe(0);
    // Nobody waits for it any more.
    expect(performance.now() - againMs).toBeLessThan(callBudgetMs);
    await mend();
    await back(limiter);
    // What was asked while it stood still it may hear behind the word that nobody waits for it: that is used until it has come back.
    await until(async () => (await ask(limiter)).type === 'granted');
    expect(turns.map((turn) => turn.split(':')[0])).toEqual(['on', 'off', 'on']);
  });

  test('lets no limited request pass if so configured', async () => {
    const limiter = await limiterOf('Deny');
    await harm();
    expect((await ask(limiter)).type).toBe('unavailable');
    await mend();
    await back(limiter);
    expect((await ask(limiter)).type).toBe('granted');
  });
});

test('a gateway that has used up a limit in the store gets no share on top', async () => {
  const limiter = await limiterOf();
  expect(await letIn(limiter)).toBe(10);
  await redis.kill();
  expect(await letIn(limiter)).toBe(0);
  expect(limiter.mode).toBe('local');
});

// Well before a lease is over, with which all of it would go by itself.
test('a request that ends during an outage of the store is settled when the store is back', {
  timeout: 30_000,
}, async () => {
  const limiter = await limiterOf();
  const held = await Promise.all([ask(limiter), ask(limiter)]);
  expect(await placesInStore()).toBe(2);
  redis.pause();
  // Heard by the store, and answered too late.
  const late = await ask(limiter);
  for (const outcome of [...held, late]) if (outcome.type === 'granted') outcome.settle({ tokens: 0 });
  expect(limiter.heldCount).toBe(0);
  redis.resume();
  await back(limiter);
  await until(async () => (await placesInStore()) === 0);
});

test('a store that forgets everything goes on as an empty one', async () => {
  const limiter = await limiterOf();
  expect(await letIn(limiter)).toBe(10);
  await redis.flush();
  expect(await letIn(limiter)).toBe(10);
  expect(turns).toEqual(['on: it answers']);
});

test('the log names a store that refuses our password, without the password', async () => {
  const limiter = await limiterOf('LocalShare', 'wrong-pass-word');
  expect(limiter.mode).toBe('local');
  expect(await letIn(limiter)).toBe(5);
  expect(turns.join()).toMatch(/^off: \S/);
  expect(turns.join()).not.toContain('pass-word');
});

test('a gateway that starts without its store does not wait for it', async () => {
  await redis.kill();
  const limiter = await limiterOf();
  expect(await letIn(limiter)).toBe(5);
  await redis.startAgain();
  await back(limiter);
});
