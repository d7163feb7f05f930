// Are budgets kept by many gateways under load, whatever becomes of the store? Four gateways, 64 callers of a thousand requests each, of
// which three in ten leave their streams, and the ledger that reads their journals.
//
// PENSTOCK_BUDGETS_REQUESTS (default 1000) says how many requests each caller makes.

import { afterEach, expect, test } from 'vitest';
import { worstOvershoot } from '../../core/contract/budget.ts';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import type { LimitSettings } from '../../gateway/process/settings.ts';
import { type CrowdTally, crowd } from '../gateway/limits/crowd.ts';
import { placesIn, portOf } from '../gateway/limits/fleet.ts';
import { type LedgerHouse, openLedgerHouse } from '../gateway/limits/ledger-house.ts';
import { type Rig, tableOf, testKey } from '../gateway/rig.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { startWall } from '../support/wall.ts';
import { type Claim, openScorecard } from './scorecard.ts';

const requests = Number(process.env.PENSTOCK_BUDGETS_REQUESTS ?? 1_000);
const callers = 64;
const gateways = 4;
/** Of a request that is answered: twenty tokens at a cent. Nothing costs more, since nobody may ask for more. */
const dollarsOfRequest = 0.2;
const total = callers * requests;

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

async function tableWith(limitDollars: number): Promise<RoutingTable> {
  const usage = { inputTokens: 5, outputTokens: 20 };
  // As long as it was asked for, and no longer: what a provider gives beyond that nobody has reserved.
  const text = 'twenty tokens at most';
  const wall = parts.adopt(await startWall({ type: 'answer', usage, text }), (one) => one.close());
  const price = { input: 0, output: 10_000_000_000, source: 'target' };
  const table = tableOf([{ baseUrl: wall.baseUrl, price }]);
  const budgets = [{ period: 'Total' as const, limitMicrodollars: Math.round(limitDollars * 1_000_000) }];
  return { ...table, keys: table.keys.map((key) => ({ ...key, budgets })) };
}

interface House {
  readonly house: LedgerHouse;
  readonly rigs: readonly Rig[];
  readonly ports: readonly number[];
}

async function houseWith(table: RoutingTable, store?: LimitSettings['store']): Promise<House> {
  const house = parts.adopt(await openLedgerHouse(), (one) => one.close());
  // The cores are shared: an answer that is late for that is no answer of a dead store.
  const limits = { gateways, store, callBudgetMs: 1_000 };
  const rigs: Rig[] = [];
  for (let index = 0; index < gateways; index++) {
    const rig = await house.startGateway(`gateway-${index}`, table, { limits });
    rigs.push(parts.adopt(rig, (one) => one.close()));
  }
  return { house, rigs, ports: rigs.map(({ url }) => portOf(url)) };
}

const metric = async ({ gateway }: Rig, name: string): Promise<string | undefined> =>
  new RegExp(`^${name} (.+)$`, 'm').exec(await gateway.metrics.registry.metrics())?.[1];

/** Settled when nothing is held, and the ledger has it all: what was spent does not change any more. */
async function quiet({ house, rigs }: House): Promise<number> {
  await until(async () => {
    const held = await Promise.all(rigs.map((rig) => metric(rig, 'penstock_limits_held')));
    return held.every((one) => one === '0');
  });
  let last = -1;
  await until(async () => {
    const now = await house.spentBy('team/key');
    const isSame = now === last;
    last = now;
    return isSame;
  });
  return last;
}

const failuresOf = ({ statuses }: CrowdTally): number =>
  Object.entries(statuses).reduce(
    (sum, [status, count]) => (status === '200' || status === '429' ? sum : sum + count),
    0,
  );

function judge(title: string, claims: readonly Claim[]): void {
  const card = openScorecard(title);
  for (const claim of claims) card.add(claim);
  card.print();
  expect(card.misses()).toEqual([]);
}

const beyond = (spent: number, limit: number): number =>
  Math.max(0, Math.ceil((spent - limit) / dollarsOfRequest - 1e-6));

test('four gateways with one store exceed a budget by one request at most, though the store stops, forgets, dies and comes back', async () => {
  const redis: RedisServer = parts.adopt(await startRedis(), (one) => one.close());
  // A third of all could be paid.
  const limit = (total / 3) * dollarsOfRequest;
  const store = { url: redis.url, password: undefined, prefix: 'budgets' };
  const all = await houseWith(await tableWith(limit), store);
  const faults: (() => Promise<void>)[] = [
    () => redis.flush(),
    async () => redis.pause(),
    async () => redis.resume(),
    () => redis.kill(),
    () => redis.startAgain(),
  ];
  let fired = 0;
  let inOrder = Promise.resolve();
  const tally = await crowd({
    ports: all.ports,
    key: testKey,
    callers,
    requests,
    cancelledOfTen: 3,
    onAnswer(count) {
      // All of them long before the budget ends: what a flush forgets, the ledger has reported by then.
      const fault = count >= ((fired + 1) * total) / 30 ? faults[fired] : undefined;
      if (fault === undefined) return;
      fired++;
      inOrder = inOrder.then(fault);
    },
  });
  await inOrder;
  const spent = await quiet(all);
  await until(async () => (await placesIn(redis)) === 0);
  judge('a budget of four gateways with a store', [
    {
      what: 'at most one request beyond it',
      tried: total,
      failed: beyond(spent, limit),
      allowed: 1,
      fired,
      figures: `$${spent.toFixed(2)} of $${limit.toFixed(2)}; ${JSON.stringify(tally.statuses)} in ${(tally.elapsedMs / 1_000).toFixed(1)} s`,
    },
    { what: 'all of it', tried: total, failed: spent < limit ? 1 : 0 },
    { what: 'nobody failed', tried: total, failed: failuresOf(tally) },
    {
      what: 'no reservation is left',
      tried: tally.left,
      failed: await placesIn(redis),
      fired: tally.left,
    },
  ]);
});

test('four gateways without a store exceed a budget by at most one request each, plus spend they could not read while the ledger was away', async () => {
  const limit = (total / 3) * dollarsOfRequest;
  const all = await houseWith(await tableWith(limit));
  const { house, ports } = all;
  const faults: (() => Promise<void>)[] = [() => house.goAway(), () => house.comeBack()];
  let fired = 0;
  let inOrder = Promise.resolve();
  const tally = await crowd({
    ports,
    key: testKey,
    callers,
    requests,
    cancelledOfTen: 3,
    onAnswer(count) {
      const fault = count >= ((fired + 1) * total) / 10 ? faults[fired] : undefined;
      if (fault === undefined) return;
      fired++;
      inOrder = inOrder.then(fault);
    },
  });
  await inOrder;
  const spent = await quiet(all);
  const bound = worstOvershoot({ limitMicrodollars: limit * 1e6, gateways, hasStore: false });
  const heard = beyond(spent, limit);
  judge('a budget of four gateways without a store', [
    {
      what: 'no more than is said',
      tried: total,
      failed: beyond(spent, limit + bound.unheardMicrodollarsMax / 1e6),
      allowed: bound.requests,
      fired,
      figures: `$${spent.toFixed(2)} of $${limit.toFixed(2)}, ${heard} requests beyond; ${JSON.stringify(tally.statuses)} in ${(tally.elapsedMs / 1_000).toFixed(1)} s`,
    },
    { what: 'nobody failed', tried: total, failed: failuresOf(tally) },
  ]);
});
