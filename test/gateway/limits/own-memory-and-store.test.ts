// Do memory and store decide alike? The same steps are done in both, at the times that the store says; every number they give is
// compared, bit for bit. Were a limit a little different in the store, a deployment would change its meaning when one is added.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RateLimits } from '../../../core/contract/routing-table.ts';
import { OwnMemory } from '../../../gateway/limits/own-memory.ts';
import type { Claim, Reading } from '../../../gateway/limits/reservation.ts';
import type { Seat } from '../../../gateway/limits/seat.ts';
import { type LimitStore, openStore } from '../../../gateway/limits/store.ts';
import type { Amounts, Subject } from '../../../gateway/limits/subject.ts';
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

// Some leak within the test.
const limit = fc.constantFrom(1, 10, 100 / 3, 120, 30_000);
const amount = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.double({ min: 0.1, max: 40, noNaN: true }));
const amounts = fc.record({ requests: amount, tokens: amount });
const limits = fc.record(
  {
    requestsPerMinute: limit,
    tokensPerMinute: limit,
    maxConcurrentRequests: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: [] },
);

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('reserve' as const), a: limits, b: limits, amounts }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('settle' as const),
      which: fc.nat(20),
      used: fc.record({ requests: fc.nat(600), tokens: fc.double({ min: 0, max: 600, noNaN: true }) }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('renew' as const), which: fc.nat(20) }) },
);

const subjectOf = (id: string, ofSubject: RateLimits): Subject => ({
  kind: 'api-key',
  id,
  limits: ofSubject,
});

/** What memory says where the store gives an answer. */
function lookedAt(seats: readonly Seat[], asked: Amounts): readonly Reading[] {
  return seats.map(({ held, rates }) => ({
    held,
    used: rates.filter(({ counts }) => asked[counts] > 0).map(({ found }) => found),
  }));
}

test('any steps give the same result in memory and in the store, to the last bit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
      const run = ++runs;
      const memory = new OwnMemory();
      const granted: { readonly id: string; readonly seats: readonly Seat[]; readonly amounts: Amounts }[] =
        [];
      const settled = new Set<string>();
      for (const [index, one] of steps.entries()) {
        if (one.type === 'reserve') {
          const id = `${run}.${index}`;
          const wanted = { ...one.amounts, takesPlace: true };
          const seats = [subjectOf(`${run}:a`, one.a), subjectOf(`${run}:b`, one.b)].map((of) =>
            memory.seatOf(of),
          );
          const reservation = { id, claims: seats, amounts: wanted };
          const looked = await store.look(reservation);
          memory.look(seats, 1, looked.nowMs);
          expect(lookedAt(seats, wanted)).toEqual(looked.readings);
          const reported = await store.reserve(reservation);
          const isGranted = memory.reserve(seats, wanted, 1, reported.nowMs);
          expect({ isGranted, readings: lookedAt(seats, wanted) }).toEqual({
            isGranted: reported.isGranted,
            readings: reported.readings,
          });
          if (isGranted) granted.push({ id, seats, amounts: one.amounts });
          continue;
        }
        const chosen = granted[one.which % Math.max(1, granted.length)];
        if (chosen === undefined) continue;
        const { id, seats, amounts: reserved } = chosen;
        if (settled.has(id) && one.type === 'renew') continue;
        if (one.type === 'renew') await store.renew(seats.map(({ key }) => ({ key, id })));
        else {
          // The store gets it twice: that must change nothing.
          const nowMs = await store.settle({ id, claims: seats, amounts: reserved, used: one.used });
          if (!settled.has(id)) for (const seat of seats) seat.settle(reserved, one.used, 1, nowMs);
          settled.add(id);
        }
      }
    }),
    { numRuns: 200 },
  );
});

const perMinute = (key: string, requestsPerMinute: number, more: RateLimits = {}): Claim => ({
  key: `api-key:${key}`,
  limits: { requestsPerMinute, ...more },
});
const one = { requests: 1, tokens: 0 };

/** What is used of the limit per minute, by the store and by memory at its time. */
function partsOf(key: string) {
  const memory = new OwnMemory();
  const seatsOf = (requestsPerMinute: number): readonly Seat[] => [
    memory.seatOf(subjectOf(key, { requestsPerMinute })),
  ];
  return {
    async reserve(id: string, limit: number, requests: number) {
      const claims = seatsOf(limit);
      const wanted = { requests, tokens: 0, takesPlace: true };
      const { isGranted, nowMs } = await store.reserve({ id, claims, amounts: wanted });
      expect([isGranted, memory.reserve(claims, wanted, 1, nowMs)]).toEqual([true, true]);
    },
    /** @param requests were reserved. */
    async settle(id: string, limit: number, requests: number, used: number) {
      const claims = seatsOf(limit);
      const reserved = { requests, tokens: 0 };
      const inTheEnd = { requests: used, tokens: 0 };
      const nowMs = await store.settle({ id, claims, amounts: reserved, used: inTheEnd });
      memory.look(claims, 1, nowMs);
      for (const seat of claims) seat.settle(reserved, inTheEnd, 1, nowMs);
    },
    /** Together with the part of a minute that the test took. */
    async expectUsed(limit: number, parts: number) {
      const claims = seatsOf(limit);
      const { nowMs, readings } = await store.look({ claims, amounts: one });
      memory.look(claims, 1, nowMs);
      for (const [reading] of [readings, lookedAt(claims, one)]) {
        const used = (reading?.used[0] ?? 0) / limit;
        expect(used).toBeLessThanOrEqual(parts);
        expect(used).toBeGreaterThan(parts - 0.2);
      }
    },
  };
}

test('after a lower limit the same fraction is used; after a higher limit the same amount', async () => {
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

test('a request that was admitted by another limit is settled by the present one', async () => {
  const { reserve, settle, expectUsed } = partsOf('changed');
  await reserve('changed.1', 120_000, 60_000);
  await reserve('changed.2', 6_000, 3_000);
  await settle('changed.1', 120_000, 60_000, 120_000);
  await expectUsed(6_000, 1.5);
  await reserve('changed.3', 120_000, 60_000);
  await settle('changed.2', 6_000, 3_000, 6_000);
  await expectUsed(120_000, 0.6);
});

test('values written by the version before count unchanged', async () => {
  await store.reserve({ claims: [perMinute('older', 6_000)], amounts: { requests: 6_000, tokens: 0 } });
  const [key] = String(await redis.command('KEYS', '*older:levels')).match(/\{\S*/) ?? [''];
  expect(await redis.command('HDEL', key, 'requests.limit')).toBe(1);
  const { readings } = await store.look({ claims: [perMinute('older', 3_000)], amounts: one });
  expect(readings[0]?.used[0]).toBeGreaterThan(5_000);
});

test('the store keeps the use of a limit for twelve windows', async () => {
  await store.reserve({ claims: [perMinute('kept', 10)], amounts: one });
  const [key] = String(await redis.command('KEYS', '*kept:levels')).match(/\{\S*/) ?? [''];
  const keptMs = Number(await redis.command('PTTL', key));
  expect(keptMs).toBeGreaterThan(11 * 60_000);
  expect(keptMs).toBeLessThanOrEqual(12 * 60_000);
});

test('a reservation is held at all of its subjects or at none', async () => {
  const ask = (id: string, ...claims: readonly Claim[]) => store.reserve({ id, claims, amounts: one });
  const wide = perMinute('y', 10, { maxConcurrentRequests: 1 });
  expect(await ask('1', perMinute('x', 1))).toMatchObject({ isGranted: true });
  expect(await ask('2', wide, perMinute('x', 1))).toMatchObject({ isGranted: false });
  expect(await ask('3', wide)).toMatchObject({ isGranted: true, readings: [{ used: [0], held: 0 }] });
});

test('of fifty requests at once that need a tenth each, ten are admitted', async () => {
  const claims = [{ key: 'z', limits: { tokensPerMinute: 10_000 } }];
  const reported = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      store.reserve({ id: `at-once.${index}`, claims, amounts: { requests: 1, tokens: 1_000 } }),
    ),
  );
  expect(reported.filter(({ isGranted }) => isGranted)).toHaveLength(10);
});

test('a store is used with its user name, in its own database, and refuses another password', async () => {
  await using parts = new AsyncDisposableStack();
  const guarded = parts.adopt(await startRedis('pass-word'), (one) => one.close());
  const password = 'p@ss/w:rd%41';
  await guarded.command('ACL', 'SETUSER', 'penstock', 'on', `>${password}`, '~{own:limits}:*', '+@all');
  const address = new URL(guarded.url);
  address.username = 'penstock';
  address.pathname = '/3';
  const own = await openStore({ url: address.href, password, prefix: 'own' });
  await own.connect();
  expect(await own.reserve({ id: '1', claims: [{ key: 'k', limits: {} }], amounts: one })).toMatchObject({
    isGranted: true,
  });
  own.close();
  expect(await guarded.command('INFO', 'keyspace')).toMatch(/db3:keys=1/);
  const stranger = await openStore({ url: address.href, password: 'other', prefix: 'own' });
  await expect(stranger.connect().then(() => stranger.renew([{ key: 'k', id: '1' }]))).rejects.toThrow();
  stranger.close();
});

test('a store that has lost its scripts gets them again', async () => {
  await redis.command('SCRIPT', 'FLUSH');
  expect(await store.reserve({ claims: [], amounts: one })).toMatchObject({ isGranted: true });
});
