// What is held of an answer, when does its client get it, and how fast?

import { expect, test } from 'vitest';
import { Cancellation } from '../../../gateway/stream/cancellation.ts';
import { HeldAnswer } from '../../../gateway/stream/held-answer.ts';

function holderOf({ bytesMax = 1000, takes = Number.POSITIVE_INFINITY } = {}) {
  const written: string[] = [];
  const drains: (() => void)[] = [];
  const reported = { held: 0, tooLong: 0 };
  const holder = new HeldAnswer(
    {
      write: (bytes) => {
        written.push(bytes.toString());
        return written.length < takes;
      },
      onDrain: (resume) => drains.push(resume),
    },
    {
      bytesMax,
      onHeld: (change) => {
        reported.held += change;
        return true;
      },
      onTooLong: () => {
        reported.tooLong++;
      },
    },
  );
  const drain = (): void => {
    for (const resume of drains.splice(0)) resume();
  };
  return { holder, written, reported, drain, drains };
}

const event = (n: number, length: number): string => `data: ${n} ${'x'.repeat(length)}\n\n`;

test('nothing is sent before its release, then everything in order', async () => {
  const { holder, written, reported } = holderOf();
  for (const n of [1, 2, 3]) expect(holder.write(Buffer.from(event(n, 10)))).toBe(true);
  expect([written, reported.held]).toEqual([[], 3 * event(1, 10).length]);
  await holder.release(new Cancellation());
  expect([written.join(''), reported]).toEqual([
    event(1, 10) + event(2, 10) + event(3, 10),
    { held: 0, tooLong: 0 },
  ]);
});

test('a slow reader gets it in portions of whole events, each after it has read the one before', async () => {
  const { holder, written, drain, drains } = holderOf({ bytesMax: 1024 * 1024, takes: 0 });
  const events = Array.from({ length: 10 }, (_, n) => event(n, 30_000));
  for (const each of events) holder.write(Buffer.from(each));
  const released = holder.release(new Cancellation());
  for (let portion = 1; written.join('') !== events.join(''); portion++) {
    expect([written.length, drains.length]).toEqual([portion, 1]);
    drain();
    // The next portion is written when the promise of the drain has been seen.
    await new Promise(setImmediate);
  }
  drain();
  await released;
  expect(written.join('')).toBe(events.join(''));
  expect(written.length).toBeGreaterThan(3);
  for (const portion of written)
    expect([portion.startsWith('data: '), portion.endsWith('\n\n')]).toEqual([true, true]);
});

test('an answer on its way to a slow reader counts until all of it is read', async () => {
  const { holder, reported, drain } = holderOf({ bytesMax: 1024 * 1024, takes: 0 });
  const bytes = Buffer.from(event(1, 70_000) + event(2, 70_000));
  holder.write(bytes);
  const released = holder.release(new Cancellation());
  expect(reported.held).toBe(bytes.length);
  drain();
  await new Promise(setImmediate);
  expect(reported.held).toBe(bytes.length);
  drain();
  await released;
  expect(reported.held).toBe(0);
});

test('an answer that is too long counts until its client has read it', () => {
  const { holder, reported, drain } = holderOf({ bytesMax: 5, takes: 0 });
  expect([holder.write(Buffer.from('too long')), reported.held]).toEqual([false, 8]);
  drain();
  expect(reported.held).toBe(0);
});

test('one event that is longer than a portion goes out in one piece', async () => {
  const { holder, written } = holderOf({ bytesMax: 1024 * 1024 });
  holder.write(Buffer.from(event(1, 200_000) + event(2, 5)));
  await holder.release(new Cancellation());
  expect(written).toEqual([event(1, 200_000), event(2, 5)]);
});

test('a client that leaves is not waited for', async () => {
  const { holder, written, reported } = holderOf({ bytesMax: 1024 * 1024, takes: 0 });
  for (let n = 0; n < 10; n++) holder.write(Buffer.from(event(n, 30_000)));
  const caller = new Cancellation();
  const released = holder.release(caller);
  caller.cancel();
  await released;
  expect([written.length, reported.held]).toEqual([1, 0]);
});

test('an answer that is too long is sent, and the rest then follows as fast as it is read', () => {
  const { holder, written, reported, drains } = holderOf({ bytesMax: 20, takes: 2 });
  expect(holder.write(Buffer.from('a'.repeat(20)))).toBe(true);
  expect(holder.write(Buffer.from('b'))).toBe(true);
  expect([written, reported]).toEqual([[`${'a'.repeat(20)}b`], { held: 0, tooLong: 1 }]);
  expect(holder.write(Buffer.from('c'))).toBe(false);
  holder.onDrain(() => {});
  expect([written.at(-1), drains.length, reported.tooLong]).toEqual(['c', 1, 1]);
});

test('nothing of a discarded answer is kept', async () => {
  const { holder, written, reported } = holderOf();
  holder.write(Buffer.from('half'));
  holder.discard();
  await holder.release(new Cancellation());
  expect([written, reported.held]).toEqual([[], 0]);
});
