// Are budgets kept by a store as by one gateway alone, and what does it forget? A real store; the ledger is what the test says.

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Budget } from '../../../gateway/contract/budget.ts';
import { judgeShare, judgeTogether } from '../../../gateway/limits/budget.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import { OwnBudgets } from '../../../gateway/limits/own-budgets.ts';
import type { BudgetClaim } from '../../../gateway/limits/reservation.ts';
import { type LimitStore, openStore } from '../../../gateway/limits/store.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { openStoreAt, type RedisServer, startRedis } from '../../support/redis-server.ts';

let redis: RedisServer;
let store: LimitStore;
let runs = 0;

beforeAll(async () => {
  redis = await startRedis();
  store = await openStoreAt(redis);
});
afterAll(async () => {
  store?.close();
  await redis?.close();
});

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

const nothing = { spent: 0, held: 0 };
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('reserve' as const), amount: fc.nat(60) }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('settle' as const), which: fc.nat(9), cost: fc.nat(80) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('told' as const) }) },
);

test('any steps come out the same in the store as in one gateway alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const key = `twin:${++runs}`;
      const own = new OwnBudgets();
      let known = 0;
      let spent = 0;
      let records = 0;
      const underWay: { readonly id: string; readonly claim: BudgetClaim }[] = [];
      for (const [index, one] of steps.entries()) {
        if (one.type === 'told') {
          own.see(records);
          known = spent;
        } else if (one.type === 'reserve') {
          const claim = { key, limit: 200, known, own: nothing, amount: one.amount, endMs: undefined };
          const id = `${key}.${index}`;
          const answer = await store.reserve({ id, claims: [], budgets: [claim], by: 'test' });
          const reading = answer.budgets?.[0] ?? nothing;
          const here = own.read(key);
          expect(reading).toEqual({ spent: known + here.spent, held: here.held, reckoned: known });
          const verdict = judgeShare(claim, here, 1);
          expect([answer.isGranted, judgeTogether(claim, reading)]).toEqual([verdict === 'granted', verdict]);
          if (verdict !== 'granted') continue;
          own.hold(claim);
          underWay.push({ id, claim });
        } else {
          const [ended] = underWay.splice(one.which % Math.max(1, underWay.length), 1);
          if (ended === undefined) continue;
          own.settle(ended.claim, one.cost, ++records);
          spent += one.cost;
          const settlement = {
            id: ended.id,
            claims: [],
            budgets: [{ key, endMs: undefined, cost: one.cost }],
          };
          await store.settle(settlement);
          // Told twice, it changes nothing.
          await store.settle(settlement);
        }
      }
    }),
    { numRuns: 150 },
  );
});

const claimOf = (key: string, more: Partial<BudgetClaim> = {}): BudgetClaim => ({
  key,
  limit: 100,
  known: 0,
  own: nothing,
  amount: 30,
  endMs: undefined,
  ...more,
});
const ask = (id: string, claim: BudgetClaim, by = 'test') =>
  store.reserve({ id, claims: [], budgets: [claim], by });
const spend = async (id: string, key: string, cost: number) => {
  expect(await ask(id, claimOf(key, { amount: cost }))).toMatchObject({ isGranted: true });
  await store.settle({ id, claims: [], budgets: [{ key, endMs: undefined, cost }] });
};

test('of fifty at once that ask for a tenth, ten are let in', async () => {
  const told = await Promise.all(
    Array.from({ length: 50 }, (_, index) => ask(`crowd.${index}`, claimOf('crowd', { amount: 10 }))),
  );
  expect(told.filter(({ isGranted }) => isGranted)).toHaveLength(10);
});

test('a store that forgets knows again what the ledger knows, and what whoever asks has spent since', async () => {
  await spend('f1', 'forgets', 90);
  await redis.flush();
  expect(await ask('f2', claimOf('forgets', { known: 100 }))).toMatchObject({ isGranted: false });
  await redis.flush();
  expect(await ask('f3', claimOf('forgets', { known: 40, own: { spent: 60, held: 0 } }))).toMatchObject({
    isGranted: false,
    budgets: [{ spent: 40, held: 0, reckoned: 100 }],
  });
  expect(await ask('f4', claimOf('forgets', { known: 40, own: { spent: 20, held: 20 } }))).toMatchObject({
    isGranted: false,
  });
  // What the ledger may have too is not kept: it is not counted twice for good.
  expect(await ask('f5', claimOf('forgets', { known: 40 }))).toMatchObject({ isGranted: true });
  await store.settle({ id: 'f5', claims: [], budgets: [{ key: 'forgets', endMs: undefined, cost: 10 }] });
  expect(await ask('f6', claimOf('forgets', { known: 40 }))).toMatchObject({ budgets: [{ spent: 50 }] });
});

test('what several gateways spent while the store was away counts as soon as each has asked, and until the ledger has told', async () => {
  const share = { known: 40, amount: 1 };
  expect(await ask('a1', claimOf('apart', { ...share, own: { spent: 25, held: 0 } }), 'a')).toMatchObject({
    isGranted: true,
  });
  const other = claimOf('apart', { ...share, own: { spent: 35, held: 0 } });
  const refused = await ask('b1', other, 'b');
  expect(refused).toMatchObject({ isGranted: false, budgets: [{ spent: 40, reckoned: 100 }] });
  // It may be in both: nobody is told that there is nothing left.
  expect(judgeTogether(other, refused.budgets?.[0] ?? nothing)).toBe('held');
  await ask('a2', claimOf('apart', { known: 90, amount: 1 }), 'a');
  expect(await ask('b2', claimOf('apart', { known: 90, amount: 1 }), 'b')).toMatchObject({
    isGranted: true,
    budgets: [{ spent: 90, reckoned: 90 }],
  });
});

test('what one gateway has heard of the ledger holds for all, also where it was refused', async () => {
  expect(await ask('n1', claimOf('newest', { amount: 1 }), 'c')).toMatchObject({ isGranted: true });
  expect(await ask('n2', claimOf('newest', { known: 95 }), 'a')).toMatchObject({ isGranted: false });
  const behind = claimOf('newest', { known: 10, own: { spent: 5, held: 0 } });
  expect(await ask('n3', behind, 'b')).toMatchObject({
    isGranted: false,
    budgets: [{ spent: 95, held: 1, reckoned: 100 }],
  });
  // Also where it is said with what was settled.
  const told = { known: 99, ownSpent: 1 };
  await store.settle({
    id: 'n1',
    claims: [],
    budgets: [{ key: 'newest', endMs: undefined, cost: 1, told }],
    by: 'a',
  });
  expect(await ask('n4', behind, 'b')).toMatchObject({
    isGranted: false,
    budgets: [{ spent: 99, reckoned: 105 }],
  });
});

test('what a gateway that was killed had reserved comes back when its lease is over', async () => {
  expect(await ask('k0', claimOf('killed', { amount: 10 }))).toMatchObject({ isGranted: true });
  expect(await ask('k1', claimOf('killed', { amount: 80 }))).toMatchObject({ isGranted: true });
  expect(await ask('k2', claimOf('killed', { amount: 80 }))).toMatchObject({
    isGranted: false,
    budgets: [{ spent: 0, held: 90 }],
  });
  const places = String(await redis.command('KEYS', '*killed:places'));
  await redis.command('ZADD', places, '1', 'k1');
  expect(await ask('k3', claimOf('killed', { amount: 80 }))).toMatchObject({
    isGranted: true,
    budgets: [{ spent: 0, held: 10 }],
  });
  // Too late: the ledger will tell of it.
  await store.settle({ id: 'k1', claims: [], budgets: [{ key: 'killed', endMs: undefined, cost: 80 }] });
  expect(await ask('k4', claimOf('killed'))).toMatchObject({ budgets: [{ spent: 0, held: 90 }] });
});

test('budgets are kept until a day after their period', async () => {
  const endMs = Date.now() + 3_600_000;
  await ask('e1', claimOf('ends', { endMs }));
  const ttl = Number(await redis.command('PTTL', String(await redis.command('KEYS', '*ends:levels'))));
  expect(Math.abs(ttl - 25 * 3_600_000)).toBeLessThan(60_000);
});

test('two gateways with one store spend a budget together, to one request, and each its share when the store is away', async () => {
  const guarded = parts.adopt(await startRedis(), (one) => one.close());
  const budget: Budget = { period: 'Total', limitMicrodollars: 100 };
  const subject = { kind: 'tenant' as const, id: 'team', limits: {}, budgets: [budget] };
  const wanted = { requests: 1, tokens: 0, nanodollars: 10_000, takesPlace: true };
  const limiters = await Promise.all(
    ['a', 'b'].map(async (name) => {
      const limiter = new Limiter({
        clock: { ...makeFakeClock(1_000), wallMs: () => 0 },
        name,
        pods: () => 2,
        store: await openStore({ url: guarded.url, password: undefined, prefix: 'two' }),
        onStoreError: 'LocalShare',
        events: { onLimited() {}, onCall() {}, onFailure() {}, onTurn() {} },
      });
      await limiter.start();
      return parts.adopt(limiter, (one) => one.close());
    }),
  );
  const spendAt = async (at: number): Promise<string | undefined> => {
    const outcome = await limiters[at]?.reserve([subject], wanted, 1_000);
    if (outcome?.type === 'granted') outcome.settle({ tokens: 0, nanodollars: 10_000 });
    return outcome?.type;
  };
  // One alone may have it all.
  const told = [];
  for (let index = 0; index < 8; index++) told.push(await spendAt(0));
  expect(told.every((type) => type === 'granted')).toBe(true);
  expect([await spendAt(1), await spendAt(1), await spendAt(1)]).toEqual([
    'granted',
    'granted',
    'over-budget',
  ]);
  expect(limiters.map(({ heldCount }) => heldCount)).toEqual([0, 0]);
  await guarded.kill();
  // Its share is 50, of which it has spent 80 and 20.
  expect(await spendAt(0)).toBe('over-budget');
  const byShare = [];
  for (let index = 0; index < 6; index++) byShare.push(await spendAt(1));
  expect(byShare.filter((type) => type === 'granted')).toHaveLength(3);
});
