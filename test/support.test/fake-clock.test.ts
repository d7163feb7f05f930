// The fake clock is the time of many tests: it must be exact.

import { expect, test } from 'vitest';
import { makeFakeClock } from '../support/fake-clock.ts';

test('timers fire on time, soonest first, and timers of one moment in the order they were set', () => {
  const clock = makeFakeClock(1_000);
  const fired: [string, number][] = [];
  for (const [name, ms] of [
    ['c', 30],
    ['a', 10],
    ['b', 10],
  ] as const) {
    clock.setTimer(ms, () => fired.push([name, clock.now()]));
  }
  clock.advance(29);
  expect(fired).toEqual([
    ['a', 1_010],
    ['b', 1_010],
  ]);
  clock.advance(1);
  expect(fired.at(-1)).toEqual(['c', 1_030]);
  expect(clock.now()).toBe(1_030);
});

test('a timer that is set while others fire falls due in the same advance', () => {
  const clock = makeFakeClock();
  const times: number[] = [];
  const again = (): void => {
    times.push(clock.now());
    clock.setTimer(5, again);
  };
  clock.setTimer(5, again);
  clock.advance(17);
  expect(times).toEqual([5, 10, 15]);
  expect(clock.pending()).toEqual([20]);
});

test('a timer that was taken back never fires', () => {
  const clock = makeFakeClock();
  const cancel = clock.setTimer(5, () => expect.unreachable());
  cancel();
  clock.advance(10);
  expect(clock.pending()).toEqual([]);
});

test('time does not go backwards', () => {
  expect(() => makeFakeClock().advance(-1)).toThrow(RangeError);
});
