// When is a drill run? A missed time counts once, a wish at once, and a clock that was wrong does no harm.

import { expect, test } from 'vitest';
import type { Drill } from '../../../operator/compile/drill.ts';
import { dueMs, type LastRun } from '../../../operator/drills/due.ts';

const at = (time: string): number => Date.parse(`2026-11-${time}:00Z`);
const NOW = at('22T12:00');
const nightly: Drill = { schedule: '0 3 * * *', fault: 'ServerError', takeoverWithinMs: 2_000 };
const wished: Drill = { ...nightly, trigger: 'b' };

const cases: readonly (readonly [string, Drill, LastRun | undefined, number])[] = [
  ['one that never ran is due at once', nightly, undefined, NOW],
  ['one that ran is due at the next time', nightly, { atMs: at('22T03:00') }, at('23T03:00')],
  ['one that ran by hand too', nightly, { atMs: at('22T11:00') }, at('23T03:00')],
  ['one that missed a time is due since then', nightly, { atMs: at('21T03:00') }, at('22T03:00')],
  ['one that missed many times is due once', nightly, { atMs: at('02T03:00') }, at('03T03:00')],
  ['another value of the annotation is due at once', wished, { atMs: at('22T03:00'), trigger: 'a' }, NOW],
  ['the first value too', wished, { atMs: at('22T03:00') }, NOW],
  [
    'the value of the last run is not repeated',
    wished,
    { atMs: at('22T03:00'), trigger: 'b' },
    at('23T03:00'),
  ],
  ['nor is one that was taken off', nightly, { atMs: at('22T03:00'), trigger: 'b' }, at('23T03:00')],
  ['a run in the future is no run yet', nightly, { atMs: at('29T03:00') }, at('23T03:00')],
];

test.each(cases)('%s', (_, drill, last, expected) => {
  expect(dueMs(drill, last, NOW)).toBe(expected);
});

test('several missed times become one run', () => {
  const last = { atMs: at('02T03:00') };
  expect(dueMs(nightly, last, NOW)).toBeLessThanOrEqual(NOW);
  expect(dueMs(nightly, { atMs: NOW }, NOW)).toBeGreaterThan(NOW);
});
