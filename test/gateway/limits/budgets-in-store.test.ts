// Are budgets kept by a store as by one gateway alone, and what does it forget? A real store; the ledger is what the test says.

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Budget, periodAt } from '../../../core/contract/budget.ts';
import type { SpendPage } from '../../../core/contract/spend.ts';
import { judgeShare, judgeTogether } from '../../../gateway/limits/budget.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import { OwnBudget, OwnBudgets } from '../../../gateway/limits/own-budgets.ts';
import type { BudgetClaim, SettledBudget } from '../../../gateway/limits/reservation.ts';
import { type LimitStore, openStore } from '../../../gateway/limits/store.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { openStoreAt, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

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
/** No limit is asked beside the budgets. */
const noLimits = { claims: [], amounts: { requests: 0, tokens: 0 } };
const settle = (id: string, budget: SettledBudget, by?: string) =>
  store.settle({ id, ...noLimits, used: noLimits.amounts, budgets: [budget], ...(by && { by }) });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('reserve' as const),
      amount: fc.nat(60),
      hold: fc.option(fc.nat(150), { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('settle' as const), which: fc.nat(9), cost: fc.nat(80) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reported' as const) }) },
);

test('any steps give the same result in the store as in a single gateway', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const budgets: Budget[] = [{ period: 'Total', limitMicrodollars: 1 }];
      const subject = { kind: 'tenant' as const, id: `twin-${++runs}`, limits: {}, budgets };
      const own = new OwnBudgets();
      const budget = own.askedOf(subject, 0);
      const { own: here = new OwnBudget('', subject, 'Total', periodAt('Total', 0)) } = budget[0] ?? {};
      const { key } = here;
      let known = 0;
      let spent = 0;
      let records = 0;
      const inFlight: { readonly id: string; readonly claim: BudgetClaim }[] = [];
      for (const [index, one] of steps.entries()) {
        if (one.type === 'reported') {
          own.see(records);
          known = spent;
        } else if (one.type === 'reserve') {
          const { amount, hold } = one;
          const asked = { amount, ...(hold === undefined ? {} : { hold: amount + hold }) };
          const claim = { key, limit: 200, known, own: nothing, ...asked, endMs: undefined };
          const id = `${key}.${index}`;
          const looked = await store.look({ ...noLimits, budgets: [claim], by: 'test' });
          const answer = await store.reserve({ id, ...noLimits, budgets: [claim], by: 'test' });
          expect(looked.budgets).toEqual(answer.budgets);
          const reading = answer.budgets?.[0] ?? nothing;
          expect(reading).toEqual({ spent: known + here.spent, held: here.held, reckoned: known });
          const verdict = judgeShare(claim, here, 1);
          expect([answer.isGranted, judgeTogether(claim, reading)]).toEqual([verdict === 'granted', verdict]);
          if (verdict !== 'granted') continue;
          own.hold(budget, claim.hold ?? amount);
          inFlight.push({ id, claim });
        } else {
          const [ended] = inFlight.splice(one.which % Math.max(1, inFlight.length), 1);
          if (ended === undefined) continue;
          own.settle(budget, ended.claim.hold ?? ended.claim.amount, one.cost, ++records);
          spent += one.cost;
          const settled = { key, endMs: undefined, cost: one.cost };
          await settle(ended.id, settled);
          // Reported twice, it changes nothing.
          await settle(ended.id, settled);
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
  store.reserve({ id, ...noLimits, budgets: [claim], by });
const spend = async (id: string, key: string, cost: number) => {
  expect(await ask(id, claimOf(key, { amount: cost }))).toMatchObject({ isGranted: true });
  await settle(id, { key, endMs: undefined, cost });
};

test('of fifty requests at once that need a tenth each, ten are admitted', async () => {
  const reported = await Promise.all(
    Array.from({ length: 50 }, (_, index) => ask(`crowd.${index}`, claimOf('crowd', { amount: 10 }))),
  );
  expect(reported.filter(({ isGranted }) => isGranted)).toHaveLength(10);
});

test('of fifty requests at once that may cost more than reserved, all that fit at worst are admitted, and one more', async () => {
  const crowd = claimOf('unknown', { amount: 1, hold: 40 });
  const reported = await Promise.all(
    Array.from({ length: 50 }, (_, index) => ask(`unknown.${index}`, crowd)),
  );
  expect(reported.filter(({ isGranted }) => isGranted)).toHaveLength(3);
  expect(await ask('unknown.one', claimOf('unknown'))).toMatchObject({ budgets: [{ held: 120 }] });
});

test('a store that lost its data relearns the ledger’s sums and the asking gateways’ spend since then', async () => {
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
  await settle('f5', { key: 'forgets', endMs: undefined, cost: 10 });
  expect(await ask('f6', claimOf('forgets', { known: 40 }))).toMatchObject({ budgets: [{ spent: 50 }] });
});

test('spend of several gateways during an outage of the store counts after each has asked, until the ledger reports it', async () => {
  const share = { known: 40, amount: 1 };
  expect(await ask('a1', claimOf('apart', { ...share, own: { spent: 25, held: 0 } }), 'a')).toMatchObject({
    isGranted: true,
  });
  const other = claimOf('apart', { ...share, own: { spent: 35, held: 0 } });
  const refused = await ask('b1', other, 'b');
  expect(refused).toMatchObject({ isGranted: false, budgets: [{ spent: 40, reckoned: 100 }] });
  // It may be in both: nobody learns that there is nothing left.
  expect(judgeTogether(other, refused.budgets?.[0] ?? nothing)).toBe('held');
  await ask('a2', claimOf('apart', { known: 90, amount: 1 }), 'a');
  expect(await ask('b2', claimOf('apart', { known: 90, amount: 1 }), 'b')).toMatchObject({
    isGranted: true,
    budgets: [{ spent: 90, reckoned: 90 }],
  });
});

test('a ledger sum that one gateway has read holds for all, also after a refusal', async () => {
  expect(await ask('n1', claimOf('newest', { amount: 1 }), 'c')).toMatchObject({ isGranted: true });
  expect(await ask('n2', claimOf('newest', { known: 95 }), 'a')).toMatchObject({ isGranted: false });
  const behind = claimOf('newest', { known: 10, own: { spent: 5, held: 0 } });
  expect(await ask('n3', behind, 'b')).toMatchObject({
    isGranted: false,
    budgets: [{ spent: 95, held: 1, reckoned: 100 }],
  });
  // Also where it is said with what was settled.
  const reported = { known: 99, ownSpent: 1 };
  await settle('n1', { key: 'newest', endMs: undefined, cost: 1, reported }, 'a');
  expect(await ask('n4', behind, 'b')).toMatchObject({
    isGranted: false,
    budgets: [{ spent: 99, reckoned: 105 }],
  });
});

test('the reservations of a killed gateway end with its lease', async () => {
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
  await settle('k1', { key: 'killed', endMs: undefined, cost: 80 });
  expect(await ask('k4', claimOf('killed'))).toMatchObject({ budgets: [{ spent: 0, held: 90 }] });
});

test('budgets are kept until a day after their period', async () => {
  const endMs = Date.now() + 3_600_000;
  await ask('e1', claimOf('ends', { endMs }));
  const leftMs = async (what: string): Promise<number> =>
    Number(await redis.command('PTTL', String(await redis.command('KEYS', `*ends:${what}`))));
  expect(Math.abs((await leftMs('levels')) - 25 * 3_600_000)).toBeLessThan(60_000);
  // Who was killed is named there: without it, nobody would know whose reservations are to be forgotten.
  await store.renew([{ key: 'ends', id: 'e1' }]);
  expect(Math.abs((await leftMs('places')) - 25 * 3_600_000)).toBeLessThan(60_000);
});

test('two gateways with one store spend a budget together, within one request, and each its share while the store is away', async () => {
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
  const reported = [];
  for (let index = 0; index < 8; index++) reported.push(await spendAt(0));
  expect(reported.every((type) => type === 'granted')).toBe(true);
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

describe('spend that a gateway could not report to the store in time', () => {
  /** Two gateways, of which the first settles thirty of a hundred while it is cut off. */
  async function spendCutOff(id: string, isTold: boolean) {
    const microdollars = 1_000;
    const budgets: Budget[] = [{ period: 'Total', limitMicrodollars: 100 }];
    const subject = { kind: 'api-key' as const, id, limits: {}, budgets };
    const ledger = { spent: 0, sequence: 0 };
    const askLedger = async (): Promise<SpendPage> => {
      const of = { costPicodollars: String(ledger.spent * 1_000_000) };
      const inPeriod = { since: '1970-01-01', ...of };
      const key = { apiKey: id, day: inPeriod, week: inPeriod, month: inPeriod, total: of };
      return { sequence: ledger.sequence, hasMore: false, keys: [key] };
    };
    let isCut = false;
    const open = async (name: 'a' | 'b') => {
      const clock = makeFakeClock(1_000);
      const journal = { appended: 0, taken: 0 };
      const own = await openStore({ url: redis.url, password: undefined, prefix: 'test' });
      const reach = <T>(call: () => Promise<T>): Promise<T> =>
        isCut && name === 'a' ? Promise.reject(new Error('cut off')) : call();
      const limiter = new Limiter({
        clock: { ...clock, wallMs: () => 0 },
        name: `${id}.${name}`,
        pods: () => 2,
        store: {
          ...own,
          settle: (settlement) => reach(() => own.settle(settlement)),
          renew: (places) => reach(() => own.renew(places)),
        },
        // The clock is moved on while it answers.
        callBudgetMs: 1_000_000,
        onStoreError: 'LocalShare',
        events: { onLimited() {}, onCall() {}, onFailure() {}, onTurn() {} },
        ledger: {
          ask: askLedger,
          progress: { appended: () => journal.appended, taken: () => journal.taken },
        },
      });
      await limiter.start();
      parts.adopt(limiter, (one) => one.close());
      const spend = async (amount: number): Promise<string | undefined> => {
        const nanodollars = amount * microdollars;
        const wanted = { requests: 1, tokens: 0, nanodollars, takesPlace: true };
        const outcome = await limiter.reserve([subject], wanted, 60_000);
        if (outcome?.type !== 'granted') return outcome?.type;
        journal.appended++;
        outcome.settle({ tokens: 0, nanodollars });
        return outcome.type;
      };
      return { clock, journal, limiter, spend };
    };
    const [a, b] = [await open('a'), await open('b')];
    isCut = true;
    expect(await a.spend(30)).toBe('granted');
    await until(async () => a.limiter.mode === 'local');
    if (isTold) [ledger.spent, ledger.sequence, a.journal.taken] = [30, 1, 1];
    expect(await b.spend(10)).toBe('granted');
    isCut = false;
    a.clock.advance(1_000);
    await until(async () => a.limiter.sumsAgeMs === 0 && a.limiter.mode === 'store');
    const key = `api-key:${id}:Total:`;
    await until(async () => (await redis.command('ZCARD', `{test:limits}:${key}:places`)) === 0);
    const own = { spent: 10 * microdollars, held: 0 };
    const claim = { ...claimOf(key), limit: 100 * microdollars, own };
    const { budgets: [reading] = [] } = await store.reserve({
      id: `${id}.1`,
      ...noLimits,
      budgets: [claim],
      by: `${id}.b`,
    });
    return { reading, microdollars };
  }

  test('is not counted twice if the ledger reports it at the same time', async () => {
    const { reading, microdollars } = await spendCutOff('team/reported', true);
    expect(reading).toMatchObject({ spent: 40 * microdollars, held: 0 });
  });

  test('counts for all as soon as possible, also before the ledger reports it', async () => {
    const { reading, microdollars } = await spendCutOff('team/untold', false);
    expect(reading).toMatchObject({ reckoned: 40 * microdollars, held: 0 });
  });
});
