// Do all pages of a browser together hold few streams, and does each run? With the locks of a real lock manager.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { STREAMS_MAX, withStreamSlot } from '../../../dashboard/pages/shell/stream-slots.ts';

/** Somebody who wants one; `let go` ends what they hold. */
function asker() {
  const over = new AbortController();
  const release = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const state = { isHolding: false };
  const ended = withStreamSlot(over.signal, async () => {
    state.isHolding = true;
    held.resolve();
    await release.promise;
    state.isHolding = false;
  });
  return { state, held: held.promise, ended, giveUp: () => over.abort(), release: release.resolve };
}

const never = new AbortController().signal;

/** All that was asked for before has been given or has to wait. */
const granted = async () => {
  for (let at = 0; at < STREAMS_MAX; at += 1)
    await navigator.locks.request(`penstock-stream-${at}`, { ifAvailable: true }, async () => {});
};

test('with any number of views, the limit holds, and no slot is free while a view waits', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 25 }), async (steps) => {
      const all: ReturnType<typeof asker>[] = [];
      const waiting = new Set<ReturnType<typeof asker>>();
      for (const step of steps) {
        if (step === 0) {
          const one = asker();
          all.push(one);
          waiting.add(one);
          void one.ended.then(() => waiting.delete(one));
        } else {
          const isHolder = step === 1;
          const one = [...waiting].find(({ state }) => state.isHolding === isHolder);
          one?.giveUp();
          one?.release();
          if (one !== undefined) await one.ended;
        }
        for (let turn = 0; turn < 4; turn += 1) await granted();
        const held = all.filter(({ state }) => state.isHolding).length;
        expect(held).toBe(Math.min(STREAMS_MAX, waiting.size));
      }
      for (const one of all) {
        one.giveUp();
        one.release();
      }
      await Promise.all(all.map(({ ended }) => ended));
    }),
    { numRuns: 50 },
  );
});

test('a waiting view is next when a slot is free', async () => {
  const holders = Array.from({ length: STREAMS_MAX }, asker);
  await Promise.all(holders.map(({ held }) => held));
  const next = asker();
  await granted();
  expect(next.state.isHolding).toBe(false);
  holders[2]?.release();
  await next.held;
  for (const one of [...holders, next]) one.release();
  await Promise.all([...holders, next].map(({ ended }) => ended));
});

test('a view that gave up holds no slot', async () => {
  let isAsked = false;
  await withStreamSlot(AbortSignal.abort(), async () => {
    isAsked = true;
  });
  expect(isAsked).toBe(false);
});

test('a failure while holding a slot is reported, and the slot is free', async () => {
  for (let round = 0; round <= STREAMS_MAX; round += 1)
    await expect(
      withStreamSlot(never, async () => {
        throw new Error('away');
      }),
    ).rejects.toThrow('away');
});
