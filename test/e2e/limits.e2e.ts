// Are limits kept by many gateways under load, whatever becomes of the store? Four gateways as processes, 64 callers of a thousand
// requests each, of which three in ten leave their streams.
//
// PENSTOCK_LIMITS_REQUESTS (default 1000) says how many requests each caller makes.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CrowdTally, crowd } from '../gateway/limits/crowd.ts';
import { type Fleet, launchFleet, placesIn } from '../gateway/limits/fleet.ts';
import { keyEntry, tableOf, testKey } from '../gateway/rig.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { type Claim, openScorecard } from './scorecard.ts';

const requests = Number(process.env.PENSTOCK_LIMITS_REQUESTS ?? 1_000);
const callers = 64;
const perMinute = 600;
const wideKey = `psk_${'w'.repeat(49)}`;

let redis: RedisServer;
let wall: Wall;
let fleet: Fleet;

beforeAll(async () => {
  wall = await startWall();
  redis = await startRedis('pass-word');
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  const wide = {
    requestsPerMinute: 100_000_000,
    tokensPerMinute: 1_000_000_000_000,
    maxConcurrentRequests: 10_000,
  };
  const limited = {
    ...table,
    routes: table.routes.map((route) => ({ ...route, limits: wide })),
    providers: table.providers.map((provider) => ({ ...provider, limits: wide })),
    keys: [
      { ...keyEntry(testKey, 'team/key'), limits: { requestsPerMinute: perMinute } },
      { ...keyEntry(wideKey, 'team/wide'), limits: wide },
    ],
  };
  fleet = await launchFleet(4, limited, redis, 'pass-word');
});
afterAll(async () => {
  await fleet?.close();
  await Promise.all([redis?.close(), wall?.close()]);
});

function judge(title: string, claims: readonly Claim[]): void {
  const card = openScorecard(title);
  for (const claim of claims) card.add(claim);
  card.print();
  expect(card.misses()).toEqual([]);
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

const figuresOf = ({ statuses, elapsedMs, tookMs }: CrowdTally): string =>
  `${JSON.stringify(statuses)} in ${(elapsedMs / 1_000).toFixed(1)} s; p50 ${quantile(tookMs, 0.5).toFixed(1)} ms, p99 ${quantile(tookMs, 0.99).toFixed(1)} ms`;

/** Answers that are neither an answer nor a refusal by a limit. */
const failuresOf = ({ statuses }: CrowdTally): number =>
  Object.entries(statuses).reduce(
    (sum, [status, count]) => (status === '200' || status === '429' ? sum : sum + count),
    0,
  );

test('four gateways with one store let through the limit, to the request', async () => {
  const lateBefore = await fleet.lateCalls();
  const tally = await crowd({ ports: fleet.ports, key: testKey, callers, requests });
  const late = (await fleet.lateCalls()) - lateBefore;
  const passed = tally.statuses[200] ?? 0;
  const may = perMinute + Math.floor((tally.elapsedMs / 60_000) * perMinute) + 1;
  judge('a limit of all gateways together', [
    {
      what: `no request beyond ${perMinute} at once and ten a second`,
      tried: callers * requests,
      failed: Math.max(0, passed - may) + late,
      figures: `${passed} of ${may}; ${late} store calls were late; ${figuresOf(tally)}`,
    },
    { what: 'none less', tried: may, failed: Math.max(0, may - 2 - passed) },
    { what: 'nobody failed', tried: callers * requests, failed: failuresOf(tally) },
  ]);
});

test('nobody fails and nothing stays behind while the store stops, forgets, dies and comes back', async () => {
  const total = callers * requests;
  const faults: (() => Promise<void>)[] = [
    async () => redis.pause(),
    async () => redis.resume(),
    () => redis.flush(),
    () => redis.kill(),
    () => redis.startAgain(),
  ];
  let fired = 0;
  let inOrder = Promise.resolve();
  const tally = await crowd({
    ports: fleet.ports,
    key: wideKey,
    callers,
    requests,
    leavingOfTen: 3,
    onAnswer(count) {
      const fault = count >= ((fired + 1) * total) / (faults.length + 1) ? faults[fired] : undefined;
      if (fault === undefined) return;
      fired++;
      inOrder = inOrder.then(fault);
    },
  });
  await inOrder;
  await fleet.inStore();
  await fleet.quiet();
  await until(async () => (await placesIn(redis)) === 0);
  const timeouts = await fleet.metric('penstock_limits_store_failures_total{reason="timeout"}');
  const errors = await fleet.metric('penstock_limits_store_failures_total{reason="error"}');
  judge('a store that stops, forgets, dies and comes back', [
    {
      what: 'every request was answered',
      tried: total,
      failed: total - (tally.statuses[200] ?? 0),
      fired,
      figures: figuresOf(tally),
    },
    {
      what: 'no reservation is left in the store or in a gateway',
      tried: tally.left,
      failed: await placesIn(redis),
      fired: tally.left,
      figures: `${tally.left} streams were left; store calls too late ${timeouts.join(' ')}, failed ${errors.join(' ')}`,
    },
  ]);
});
