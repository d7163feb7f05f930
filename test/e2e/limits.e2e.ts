// Are limits kept by many gateways under load, with a store, whatever becomes of it, and without one? Four gateways as processes, 64
// callers of a thousand requests each, of which three in ten leave their streams where a store fails, and where there is none.
//
// PENSTOCK_LIMITS_REQUESTS (default 1000) says how many requests each caller makes.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import { type CrowdTally, crowd } from '../gateway/limits/crowd.ts';
import { type Fleet, launchFleet, placesIn } from '../gateway/limits/fleet.ts';
import { keyEntry, tableOf, testKey } from '../gateway/rig.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { type Call, startWall, type Wall } from '../support/wall.ts';
import { type Claim, openScorecard } from './scorecard.ts';

const requests = Number(process.env.PENSTOCK_LIMITS_REQUESTS ?? 1_000);
const callers = 64;
const perMinute = 600;
const tokensPerMinute = 30_000;
const places = 8;
const wideKey = `psk_${'w'.repeat(49)}`;
const tokensKey = `psk_${'t'.repeat(49)}`;
const placesKey = `psk_${'c'.repeat(49)}`;
/** What the gateway reserves for a request is less, and so is what one uses. */
const requestTokensMax = 64;

/** How long an answer takes, so that others come at the same time. */
let answerMs = 0;
let limited: RoutingTable;
let redis: RedisServer;
let wall: Wall;
let fleet: Fleet;

beforeAll(async () => {
  wall = await startWall(() => ({ type: 'answer', beforeHeaders: { ms: answerMs } }));
  redis = await startRedis('pass-word');
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  const wide = {
    requestsPerMinute: 100_000_000,
    tokensPerMinute: 1_000_000_000_000,
    maxConcurrentRequests: 10_000,
  };
  limited = {
    ...table,
    routes: table.routes.map((route) => ({ ...route, limits: wide })),
    providers: table.providers.map((provider) => ({ ...provider, limits: wide })),
    keys: [
      { ...keyEntry(testKey, 'team/key'), limits: { requestsPerMinute: perMinute } },
      { ...keyEntry(wideKey, 'team/wide'), limits: wide },
      { ...keyEntry(tokensKey, 'team/tokens'), limits: { tokensPerMinute } },
      { ...keyEntry(placesKey, 'team/places'), limits: { maxConcurrentRequests: places } },
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

test('four gateways with one store admit exactly the limit', async () => {
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

test('four gateways with one store use the tokens of a limit, and exceed it by one request at most', async () => {
  const before = wall.totals();
  const lateBefore = await fleet.lateCalls();
  const tally = await crowd({ ports: fleet.ports, key: tokensKey, callers, requests });
  const late = (await fleet.lateCalls()) - lateBefore;
  const after = wall.totals();
  const used = after.inputTokens + after.outputTokens - before.inputTokens - before.outputTokens;
  const may = tokensPerMinute + Math.ceil((tally.elapsedMs / 60_000) * tokensPerMinute);
  judge('a limit of tokens of all gateways together', [
    {
      what: `no token beyond ${tokensPerMinute} at once and ${tokensPerMinute / 60} a second, and those of one request`,
      tried: callers * requests,
      failed: Math.max(0, used - may - requestTokensMax) + late,
      fired: tally.statuses[429] ?? 0,
      figures: `${used} of ${may} tokens; ${late} store calls were late; ${figuresOf(tally)}`,
    },
    {
      what: 'none less, but for one request',
      tried: tokensPerMinute,
      failed: Math.max(0, tokensPerMinute - requestTokensMax - used),
    },
    { what: 'nobody failed', tried: callers * requests, failed: failuresOf(tally) },
  ]);
});

test('four gateways with one store have as many requests in flight as a limit allows', async () => {
  const callsBefore = wall.calls.length;
  const lateBefore = await fleet.lateCalls();
  answerMs = 20;
  const tally = await crowd({ ports: fleet.ports, key: placesKey, callers, requests });
  answerMs = 0;
  const late = (await fleet.lateCalls()) - lateBefore;
  const most = mostAtOnce(wall.calls.slice(callsBefore));
  judge('a limit of concurrent requests of all gateways together', [
    {
      // The provider writes an end down a little after its caller has read it.
      what: `no more than ${places} in flight, and one that is just ending`,
      tried: callers * requests,
      failed: Math.max(0, most - places - 1) + late,
      fired: tally.statuses[429] ?? 0,
      figures: `${most} at once at the provider; ${late} store calls were late; ${figuresOf(tally)}`,
    },
    { what: 'no place is left unused', tried: places, failed: Math.max(0, places - most) },
    { what: 'nobody failed', tried: callers * requests, failed: failuresOf(tally) },
  ]);
});

test('no request fails and no reservation stays while the store stops, forgets, dies and comes back', async () => {
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
    cancelledOfTen: 3,
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

test('four gateways without a store admit their shares, and one request more each', async () => {
  await using parts = new AsyncDisposableStack();
  const alone = parts.adopt(await launchFleet(4, limited), (one) => one.close());
  const tally = await crowd({ ports: alone.ports, key: testKey, callers, requests, cancelledOfTen: 3 });
  const passed = tally.statuses[200] ?? 0;
  const may = perMinute + Math.ceil((tally.elapsedMs / 60_000) * perMinute) + 4;
  await alone.quiet();
  const held = await alone.metric('penstock_limits_held');
  judge('a limit by shares', [
    {
      what: `no request beyond ${perMinute} at once and ten a second, and one of each gateway`,
      tried: callers * requests,
      failed: Math.max(0, passed - may),
      fired: tally.statuses[429] ?? 0,
      figures: `${passed} of ${may}; ${figuresOf(tally)}`,
    },
    { what: 'the limit is let through', tried: perMinute, failed: Math.max(0, perMinute - passed) },
    { what: 'nobody failed', tried: callers * requests, failed: failuresOf(tally) },
    {
      what: 'no reservation is left in a gateway',
      tried: tally.left,
      failed: held.reduce((sum, count) => sum + Number(count), 0),
      fired: tally.left,
      figures: `${tally.left} streams were left`,
    },
  ]);
});

function mostAtOnce(calls: readonly Pick<Call, 'startedAtMs' | 'endedAtMs'>[]): number {
  const steps = calls.flatMap(({ startedAtMs, endedAtMs = startedAtMs }) => [
    [startedAtMs, 1] as const,
    [endedAtMs, -1] as const,
  ]);
  let [now, most] = [0, 0];
  for (const [, step] of steps.toSorted(([a, up], [b, down]) => a - b || up - down)) {
    now += step;
    most = Math.max(most, now);
  }
  return most;
}
