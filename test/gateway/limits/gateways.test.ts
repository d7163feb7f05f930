// Do several gateways keep one limit together? By shares, as the operator tells each how many there are; and as processes with one
// store, which is stopped, flushed and killed under them.

import { afterEach, expect, test } from 'vitest';
import { EXCHANGE_PATH } from '../../../core/contract/exchange.ts';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import { rawCall } from '../../support/raw-client.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { startWall } from '../../support/wall.ts';
import { post } from '../endpoints/ask.ts';
import { keyEntry, startRig, tableOf, testKey } from '../rig.ts';
import { dialects } from './bodies.ts';
import { crowd } from './crowd.ts';
import { launchFleet, placesIn, portOf } from './fleet.ts';

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

const otherKey = `psk_${'o'.repeat(49)}`;

async function tableWith(requestsPerMinute: number): Promise<RoutingTable> {
  const wall = parts.adopt(await startWall(), (one) => one.close());
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  return {
    ...table,
    keys: [
      { ...keyEntry(testKey, 'team/key'), limits: { requestsPerMinute } },
      {
        ...keyEntry(otherKey, 'team/other'),
        limits: { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000, maxConcurrentRequests: 1_000 },
      },
    ],
  };
}

const token = 't'.repeat(43);
const noJournal: ReadableJournal = {
  begin() {},
  append() {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

test('four gateways without a store admit a limit by shares, and larger shares if there are fewer gateways', async () => {
  const table = await tableWith(40);
  const rigs = await Promise.all(
    [0, 1, 2, 3].map(async () => {
      const exchange = { port: 0, journal: noJournal, token: () => token };
      return parts.adopt(await startRig(table, { exchange }), (rig) => rig.close());
    }),
  );
  const tell = async (readyPods: number): Promise<void> => {
    for (const { gateway } of rigs) {
      const { status } = await rawCall(
        { port: portOf(gateway.internalUrl) },
        {
          path: EXCHANGE_PATH,
          headers: { authorization: `Bearer ${token}` },
          body: { waitMs: 0, readyPods },
        },
      );
      expect(status).toBe(200);
    }
  };
  const ports = rigs.map(({ url }) => portOf(url));
  await tell(4);
  const { statuses, elapsedMs } = await crowd({ ports, key: testKey, callers: 16, requests: 10 });
  const leaked = Math.ceil((elapsedMs / 60_000) * 40);
  expect(statuses[200]).toBeGreaterThanOrEqual(40);
  // One request beyond the share for each of them, at most.
  expect(statuses[200]).toBeLessThanOrEqual(40 + leaked + 4);
  expect((statuses[200] ?? 0) + (statuses[429] ?? 0)).toBe(160);
  // Three are gone: the one that is left has the whole limit, of which its share is used.
  await tell(1);
  const alone = await crowd({ ports: ports.slice(0, 1), key: testKey, callers: 4, requests: 15 });
  expect(alone.statuses[200]).toBeGreaterThanOrEqual(30);
  expect(alone.statuses[200]).toBeLessThanOrEqual(30 + leaked + 3);
});

test.each([
  ['by shares', 0],
  ['in one store', 1],
])('two gateways keep the limit of a namespace %s, whichever of its keys calls', async (_, stores) => {
  const redis = stores === 0 ? undefined : parts.adopt(await startRedis(), (server) => server.close());
  const table = await tableWith(100_000);
  const settings = {
    ...table.settings,
    tenantLimits: [{ namespace: 'team', limits: { requestsPerMinute: 6 } }],
  };
  const store = redis && { url: redis.url, prefix: 'test', password: undefined };
  const rigs = await Promise.all(
    [0, 1].map(async () =>
      parts.adopt(
        await startRig(
          { ...table, settings },
          { limits: { gateways: 2, callBudgetMs: 10_000, ...(store === undefined ? {} : { store }) } },
        ),
        (rig) => rig.close(),
      ),
    ),
  );
  const statuses: number[] = [];
  for (let round = 0; round < 5; round++) {
    for (const rig of rigs) {
      for (const key of [testKey, otherKey]) {
        const headers = { authorization: `Bearer ${key}` };
        statuses.push(
          (await post(rig, '/v1/chat/completions', dialects['/v1/chat/completions'], headers)).status,
        );
      }
    }
  }
  const passed = statuses.filter((status) => status === 200).length;
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
  // What leaks while the test runs passes besides.
  expect(passed).toBeGreaterThanOrEqual(6);
  expect(passed).toBeLessThanOrEqual(8);
});

test('three gateways with one store admit exactly the limit, and no request fails while the store stops, forgets, dies and comes back', async () => {
  const redis = parts.adopt(await startRedis('pass-word'), (one) => one.close());
  const fleet = parts.adopt(await launchFleet(3, await tableWith(60), redis, 'pass-word'), (one) =>
    one.close(),
  );
  const { ports } = fleet;
  const exact = await crowd({ ports, key: testKey, callers: 12, requests: 15 });
  // One comes back each second.
  const leaked = Math.floor(exact.elapsedMs / 1_000);
  expect(exact.statuses[200]).toBeGreaterThanOrEqual(60);
  // Where the machine is too busy for 25 ms, late calls are judged by shares, which together are one limit more at most.
  const ofShares = (await fleet.lateCalls()) === 0 ? 0 : 60;
  expect(exact.statuses[200]).toBeLessThanOrEqual(61 + leaked + ofShares);
  expect((exact.statuses[200] ?? 0) + (exact.statuses[429] ?? 0)).toBe(180);

  const under = async (harm: () => Promise<void> | void, mend: () => Promise<void> | void): Promise<void> => {
    const during = crowd({ ports, key: otherKey, callers: 9, requests: 30, cancelledOfTen: 3 });
    await harm();
    const { statuses, left } = await during;
    await mend();
    expect([statuses, left > 0]).toEqual([{ 200: 270 }, true]);
    await fleet.inStore();
  };
  await under(
    () => redis.pause(),
    () => redis.resume(),
  );
  await under(
    () => redis.flush(),
    () => {},
  );
  await under(
    () => redis.kill(),
    () => redis.startAgain(),
  );
  await fleet.quiet();
  await until(async () => (await placesIn(redis)) === 0);
  for (const { process } of fleet.gateways) {
    expect(process.stdout()).toMatch(/limits are not kept in the store/);
    expect(process.stdout()).not.toContain('pass-word');
  }
});
