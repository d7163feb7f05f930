// When is the next time that five cron fields name? In UTC: a clock that is put forward or back leaves no run out.

import { Cron } from 'croner';

/** A schedule must come in that time: 29 February can be eight years away. */
const probeFromMs = Date.UTC(2000, 0, 1);

/** What is wrong with it, in words that go on from its path; undefined where it can be read and some time ever comes. */
export function cronProblem(schedule: string): string | undefined {
  try {
    if (next(schedule, probeFromMs) !== undefined) return undefined;
    return 'never occurs: no month has such a day; choose another';
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'it cannot be read';
    return `must be five cron fields such as "0 3 * * *": ${why}`;
  }
}

/**
 * The first time after that one, both in Unix milliseconds.
 *
 * @throws {RangeError} where the schedule names none: then its schema let something through.
 */
export function nextCronMs(schedule: string, afterMs: number): number {
  const found = next(schedule, afterMs);
  if (found === undefined) throw new RangeError(`"${schedule}" names no time`);
  return found;
}

/** @throws {TypeError | RangeError} where it cannot be read. */
function next(schedule: string, afterMs: number): number | undefined {
  // Without a function to call it starts no timer.
  return new Cron(schedule, { mode: '5-part', timezone: 'UTC' }).nextRun(new Date(afterMs))?.getTime();
}
