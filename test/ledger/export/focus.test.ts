// Has the export of a day all of its rows, each once, however many there are?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { focusCsv } from '../../../ledger/export/focus.ts';
import type { LedgerStore, SumsQuery } from '../../../ledger/store/store.ts';
import { makeEntry } from '../make-entry.ts';
import { type Database, type Databases, kinds } from '../store/stores.ts';

let databases: Databases;
let store: LedgerStore;
let records = 0;

beforeAll(async () => {
  databases = await kinds.sqlite();
});
afterAll(async () => {
  await databases.close();
});

async function openWith(keys: readonly string[]): Promise<void> {
  const database: Database = await databases.make();
  store = await database.open();
  await use(keys, '2026-11-02');
}

async function use(keys: readonly string[], day: string): Promise<void> {
  const entries = keys.map((key) =>
    makeEntry({ id: `focus.${records++}`, startedAt: `${day}T12:00:00.000Z`, apiKey: `team/${key}` }),
  );
  await store.take({ source: 'pod', cursor: `c.${records}`, entries, asides: [] }, 0);
}

/** Keys in the order of their rows, which are asked for by twos. */
async function exported(sums: (query: SumsQuery) => ReturnType<LedgerStore['sums']>): Promise<string[]> {
  const query = { from: '2026-11-02', to: '2026-11-04', account: 'prod' };
  const lines: string[] = [];
  for await (const line of focusCsv({ sums }, query, 2)) lines.push(line);
  await store.close();
  return lines.slice(1).map((line) => /team\/(\w+)/.exec(line)?.[1] ?? line);
}

test.each([4, 5])(
  'all %i rows of a day are there, and no more than a page is asked for at once',
  async (count) => {
    const keys = ['a', 'b', 'c', 'd', 'e'].slice(0, count);
    await openWith(keys);
    await use(['z'], '2026-11-03');
    const limits = new Set<number>();
    const found = await exported((query) => {
      limits.add(query.limit);
      return store.sums(query);
    });
    expect(found).toEqual([...keys, 'z']);
    expect([...limits]).toEqual([2]);
  },
);

test('a row is not exported twice if another one is inserted before it', async () => {
  await openWith(['b', 'c', 'd', 'e']);
  let asked = 0;
  const found = await exported(async (query) => {
    if (++asked === 2) await use(['a'], '2026-11-02');
    return await store.sums(query);
  });
  expect(found).toEqual(['b', 'c', 'd', 'e']);
});

/** What is in one column of a row, quotes and all. */
async function cellOf(
  column: string,
  more: { upstreamModel?: string; costPicodollars?: bigint } = {},
  account = 'prod',
) {
  const { upstreamModel = 'm', costPicodollars = 0n } = more;
  const counts = { requests: 1, attempts: 1, estimated: 0, unpriced: 0 };
  const tokens = { input: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0 };
  const sums = { ...counts, ...tokens, costPicodollars };
  const one = { sums: async () => [{ group: { day: '2026-11-02', upstreamModel }, sums }] };
  const lines: string[] = [];
  for await (const line of focusCsv(one, { from: '2026-11-02', to: '2026-11-03', account })) lines.push(line);
  const [head = '', row = ''] = lines.map((line) => line.trimEnd());
  return row.split(',')[head.split(',').indexOf(column)];
}

test.each([
  ['@SUM', "'@SUM"],
  ['=1+1', "'=1+1"],
  ['+1-555', "'+1-555"],
  ['-1+1', "'-1+1"],
  ['=cmd|"/c calc"!A0', `"'=cmd|""/c calc""!A0"`],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['＝1', "'＝1"],
  ['gpt-4o', 'gpt-4o'],
  ["it's", "it's"],
  ['a=b', 'a=b'],
])('a model named %j is a text in a spreadsheet, never a formula', async (upstreamModel, cell) => {
  expect(await cellOf('SkuId', { upstreamModel })).toBe(cell);
});

test('a billing account that begins like a formula is a text too', async () => {
  expect(await cellOf('BillingAccountId', {}, '=account')).toBe("'=account");
});

test('numbers stay numbers, negative ones too', async () => {
  expect(await cellOf('BilledCost', { costPicodollars: -2_500_000_000_000n })).toBe('-2.5');
  expect(await cellOf('x_Attempts')).toBe('1');
  expect(await cellOf('SkuId', { upstreamModel: '-0.25' })).toBe('-0.25');
});
