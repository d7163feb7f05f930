// Does what is used of a limit run out over the window of that limit?

import { expect, test } from 'vitest';
import { Level, leakOf } from '../../../gateway/limits/level.ts';

test.each([
  ['a minute', 60_000],
  ['a day', 86_400_000],
])('of a limit for %s, half is there again after half of it', (_, windowMs) => {
  const leakPerMs = leakOf(10, 1, windowMs);
  const level = new Level(windowMs);
  level.keep(10, 10, leakPerMs, 0);
  expect(level.usedAt(10, leakPerMs, windowMs / 2)).toBeCloseTo(5);
  level.settle(2, 10, 1, windowMs / 2);
  expect(level.usedAt(10, leakPerMs, windowMs / 2)).toBeCloseTo(7);
  level.charge(1, 10, 1, windowMs, false);
  expect(level.usedAt(10, leakPerMs, windowMs)).toBeCloseTo(3);
});
