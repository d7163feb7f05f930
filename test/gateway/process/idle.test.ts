// How often does a gateway that has nothing to do wake up?

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../core/clock.ts';
import { openFileJournal } from '../../../gateway/meter/journal.ts';
import { startWatchdog } from '../../../gateway/process/watchdog.ts';
import { until } from '../../support/until.ts';
import { startWall } from '../../support/wall.ts';
import { post } from '../endpoints/ask.ts';
import { startRig, tableOf } from '../rig.ts';

/** The system's, which knows how long each of its timers waits. */
function openNotingClock() {
  const waits = new Set<{ readonly ms: number }>();
  const set: number[] = [];
  const clock: Clock = {
    ...systemClock,
    setTimer(ms, callback) {
      const wait = { ms };
      waits.add(wait);
      set.push(ms);
      const cancel = systemClock.setTimer(ms, () => {
        waits.delete(wait);
        callback();
      });
      return () => {
        waits.delete(wait);
        cancel();
      };
    },
  };
  return { clock, set, waiting: () => [...waits].map(({ ms }) => ms) };
}

const isShort = (ms: number): boolean => ms < 1_000;

test('after its last request a gateway wakes up once a second at most', async () => {
  const { clock, set, waiting } = openNotingClock();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-idle-'));
  const wall = await startWall();
  const watchdog = startWatchdog(10_000, clock);
  const lost = (): void => expect.unreachable('a record was lost');
  const journal = openFileJournal(folder, clock, {
    failed: lost,
    dropped: lost,
    unacknowledged: async () => lost(),
  });
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), { clock, journal });
  try {
    const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
    expect((await post(rig, '/v1/chat/completions', body)).status).toBe(200);
    expect(set.some(isShort)).toBe(true);
    // What comes again and again is always waited for.
    await until(async () => !waiting().some(isShort));
    expect(waiting()).toContain(1_000);
  } finally {
    await rig.close();
    await watchdog.close();
    await wall.close();
    await rm(folder, { recursive: true });
  }
});
