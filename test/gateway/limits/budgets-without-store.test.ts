// Is more spent than is said when the store goes, comes back empty, and the ledger does not report? A real store, which gateways reach or
// not, and one that forgets.

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Budget, worstOvershoot } from '../../../core/contract/budget.ts';
import type { SpendPage } from '../../../core/contract/spend.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import { openStore } from '../../../gateway/limits/store.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const limitMicrodollars = 1_000_000;
const gateways = 4;
const budgets: Budget[] = [{ period: 'Total', limitMicrodollars }];
const said = worstOvershoot({ limitMicrodollars, gateways, hasStore: true });
const nanodollars = (microdollars: number): number => microdollars * 1_000;

let redis: RedisServer;
let houses = 0;
let parts = new AsyncDisposableStack();

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis?.close();
});
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

/** Gateways whose ledger has reported once that nothing was spent, and tells nothing after that. */
async function openHouse() {
  const prefix = `house-${houses++}`;
  const subject = { kind: 'api-key' as const, id: 'team/key', limits: {}, budgets };
  const store = { isAway: false };
  const ledger = { isAway: false };
  const reach = <T>(call: () => Promise<T>): Promise<T> =>
    store.isAway ? Promise.reject(new Error('away')) : call();
  const open = async (name: string) => {
    const clock = makeFakeClock(1_000);
    const journal = { records: 0 };
    const own = await openStore({ url: redis.url, password: undefined, prefix });
    const limiter = new Limiter({
      clock: { ...clock, wallMs: () => 0 },
      name,
      pods: () => gateways,
      store: {
        ...own,
        reserve: (reservation) => reach(() => own.reserve(reservation)),
        settle: (settlement) => reach(() => own.settle(settlement)),
        renew: (places) => reach(() => own.renew(places)),
      },
      // The clock is moved on while it answers.
      callBudgetMs: 1_000_000,
      onStoreError: 'LocalShare',
      events: { onLimited() {}, onCall() {}, onFailure() {}, onTurn() {} },
      ledger: {
        ask: async (): Promise<SpendPage> => {
          if (ledger.isAway) throw new Error('away');
          return { sequence: 0, hasMore: false, keys: [] };
        },
        progress: { appended: () => journal.records, taken: () => 0 },
      },
    });
    await limiter.start();
    parts.adopt(limiter, (one) => one.close());
    limiter.expectBudgets();
    await until(async () => !limiter.awaitsSums, 1);
    return {
      /** What it cost: nothing where it was refused. */
      async spend(microdollars: number): Promise<number> {
        const wanted = { requests: 1, tokens: 0, nanodollars: nanodollars(microdollars), takesPlace: true };
        const outcome = await limiter.reserve([subject], wanted, 60_000);
        if (outcome?.type !== 'granted') return 0;
        journal.records++;
        outcome.settle({ tokens: 0, nanodollars: nanodollars(microdollars) });
        return microdollars;
      },
      /** It uses the store again, where that can be reached. */
      async findsStore(): Promise<void> {
        if (store.isAway) return;
        await until(async () => {
          clock.advance(2_000);
          return limiter.mode === 'store';
        }, 1);
      },
    };
  };
  const all = await Promise.all(['a', 'b', 'c', 'd'].slice(0, gateways).map(open));
  ledger.isAway = true;
  return { all, store };
}

/** By so much may be spent beyond a budget, where each request costs as much at most. */
const beyond = ({ requests, unheardMicrodollarsMax } = said.withoutStore ?? said, ofEach = 0): number =>
  unheardMicrodollarsMax + requests * ofEach;

async function inTurn(steps: readonly (() => Promise<number>)[]): Promise<number> {
  let sum = 0;
  for (const step of steps) sum += await step();
  return sum;
}

test('while the store is away each gateway lets one request exceed the budget, as the status says', async () => {
  const { all, store } = await openHouse();
  store.isAway = true;
  const spent = await inTurn(all.map((one) => () => one.spend(900_000)));
  expect(spent).toBe(gateways * 900_000);
  expect(said.withoutStore?.requests).toBe(gateways);
  expect(spent - limitMicrodollars).toBeLessThanOrEqual(beyond(undefined, 900_000));
});

test('a store that forgets during an outage of the ledger lets each gateway spend the budget, as the status says', async () => {
  const { all } = await openHouse();
  const tenth = limitMicrodollars / 10;
  const spent = await inTurn(
    all.map((one) => async () => {
      await redis.flush();
      return await inTurn(Array.from({ length: 20 }, () => () => one.spend(tenth)));
    }),
  );
  expect(spent - limitMicrodollars).toBe(beyond());
});

const largest = 400_000;
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      type: fc.constant('spend' as const),
      at: fc.nat(gateways - 1),
      amount: fc.integer({ min: 1, max: largest }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom('goes' as const, 'returns' as const, 'forgets' as const) }),
  },
);

test('whatever the store does, spend never exceeds what the status says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
      const { all, store } = await openHouse();
      let spent = 0;
      for (const one of steps) {
        if (one.type === 'spend') spent += (await all[one.at]?.spend(one.amount)) ?? 0;
        else if (one.type === 'forgets') await redis.flush();
        else {
          store.isAway = one.type === 'goes';
          await Promise.all(all.map((gateway) => gateway.findsStore()));
        }
      }
      expect(spent - limitMicrodollars).toBeLessThanOrEqual(beyond(undefined, largest));
    }),
    { numRuns: 60 },
  );
}, 60_000);
