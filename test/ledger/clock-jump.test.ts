// What does a ledger lose whose clock is ahead for a while? The same over SQLite and Postgres.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keepYoung } from '../../ledger/keep.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { until } from '../support/until.ts';
import { makeEntry } from './make-entry.ts';
import { type Databases, kindNames, kinds } from './store/stores.ts';

const today = Date.parse('2026-11-22T12:00:00Z');
const dayMs = 86_400_000;

describe.each(kindNames)('a clock that is ahead in %s', (kind) => {
  let databases: Databases;
  let store: LedgerStore;
  let cursors = 0;

  beforeAll(async () => {
    databases = await kinds[kind]();
  });
  afterAll(() => databases?.close());
  beforeEach(async () => {
    store = await (await databases.make()).open();
  });
  afterEach(() => store.close());

  const take = (nowMs: number, ...daysAgo: number[]) => {
    const entries = daysAgo.map((days) =>
      makeEntry({ id: `r.${cursors}.${days}`, startedAt: new Date(nowMs - days * dayMs).toISOString() }),
    );
    return store.take({ source: 'pod', cursor: `c.${cursors++}`, entries, asides: [] }, nowMs);
  };
  const kept = async () => (await store.records({ after: 0, limit: 100 })).length;

  /** What is removed and said where the clock says so, at the start of a ledger. */
  async function keepOnce(wallMs: number) {
    const clock = { ...makeFakeClock(), wallMs: () => wallMs };
    const odd: string[] = [];
    const failed: string[] = [];
    const keeper = keepYoung({
      store,
      clock,
      retentionDays: 90,
      sink: undefined,
      onPurged: () => {},
      onOddClock: (reason) => odd.push(reason),
      onFailed: (reason) => failed.push(reason),
    });
    await until(async () => clock.pending().length === 1);
    await keeper.close();
    expect(failed).toEqual([]);
    return odd;
  }

  test('deletes no record and no cursor that should stay, and logs that', async () => {
    await take(today, 100, 80, 1);
    expect(await keepOnce(today + 1_000 * dayMs)).toEqual([
      expect.stringContaining('the youngest record is of 2026-11-21, and the clock says 2029-08-18'),
    ]);
    expect([await kept(), (await store.state()).keptFrom]).toEqual([2, '2026-08-23']);
    expect(await store.cursorOf('pod')).toBe(`c.${cursors - 1}`);
    expect(await keepOnce(today)).toEqual([]);
    expect(await take(today, 0)).toMatchObject({ added: 1, asides: 0 });
  });

  test('rejects no later records: a day in the future is not used as a mark, and is logged again', async () => {
    await take(today, 1);
    await store.purge({ before: '2029-08-18', silentSinceMs: 0, nowMs: today + 1_000 * dayMs });
    expect(await kept()).toBe(0);
    expect(await take(today, 0)).toMatchObject({ added: 1, asides: 0 });
    expect(await keepOnce(today)).toEqual([expect.stringContaining('days before 2029-08-18')]);
    expect((await store.state()).keptFrom).toBe('2026-08-24');
    expect(await keepOnce(today)).toEqual([]);
    expect(await take(today, 89, 91)).toMatchObject({ added: 1, asides: 1 });
  });
});
