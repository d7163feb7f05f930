// Which schedules of a drill are understood, and when do they come?

import { describe, expect, test } from 'vitest';
import { nextCronMs } from '../../../operator/resources/cron.ts';
import { parseModelRoute } from '../../../operator/resources/model-route.ts';
import { route } from '../make.ts';

const withSchedule = (schedule: string) => parseModelRoute(route({ drill: { schedule } }));

describe('the next time', () => {
  test.each([
    ['0 3 * * *', '2026-11-22T03:00:00Z', '2026-11-23T03:00:00Z'],
    ['0 3 * * *', '2026-11-22T02:59:59Z', '2026-11-22T03:00:00Z'],
    ['*/5 * * * MON-FRI', '2026-11-22T12:00:00Z', '2026-11-23T00:00:00Z'],
    // The hour that a summer time leaves out, and the one that it brings twice: UTC has neither.
    ['30 2 * * *', '2026-03-28T03:00:00Z', '2026-03-29T02:30:00Z'],
    ['30 1 * * *', '2026-10-25T01:30:00Z', '2026-10-26T01:30:00Z'],
    ['0 0 29 2 *', '2026-11-22T00:00:00Z', '2028-02-29T00:00:00Z'],
    // As cron has it: a day of the month or of the week.
    ['0 0 13 * FRI', '2026-11-22T00:00:00Z', '2026-11-27T00:00:00Z'],
  ])('of %s after %s is %s', (schedule, after, expected) => {
    expect(withSchedule(schedule).ok).toBe(true);
    expect(nextCronMs(schedule, Date.parse(after))).toBe(Date.parse(expected));
  });
});

describe('an invalid schedule is reported with its path', () => {
  test.each([
    ['61 * * * *', 'must be five cron fields such as "0 3 * * *": Invalid value for minute: 61'],
    ['a b c d e', 'must be five cron fields'],
    ['*/0 * * * *', 'must be five cron fields'],
    ['0 0 30 2 *', 'never occurs'],
  ])('%s', (schedule, part) => {
    const parsed = withSchedule(schedule);
    expect(parsed.ok ? [] : parsed.problems).toEqual([
      { path: 'spec.drill.schedule', message: expect.stringContaining(part) },
    ]);
  });
});
