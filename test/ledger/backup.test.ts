// Is what was backed up there again, from either database into either, and each record once?

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backUp, importFile } from '../../ledger/backup.ts';
import { readPage } from '../../ledger/read-page.ts';
import type { StorePlace } from '../../ledger/settings.ts';
import { copyIn } from '../../ledger/store/copy.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { makeEntry } from './make-entry.ts';
import { type Database, type Databases, kindNames, kinds } from './store/stores.ts';

const day = Date.parse('2026-11-20T00:00:00Z');
const dayMs = 86_400_000;
const entryOf = (at: number, daysAgo: number) =>
  makeEntry({
    id: `req_${at}.1`,
    namespace: `team-${at % 3}`,
    apiKey: `team-${at % 3}/key-${at % 7}`,
    startedAt: new Date(day - daysAgo * dayMs + at).toISOString(),
    costPicodollars: 1_000_000_007 * (at + 1),
  });
/** Twenty days ago, and today. */
const old = Array.from({ length: 50 }, (_, at) => entryOf(at, 20));
const young = Array.from({ length: 2_500 }, (_, at) => entryOf(1_000 + at, 0));

/** One refusal, and a window that it is in. */
const refused = refusedIn('req_refused', 'pod.1', 5);

function refusedIn(request: string, window: string, count: number) {
  const at = new Date(day).toISOString();
  const names = { namespace: 'team-0', apiKey: 'team-0/key-0', status: 429, code: 'rate_limit_exceeded' };
  const lines = [
    { kind: 'refusal', id: request, at, ...names },
    { kind: 'refusal-sums', id: window, at, windowMs: 10_000, counts: [{ ...names, count }] },
  ];
  const { refusals, refusalSums } = readPage(
    Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')),
  );
  return { refusals, refusalSums };
}

let folder: string;
const databases = new Map<(typeof kindNames)[number], Databases>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-backup-'));
  for (const kind of kindNames) databases.set(kind, await kinds[kind]());
});
afterAll(async () => {
  for (const one of databases.values()) await one.close();
  await rm(folder, { recursive: true, force: true });
});

interface Made extends Database {
  readonly store: StorePlace;
}

async function make(kind: (typeof kindNames)[number]): Promise<Made> {
  const made = await databases.get(kind)?.make();
  if (made === undefined) throw new Error(`no ${kind}`);
  const { place } = made;
  return {
    ...made,
    store: kind === 'sqlite' ? { type: 'sqlite', path: place } : { type: 'postgres', url: place },
  };
}

async function fill(store: LedgerStore): Promise<void> {
  await store.take({ source: 'pod', cursor: 'c.1', entries: old, asides: [{ line: 'x', reason: 'y' }] }, day);
  await store.take({ source: 'pod', cursor: 'c.2', entries: young, asides: [], ...refused }, day);
  await store.setSinkCursor('events', 7);
  // Records of the first days have gone, their sums stay.
  await store.purge({ before: '2026-11-10', upTo: undefined, silentSinceMs: 0, nowMs: day });
}

async function contentsOf(store: LedgerStore) {
  const period = { from: '2000-01-01', to: '2100-01-01', limit: 1_000 };
  return {
    state: await store.state(),
    daily: await store.sums({ ...period, by: ['day', 'apiKey', 'outcome'] }),
    days: await store.sums({ ...period, from: '2026-10-01', to: '2026-12-01', by: ['day'] }),
    keys: await store.changed('apiKey', 0, 1_000),
    namespaces: await store.changed('namespace', 0, 1_000),
    records: await store.records({ after: 0, limit: 100_000 }),
    asides: await store.asides(10),
    refusals: await store.refusals({ ...period, by: ['day', 'apiKey', 'code'] }),
    singleRefusals: await store.singleRefusals(period),
    cursor: await store.cursorOf('pod'),
    sink: await store.sinkCursor('events'),
  };
}

describe.each(kindNames)('of a ledger in %s', (from) => {
  test.each(kindNames)('everything is there again in %s, and the ledger goes on', async (to) => {
    const source = await make(from);
    // It goes on serving at the same time.
    await using parts = new AsyncDisposableStack();
    const served = await source.open();
    parts.defer(() => served.close());
    await fill(served);
    const path = await backUp(source.store, join(folder, `${from}-${to}`), day, undefined);

    const target = await make(to);
    await copyIn(path, target.store);
    const restored = await target.open();
    parts.defer(() => restored.close());
    const contents = await contentsOf(restored);
    expect(contents).toEqual(await contentsOf(served));
    expect(contents.records).toHaveLength(2_500);
    expect(contents.state.keptFrom).toBe('2026-11-10');
    await expect(copyIn(path, target.store)).rejects.toThrow(/has records already/);

    const again = [...young.slice(0, 3), entryOf(9_999, 0)];
    const page = { source: 'pod', cursor: 'c.3', entries: again, asides: [] };
    expect(await restored.take(page, day)).toEqual({ added: 1, duplicates: 3, asides: 0 });
    const last = (await restored.records({ after: 0, limit: 100_000 })).at(-1);
    expect(last?.sequence).toBeGreaterThan(contents.records.at(-1)?.sequence ?? 0);
  });
});

test.each(kindNames)(
  'an import into an empty ledger in %s brings everything, and a second import nothing',
  async (to) => {
    const source = await make('sqlite');
    const served = await source.open();
    await fill(served);
    const before = await contentsOf(served);
    await served.close();
    const target = await make(to);
    const doImport = () => importFile(source.place, target.store, target.open, day);
    expect(await doImport()).toBeUndefined();
    expect(await doImport()).toEqual({ added: 0, duplicates: 0, asides: 0, sumsFrom: undefined });
    const store = await target.open();
    expect(await contentsOf(store)).toEqual(before);
    await store.close();
  },
);

test.each(kindNames)(
  'imported into a ledger in %s that has begun, each record is there once, also where a run broke off',
  async (to) => {
    const source = await make('sqlite');
    const served = await source.open();
    await fill(served);
    const target = await make(to);
    const store = await target.open();
    const own = entryOf(5_000, 0);
    await store.take({ source: 'other', cursor: 'c', entries: [young[0] ?? own, own], asides: [] }, day);
    let pages = 0;
    const breaking = async (): Promise<LedgerStore> => {
      const opened = await target.open();
      return {
        ...opened,
        async take(page, nowMs) {
          if (pages++ > 0) throw new Error('killed');
          return await opened.take(page, nowMs);
        },
      };
    };
    await expect(importFile(source.place, target.store, breaking, day)).rejects.toThrow('killed');
    const rest = await importFile(source.place, target.store, target.open, day);
    expect(rest).toEqual({ added: 1_500, duplicates: 0, asides: 0, sumsFrom: '2026-11-10' });
    const [sum] = await store.sums({ from: '2026-11-20', to: '2026-11-21', by: [], limit: 1 });
    const cost = [...young, own].reduce((all, { record }) => all + BigInt(record.costPicodollars ?? 0), 0n);
    expect([sum?.sums.attempts, sum?.sums.costPicodollars]).toEqual([2_501, cost]);
    const all = { from: '2026-11-01', to: '2026-12-01', limit: 9 };
    expect(await store.refusals({ ...all, by: ['apiKey'] })).toEqual([
      { group: { apiKey: 'team-0/key-0' }, refused: 5 },
    ]);
    expect(await store.singleRefusals(all)).toHaveLength(1);
    await store.close();
    await served.close();
  },
);

test('a file of another version is refused, and named', async () => {
  const target = await make('sqlite');
  const source = await make('sqlite');
  await (await source.open()).close();
  await source.edit(["UPDATE ledger_meta SET value = '4' WHERE name = 'schema'"]);
  await expect(copyIn(source.place, target.store)).rejects.toThrow(
    /ledger\.sqlite: its tables are of version 4, this program has 7\. Use the version of Penstock that wrote it/,
  );
});
