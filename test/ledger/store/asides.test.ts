// How long is a line kept that is no record? The same over SQLite and Postgres.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { type Databases, kindNames, kinds } from './stores.ts';

const lastDay = Date.parse('2026-11-21T23:59:59.999Z');
const firstDay = Date.parse('2026-11-22T00:00:00.000Z');

describe.each(kindNames)('quarantined lines in %s', (kind) => {
  let databases: Databases;
  let store: LedgerStore;

  beforeAll(async () => {
    databases = await kinds[kind]();
    store = await (await databases.make()).open();
  });
  afterAll(async () => {
    await store?.close();
    await databases?.close();
  });

  const putAside = (count: number, atMs: number) => {
    const asides = Array.from({ length: count }, (_, at) => ({
      line: `${atMs} ${at}`,
      reason: 'it is rubbish',
    }));
    return store.take({ source: 'pod', cursor: String(atMs), entries: [], asides }, atMs);
  };
  const kept = async () => (await store.asides(10_000)).length;

  test('are deleted with the records of the day of their arrival, however many, and count as none', async () => {
    // More than go in one step.
    await putAside(5_500, lastDay);
    await putAside(2, firstDay);
    expect(await store.purge({ before: '', silentSinceMs: 0, nowMs: firstDay })).toBe(0);
    expect(await kept()).toBe(5_502);
    expect(await store.purge({ before: '2026-11-22', silentSinceMs: 0, nowMs: firstDay })).toBe(0);
    expect(await kept()).toBe(2);
  });
});
