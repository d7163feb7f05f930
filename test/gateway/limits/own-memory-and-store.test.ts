// Do memory and store decide alike? The same steps are done in both, at the times that the store says; every number they give is
// compared, bit for bit. Were a limit a little different in the store, a deployment would change its meaning when one is added.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OwnMemory } from '../../../gateway/limits/own-memory.ts';
import type { Claim, Reservation } from '../../../gateway/limits/reservation.ts';
import { type LimitStore, openStore } from '../../../gateway/limits/store.ts';
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

const amount = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0.1, max: 40, noNaN: true }));

const meter = (name: string) =>
  fc.record({
    name: fc.constant(name),
    limit: fc.constantFrom(1, 10, 100 / 3, 120),
    capacity: fc.constantFrom(1, 2.5, 10, 100 / 3),
    // Some leak within the test.
    leakPerMs: fc.constantFrom(10 / 60_000, 100 / 3 / 60_000, 0.5),
    amount,
  });

const claim = (key: string): fc.Arbitrary<Claim> =>
  fc
    .record({
      meters: fc.tuple(fc.option(meter('requests')), fc.option(meter('tokens'))),
      placesMax: fc.option(fc.integer({ min: 1, max: 3 })),
    })
    .map(({ meters, placesMax }) => ({
      key,
      meters: meters.filter((one) => one !== null),
      ...(placesMax === null ? {} : { placesMax }),
    }));

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('reserve' as const), a: claim('a'), b: claim('b') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('settle' as const),
      which: fc.nat(20),
      change: fc.double({ min: -60, max: 600, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('renew' as const), which: fc.nat(20) }) },
);

test('any steps come out the same in memory and in the store, to the last bit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
      const run = ++runs;
      const memory = new OwnMemory();
      const named = (one: Claim): Claim => ({ ...one, key: `${run}:${one.key}` });
      const granted: (Reservation & { readonly id: string })[] = [];
      for (const [index, one] of steps.entries()) {
        if (one.type === 'reserve') {
          const reservation = { id: `${run}.${index}`, claims: [named(one.a), named(one.b)] };
          const looked = await store.look(reservation);
          expect(memory.look(reservation.claims, looked.nowMs)).toEqual(looked.readings);
          const told = await store.reserve(reservation);
          expect(memory.reserve(reservation, told.nowMs)).toEqual(told);
          if (told.isGranted) granted.push(reservation);
          continue;
        }
        const chosen = granted[one.which % Math.max(1, granted.length)];
        if (chosen === undefined) continue;
        const { id, claims } = chosen;
        if (one.type === 'renew') {
          const places = claims.map(({ key }) => ({ key, id }));
          memory.renew(places, await store.renew(places));
        } else {
          // Also twice, and behind its end: that must change nothing.
          const meters = (all: Claim) => all.meters.map((of) => ({ ...of, amount: one.change }));
          const settlement = { id, claims: claims.map((all) => ({ ...all, meters: meters(all) })) };
          memory.settle(settlement, await store.settle(settlement));
        }
      }
    }),
    { numRuns: 200 },
  );
});

/** What is used of the limit per minute, by the store and by memory at its time. */
function partsOf(key: string) {
  const memory = new OwnMemory();
  const claimed = (limit: number, amount: number): Claim[] => [
    { key, meters: [{ name: 'requests', limit, capacity: limit, leakPerMs: limit / 60_000, amount }] },
  ];
  return {
    async reserve(id: string, limit: number, amount: number) {
      const reservation = { id, claims: claimed(limit, amount) };
      const { isGranted, nowMs } = await store.reserve(reservation);
      expect([isGranted, memory.reserve(reservation, nowMs).isGranted]).toEqual([true, true]);
    },
    async settle(id: string, limit: number, amount: number) {
      const settlement = { id, claims: claimed(limit, amount) };
      memory.settle(settlement, await store.settle(settlement));
    },
    /** Together with the part of a minute that the test took. */
    async expectUsed(limit: number, parts: number) {
      const { nowMs, readings } = await store.look({ claims: claimed(limit, 1) });
      for (const [reading] of [readings, memory.look(claimed(limit, 1), nowMs)]) {
        const used = (reading?.used[0] ?? 0) / limit;
        expect(used).toBeLessThanOrEqual(parts);
        expect(used).toBeGreaterThan(parts - 0.2);
      }
    },
  };
}

test('of a limit that is lowered the same part is used as before, of one that is raised as much', async () => {
  const { reserve, expectUsed } = partsOf('lowered');
  await reserve('lowered.1', 120_000, 60_000);
  await expectUsed(6_000, 0.5);
  await expectUsed(240_000, 0.25);
  // Written by the lower one, and by the one it is raised to.
  await reserve('lowered.2', 6_000, 3_000);
  await expectUsed(6_000, 1);
  await expectUsed(12_000, 0.5);
  await reserve('lowered.3', 12_000, 6_000);
  await expectUsed(12_000, 1);
});

test('what was let in by another limit is settled by the one that holds now', async () => {
  const { reserve, settle, expectUsed } = partsOf('changed');
  await reserve('changed.1', 120_000, 60_000);
  await reserve('changed.2', 6_000, 3_000);
  await settle('changed.1', 120_000, 60_000);
  await expectUsed(6_000, 1.5);
  await reserve('changed.3', 120_000, 60_000);
  await settle('changed.2', 6_000, 3_000);
  await expectUsed(120_000, 0.6);
});

test('what the version before has written counts as it stands', async () => {
  const meter = { name: 'requests', limit: 6_000, capacity: 6_000, leakPerMs: 0.1, amount: 6_000 };
  await store.reserve({ claims: [{ key: 'older', meters: [meter] }] });
  const [key] = String(await redis.command('KEYS', '*older:levels')).match(/\{\S*/) ?? [''];
  expect(await redis.command('HDEL', key, 'requests.limit')).toBe(1);
  const { readings } = await store.look({ claims: [{ key: 'older', meters: [{ ...meter, limit: 3_000 }] }] });
  expect(readings[0]?.used[0]).toBeGreaterThan(5_000);
});

test('a reservation is held at all of its subjects or at none', async () => {
  const small = { name: 'requests', limit: 1, capacity: 1, leakPerMs: 1 / 60_000, amount: 1 };
  const large = { ...small, limit: 10, capacity: 10 };
  const ask = (id: string, ...claims: readonly Claim[]) => store.reserve({ id, claims });
  expect(await ask('1', { key: 'x', meters: [small] })).toMatchObject({ isGranted: true });
  const both = [
    { key: 'y', meters: [large], placesMax: 1 },
    { key: 'x', meters: [small] },
  ];
  expect(await ask('2', ...both)).toMatchObject({ isGranted: false });
  const after = await ask('3', { key: 'y', meters: [large], placesMax: 1 });
  expect(after).toMatchObject({ isGranted: true, readings: [{ used: [0], held: 0 }] });
});

test('of fifty at once that ask for a tenth, ten are let in', async () => {
  const tenth = { name: 'tokens', limit: 10_000, capacity: 10_000, leakPerMs: 1 / 60_000, amount: 1_000 };
  const told = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      store.reserve({ id: `at-once.${index}`, claims: [{ key: 'z', meters: [tenth] }] }),
    ),
  );
  expect(told.filter(({ isGranted }) => isGranted)).toHaveLength(10);
});

test('a store is signed in to by name, in a database of its own, and with no other password', async () => {
  await using parts = new AsyncDisposableStack();
  const guarded = parts.adopt(await startRedis('pass-word'), (one) => one.close());
  const password = 'p@ss/w:rd%41';
  await guarded.command('ACL', 'SETUSER', 'penstock', 'on', `>${password}`, '~{own:limits}:*', '+@all');
  const address = new URL(guarded.url);
  address.username = 'penstock';
  address.pathname = '/3';
  const own = await openStore({ url: address.href, password, prefix: 'own' });
  await own.connect();
  expect(await own.reserve({ id: '1', claims: [{ key: 'k', meters: [] }] })).toMatchObject({
    isGranted: true,
  });
  own.close();
  expect(await guarded.command('INFO', 'keyspace')).toMatch(/db3:keys=1/);
  const stranger = await openStore({ url: address.href, password: 'other', prefix: 'own' });
  await expect(stranger.connect().then(() => stranger.renew([{ key: 'k', id: '1' }]))).rejects.toThrow();
  stranger.close();
});

test('a store that has forgotten its scripts is told them again', async () => {
  await redis.command('SCRIPT', 'FLUSH');
  expect(await store.reserve({ claims: [] })).toMatchObject({ isGranted: true });
});
