// An upstream that sends much and says nothing is read slowly; one that answers never is.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EmptyInput } from '../../../gateway/attempt/empty-input.ts';

const chunkBytes = 64 * 1024;
const comments = { endedBytes: chunkBytes, usedBytes: 0, contentEvents: 0 };

function take(input: EmptyInput, now: number, { endedBytes, usedBytes, contentEvents }: typeof comments) {
  return input.take(now, endedBytes, usedBytes, contentEvents);
}

/** Reads for so long, as fast as it may; gives how many bytes came. */
function flood(step: typeof comments, durationMs: number): number {
  const input = new EmptyInput();
  let bytes = 0;
  for (let now = 1_000; now < 1_000 + durationMs; now += take(input, now, step)) bytes += step.endedBytes;
  return bytes;
}

test('a flood of comments is read at 256 KiB a second, after a first mebibyte', () => {
  expect(flood(comments, 10_000) / 1024 / 1024).toBeCloseTo(1 + 2.5, 0);
});

test('a little content in a flood of comments raises that rate only a little', () => {
  expect(flood({ ...comments, contentEvents: 1 }, 10_000) / 1024 / 1024).toBeLessThan(5);
});

test('one long event without content delays the events after it only briefly', () => {
  const input = new EmptyInput();
  expect(take(input, 0, { ...comments, endedBytes: 4 * 1024 * 1024 })).toBe(250);
  expect(take(input, 250, comments)).toBe(250);
});

test('long events without content are read four a second, after a first mebibyte', () => {
  const endedBytes = 1024 * 1024;
  expect(flood({ ...comments, endedBytes }, 10_000) / endedBytes).toBeCloseTo(1 + 40, 0);
});

test('forwarded events and content are never throttled', () => {
  const step = fc.record({
    afterMs: fc.nat(10),
    endedBytes: fc.nat(4 * 1024 * 1024),
    moreUsed: fc.nat(1000),
    contentEvents: fc.nat(3),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const input = new EmptyInput();
      let now = 0;
      for (const { afterMs, endedBytes, moreUsed, contentEvents } of steps) {
        now += afterMs;
        expect(take(input, now, { endedBytes, usedBytes: endedBytes + moreUsed, contentEvents })).toBe(0);
      }
      // An event for each token, with eight kilobytes around it.
      expect(take(input, now, { endedBytes: 8 * 8192, usedBytes: 0, contentEvents: 8 })).toBe(0);
    }),
  );
});
