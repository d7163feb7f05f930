// How often is one upstream asked again, where many requests fail at the same time? The budget is of the target, not of each
// request: what all have seen unspent, before they waited, they must not all spend.

import { expect, test } from 'vitest';
import { startRig, tableOf } from '../gateway/rig.ts';
import { type Behaviour, startWall } from '../support/wall.ts';
import { ask } from './ask.ts';

const requests = 60;

/** A tenth of them: more than the three that anybody has. */
const allowed = requests / 10;

/** Off: it would end the repetitions before the budget does. */
const breaker = { consecutiveFailures: 0, openForMs: 5_000, maxOpenMs: 25_000, rateLimitCooldownMs: 20_000 };

/** All of them are in flight before the first one is answered. */
async function repetitions(
  fault: (number: number) => Behaviour,
): Promise<{ count: number; statuses: Set<number> }> {
  const allAsked = Promise.withResolvers<void>();
  const wall = await startWall(({ number }) => {
    if (number > requests) return { type: 'answer' };
    if (number === requests) allAsked.resolve();
    return { ...fault(number), beforeHeaders: { until: allAsked.promise } };
  });
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, providerEntry: { breaker } }]));
  try {
    const seen = await Promise.all(Array.from({ length: requests }, () => ask(rig)));
    return { count: wall.calls.length - requests, statuses: new Set(seen.map(({ status }) => status)) };
  } finally {
    rig.gateway.hurry();
    await rig.close();
    await wall.close();
  }
}

test.each<[string, (number: number) => Behaviour]>([
  [
    'a third of them with 500',
    (number) => (number % 3 === 0 ? { type: 'status', status: 500 } : { type: 'answer' }),
  ],
  [
    'all of them with 429 and a time to come back',
    () => ({ type: 'status', status: 429, headers: { 'retry-after-ms': '200' } }),
  ],
])('a tenth of immediate failures is retried: %s', async (_name, fault) => {
  const { count, statuses } = await repetitions(fault);
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(allowed);
  expect(statuses).toContain(200);
});
