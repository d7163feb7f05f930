// What becomes of spans and events whose collector is slow, refuses them or is gone?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExportQueue, type QueueOptions } from '../../telemetry/queue.ts';
import { makeFakeClock } from '../support/fake-clock.ts';

function makeQueue(options: Partial<QueueOptions<number>> = {}) {
  const clock = makeFakeClock();
  const sent: (readonly number[])[] = [];
  const dropped = { full: 0, failed: 0 };
  const answers: ((isTaken: boolean) => void)[] = [];
  const queue = new ExportQueue<number>({
    itemsMax: 8,
    batchMax: 3,
    delayMs: 1_000,
    sendWithinMs: 10_000,
    clock: { ...clock, wallMs: clock.now },
    send(batch) {
      sent.push(batch);
      return new Promise((resolve) => answers.push(resolve));
    },
    onDropped(reason, items) {
      dropped[reason] += items;
    },
    ...options,
  });
  const answer = async (isTaken: boolean): Promise<void> => {
    answers.shift()?.(isTaken);
    await settle();
  };
  return { queue, clock, sent, dropped, answer };
}

/** Until everything that waits for a promise has gone on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('items wait for others, and go together', async () => {
  const { queue, clock, sent } = makeQueue();
  queue.add(1);
  queue.add(2);
  clock.advance(999);
  expect(sent).toEqual([]);
  clock.advance(1);
  expect(sent).toEqual([[1, 2]]);
});

test('a full batch goes at once, but never while somebody adds to it', () => {
  const { queue, clock, sent } = makeQueue();
  for (const item of [1, 2, 3]) queue.add(item);
  expect(sent).toEqual([]);
  clock.advance(0);
  expect(sent).toEqual([[1, 2, 3]]);
});

test('one batch is under way at a time, and the next goes when it has ended', async () => {
  const { queue, clock, sent, answer } = makeQueue();
  for (const item of [1, 2, 3, 4, 5, 6]) queue.add(item);
  clock.advance(5_000);
  expect(sent).toEqual([[1, 2, 3]]);
  await answer(true);
  clock.advance(0);
  expect(sent).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

test('of too many the oldest go, and are counted', async () => {
  const { queue, clock, sent, dropped, answer } = makeQueue({ batchMax: 100 });
  for (let item = 0; item < 20; item++) queue.add(item);
  expect([queue.size, dropped]).toEqual([8, { full: 12, failed: 0 }]);
  clock.advance(1_000);
  await answer(true);
  expect(sent).toEqual([[12, 13, 14, 15, 16, 17, 18, 19]]);
});

test('what was refused, and what got no answer in time, is counted and not sent again', async () => {
  const { queue, clock, sent, dropped, answer } = makeQueue();
  queue.add(1);
  clock.advance(1_000);
  await answer(false);
  expect(dropped.failed).toBe(1);
  queue.add(2);
  clock.advance(1_000);
  clock.advance(10_000);
  await settle();
  queue.add(3);
  clock.advance(1_000);
  expect([sent, dropped.failed]).toEqual([[[1], [2], [3]], 2]);
});

describe('at the end', () => {
  test('everything is sent, also what came while a batch was under way', async () => {
    const taken: number[] = [];
    const other = makeQueue({
      send: async (batch) => {
        taken.push(...batch);
        return true;
      },
    });
    for (const item of [1, 2, 3, 4, 5, 6, 7]) other.queue.add(item);
    await other.queue.close(2_000);
    expect(taken).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(other.clock.pending()).toEqual([]);
  });

  test('a collector that is gone is waited for no longer than was said', async () => {
    const { queue, clock, dropped } = makeQueue();
    for (const item of [1, 2, 3, 4, 5]) queue.add(item);
    const closed = queue.close(2_000);
    clock.advance(2_000);
    await closed;
    // Of the five, three are under way.
    expect(dropped).toEqual({ full: 0, failed: 2 });
  });
});

// What is kept is bounded whatever happens, and nothing is lost without being counted.
test('every item is sent once, in its order, or counted', async () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 12 }) }) },
    fc.record({ advanceMs: fc.integer({ min: 0, max: 12_000 }) }),
    fc.record({ isTaken: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { queue, clock, sent, dropped, answer } = makeQueue();
      let next = 0;
      for (const one of steps) {
        if ('add' in one) for (let count = 0; count < one.add; count++) queue.add(next++);
        else if ('advanceMs' in one) clock.advance(one.advanceMs);
        else await answer(one.isTaken);
        await settle();
        expect(queue.size).toBeLessThanOrEqual(8);
        const items = sent.flat();
        expect(items).toEqual(items.toSorted((a, b) => a - b));
        expect(items.length + queue.size + dropped.full).toBe(next);
      }
    }),
    { numRuns: 100 },
  );
});
