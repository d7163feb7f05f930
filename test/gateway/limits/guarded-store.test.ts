// Who is late, the store or this process?

import { expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { GuardedStore } from '../../../gateway/limits/guarded-store.ts';
import type { ReservationAnswer } from '../../../gateway/limits/reservation.ts';
import type { LimitStore } from '../../../gateway/limits/store.ts';

const answer: ReservationAnswer = { isGranted: true, nowMs: 0, readings: [] };

/** As the real one it writes at the end of a turn; its answer takes so long from then on. */
function storeThatTakes(ms: number): LimitStore {
  const later = <Value>(value: Value): Promise<Value> =>
    new Promise((resolve) => setImmediate(() => setTimeout(resolve, ms, value)));
  return {
    reserve: () => later(answer),
    look: () => later(answer),
    settle: () => later(0),
    renew: async () => 0,
    connect: async () => {},
    reconnect: () => {},
    close: () => {},
  };
}

async function reserveInA(turnMs: number, budgetMs: number, store: LimitStore) {
  const turns: boolean[] = [];
  const events = { onCall: () => {}, onFailure: () => {}, onTurn: (isInUse: boolean) => turns.push(isInUse) };
  const guarded = new GuardedStore(store, systemClock, events, budgetMs);
  await guarded.start();
  const reserving = guarded.reserve({ id: 'one', claims: [], amounts: { requests: 1, tokens: 0 } });
  for (const until = performance.now() + turnMs; performance.now() < until; );
  const reserved = await reserving;
  await guarded.close();
  return { isAnswered: reserved !== undefined, turns };
}

test('a store is kept if this process was busy for longer than the timeout of a call', async () => {
  expect(await reserveInA(150, 100, storeThatTakes(10))).toEqual({ isAnswered: true, turns: [true] });
});

test('a store that answers after the timeout of a call is not used', async () => {
  expect(await reserveInA(0, 20, storeThatTakes(2_000))).toEqual({ isAnswered: false, turns: [true, false] });
});
