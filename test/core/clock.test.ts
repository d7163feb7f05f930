// Does time pass as it is reported?

import { expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';

test('a timer is never early, not even by a part of a millisecond', async () => {
  const waits = Array.from({ length: 200 }, (_, n) => 1 + n / 10);
  const early = await Promise.all(
    waits.map(
      (ms) =>
        new Promise<boolean>((resolve) => {
          const setAt = performance.now();
          systemClock.setTimer(ms, () => resolve(performance.now() < setAt + ms));
        }),
    ),
  );
  expect(early.filter(Boolean)).toEqual([]);
});

test('a cancelled timer does not fire', async () => {
  const came: string[] = [];
  const cancel = systemClock.setTimer(1, () => came.push('cancelled'));
  cancel();
  await new Promise<void>((resolve) => void systemClock.setTimer(3, resolve));
  expect(came).toEqual([]);
});

test('a wait longer than the longest timer of Node does not end at once', async () => {
  const came: string[] = [];
  const cancel = systemClock.setTimer(2 ** 40, () => came.push('early'));
  await new Promise<void>((resolve) => void systemClock.setTimer(20, resolve));
  cancel();
  expect(came).toEqual([]);
});

test('a timer does not keep its process alive', () => {
  const timersOfProcess = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timersOfProcess();
  const cancel = systemClock.setTimer(3_600_000, () => {});
  const during = timersOfProcess();
  cancel();
  expect(during).toBe(before);
});
