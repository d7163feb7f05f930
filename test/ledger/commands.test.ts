// What do the commands of the ledger print?

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../../ledger/commands.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeEntry } from './make-entry.ts';

let folder: string;
const november = ['--from', '2026-11-01', '--to', '2026-12-01'];
const entries = [
  makeEntry({ id: 'a', startedAt: '2026-11-01T00:00:00.000Z', costPicodollars: 250_000_000_000 }),
  makeEntry({ id: 'b', startedAt: '2026-11-30T23:59:59.999Z', costPicodollars: 1, model: 'large, "quoted"' }),
  makeEntry({ id: 'c', startedAt: '2026-12-01T00:00:00.000Z' }),
  makeEntry({
    id: 'd',
    startedAt: '2026-11-02T00:00:00.000Z',
    apiKey: 'b/k',
    namespace: 'b',
    costPicodollars: null,
    price: null,
  }),
];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  const store = await openStore();
  await store.take({ source: 'p', cursor: 'c', entries, asides: [] }, 0);
  await store.close();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const openStore = () => openSqliteStore(join(folder, 'ledger.sqlite'));

async function print(...words: string[]): Promise<string> {
  let text = '';
  await runCommand(words, {
    open: openStore,
    place: () => ({ type: 'sqlite', path: join(folder, 'ledger.sqlite') }),
    wallMs: () => Date.parse('2026-12-01T12:00:00Z'),
    source: 'urn:penstock:penstock-system:penstock',
    async write(more) {
      text += more;
    },
  });
  return text;
}

test('export as JSONL gives the lines of the period as the gateways wrote them', async () => {
  const lines = (await print('export', '--format', 'jsonl', ...november)).trimEnd().split('\n');
  expect(lines).toEqual([entries[0]?.line, entries[1]?.line, entries[3]?.line]);
  expect(await print('export', '--format', 'jsonl', ...november, '--namespace', 'b')).toBe(
    `${entries[3]?.line}\n`,
  );
});

test('export as CloudEvents gives batches that say which event is which', async () => {
  const text = await print('export', '--format', 'cloudevents', ...november, '--account', 'prod');
  const events = z.array(z.looseObject({})).parse(JSON.parse(text));
  expect(events).toHaveLength(3);
  expect(events[0]).toEqual({
    specversion: '1.0',
    id: 'a',
    source: 'urn:penstock:prod',
    type: 'dev.penstock.attempt.v1',
    time: '2026-11-01T00:00:00.000Z',
    subject: 'team/key',
    datacontenttype: 'application/json',
    data: JSON.parse(entries[0]?.line ?? ''),
  });
});

test('exported events have the source of sent events, so that a receiver of both recognises them', async () => {
  const [batch = ''] = (await print('export', '--format', 'cloudevents', ...november)).split('\n');
  const sources = z.array(z.object({ source: z.string() })).parse(JSON.parse(batch));
  expect(new Set(sources.map(({ source }) => source))).toEqual(
    new Set(['urn:penstock:penstock-system:penstock']),
  );
});

test('export as FOCUS has a row for each day and kind of use, with exact costs', async () => {
  const [head = '', ...rows] = (await print('export', '--format', 'focus', ...november))
    .trimEnd()
    .split('\r\n');
  const names = head.split(',');
  const cell = (row: string | undefined, name: string) => {
    const cells = [...(row ?? '').matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)];
    const [, quoted, bare] = cells[names.indexOf(name)] ?? [];
    return quoted?.replaceAll('""', '"') ?? bare;
  };
  expect(rows).toHaveLength(3);
  expect(rows.map((row) => cell(row, 'ChargePeriodStart'))).toEqual([
    '2026-11-01T00:00:00Z',
    '2026-11-02T00:00:00Z',
    '2026-11-30T00:00:00Z',
  ]);
  expect(rows.map((row) => cell(row, 'BilledCost'))).toEqual(['0.25', '0', '0.000000000001']);
  expect(cell(rows[2], 'ServiceName')).toBe('large, "quoted"');
  expect(cell(rows[2], 'BillingPeriodEnd')).toBe('2026-12-01T00:00:00Z');
  expect([cell(rows[0], 'ConsumedQuantity'), cell(rows[0], 'ConsumedUnit')]).toEqual(['150', 'Tokens']);
  expect([cell(rows[1], 'SubAccountId'), cell(rows[1], 'x_UnpricedAttempts')]).toEqual(['b', '1']);
  // What FOCUS asks every row for, beside what may be null: 1.0, and 1.3, which calls the provider by other names.
  for (const name of [
    'BillingAccountId',
    'BillingCurrency',
    'ChargeCategory',
    'EffectiveCost',
    'ServiceCategory',
    'ProviderName',
    'ServiceProviderName',
    'HostProviderName',
  ])
    expect(cell(rows[0], name) ?? '', name).not.toBe('');
});

test("export as FOCUS counts first attempts: the tenant's row after a failover has none, and all rows together have one", async () => {
  const store = await openStore();
  const spent = { namespace: 'b', apiKey: 'b/k', startedAt: '2026-11-03T00:00:00.000Z' };
  const failed = makeEntry({ ...spent, id: 'e.1', outcome: 'failed', payer: 'platform', provider: 'p/a' });
  const answered = makeEntry({ ...spent, id: 'e.2', attempt: 2, provider: 'p/b' });
  await store.take({ source: 'p', cursor: 'd', entries: [failed, answered], asides: [] }, 0);
  await store.close();
  const [head = '', ...rows] = (await print('export', '--format', 'focus', ...november, '--namespace', 'b'))
    .trimEnd()
    .split('\r\n');
  const names = ['SubAccountId', 'ProviderName', 'x_FirstAttempts', 'x_Attempts'];
  const places = names.map((name) => head.split(',').indexOf(name));
  expect(rows.slice(1).map((row) => places.map((place) => row.split(',')[place]))).toEqual([
    ['', 'p/a', '1', '1'],
    ['b', 'p/b', '0', '1'],
  ]);
  expect(head).not.toContain('x_Requests');
});

test('export as FOCUS charges no namespace for attempts paid by the platform', async () => {
  const store = await openStore();
  const spent = { namespace: 'b', apiKey: 'b/k', startedAt: '2026-11-03T00:00:00.000Z' };
  const failed = makeEntry({ ...spent, id: 'e.1', outcome: 'failed', payer: 'platform', costPicodollars: 7 });
  const answered = makeEntry({ ...spent, id: 'e.2', attempt: 2, costPicodollars: 9 });
  await store.take({ source: 'p', cursor: 'd', entries: [failed, answered], asides: [] }, 0);
  await store.close();
  const [head = '', ...rows] = (await print('export', '--format', 'focus', ...november, '--namespace', 'b'))
    .trimEnd()
    .split('\r\n');
  const names = ['BilledCost', 'SubAccountId', 'SubAccountName', 'ResourceId', 'x_Payer'];
  const places = names.map((name) => head.split(',').indexOf(name));
  expect(rows.slice(1).map((row) => places.map((place) => row.split(',')[place]))).toEqual([
    ['0.000000000007', '', '', 'b/k', 'platform'],
    ['0.000000000009', 'b', 'b', 'b/k', 'tenant'],
  ]);
});

test('rerate prints the cost of the period, its cost at other prices, and the difference', async () => {
  const prices = join(folder, 'prices.json');
  await writeFile(
    prices,
    JSON.stringify({ m: { inputPerMillion: '1', outputPerMillion: '4', perRequest: '0.1' } }),
  );
  const text = await print('rerate', '--prices', prices, ...november);
  expect(text.split('\n').map((line) => line.trim().split(/\s{2,}/))).toEqual([
    ['MODEL', 'ATTEMPTS', 'OLD USD', 'NEW USD', 'DIFFERENCE'],
    ['large, "quoted"', '1', '0.000000000001', 'no other price', '0'],
    // Twice 100 tokens in and 50 out, and two requests.
    ['m', '2', '0.25', '0.2006', '-0.0494'],
    ['TOTAL', '3', '0.250000000001', '0.200600000001', '-0.0494'],
    ['1 attempts had no price and count as 0 in the old sum.'],
    [''],
  ]);
  const json: unknown = JSON.parse(await print('rerate', '--prices', prices, ...november, '--json'));
  expect(json).toMatchObject({ total: { oldUsd: '0.250000000001', differenceUsd: '-0.0494' } });
  // Nothing was changed.
  expect((await print('export', '--format', 'jsonl', ...november)).trimEnd().split('\n')).toHaveLength(3);
});

test('rerate adds up costs of tenants, and other costs only if asked to', async () => {
  const store = await openStore();
  const spent = { startedAt: '2026-11-03T00:00:00.000Z', model: 'm' };
  const wasted = { ...spent, outcome: 'failed', payer: 'platform' } as const;
  const others = [
    makeEntry({ ...wasted, id: 'e.1', costPicodollars: 900_000_000_000 }),
    makeEntry({ ...wasted, id: 'e.2', costPicodollars: 900_000_000_000 }),
    makeEntry({ ...spent, id: 'e.3', payer: 'own-key', costPicodollars: 0 }),
  ];
  await store.take({ source: 'p', cursor: 'd', entries: others, asides: [] }, 0);
  await store.close();
  const prices = join(folder, 'prices.json');
  await writeFile(prices, JSON.stringify({ m: { inputPerMillion: '1', outputPerMillion: '4' } }));
  const rerate = (...more: string[]) => print('rerate', '--prices', prices, ...november, ...more);
  const totalOf = (text: string) => /^TOTAL +(.*)$/m.exec(text)?.[1]?.split(/\s+/);

  // Of each 100 tokens in and 50 out. The one of another model stays as it is.
  expect(totalOf(await rerate())).toEqual(['3', '0.250000000001', '0.000600000001', '-0.2494']);
  expect(await rerate()).toContain('2 attempts that failed before anything was delivered are in neither sum');
  expect(await rerate()).toContain('1 attempts at providers that tenants have themselves are in neither sum');
  expect(totalOf(await rerate('--payer', 'platform'))).toEqual(['2', '1.8', '0.0006', '-1.7994']);
  expect(totalOf(await rerate('--payer', 'own-key'))).toEqual(['1', '0', '0', '0']);
  expect(JSON.parse(await rerate('--json'))).toMatchObject({
    payer: 'tenant',
    total: { differenceUsd: '-0.2494' },
    left: [
      { payer: 'platform', attempts: 2 },
      { payer: 'own-key', attempts: 1 },
    ],
  });
  const lines = (await print('export', '--format', 'jsonl', ...november, '--payer', 'platform')).trimEnd();
  expect(lines.split('\n')).toEqual([others[0]?.line, others[1]?.line]);
});

test.each([
  [['bill'], /bill: unknown command\nusage: /],
  [['export', ...november], /--format: must be jsonl, focus or cloudevents/],
  [['export', '--format', 'xlsx', ...november], /--format: must be/],
  [['export', '--format', 'jsonl', '--from', 'yesterday', '--to', '2026-12-01'], /--from: must be a day/],
  [['export', '--format', 'jsonl', '--from', '2026-12-01', '--to', '2026-11-01'], /--to: must be after from/],
  [
    ['export', '--format', 'jsonl'],
    /--from: is missing; add --from .* and --to .* --from 2026-11-01 --to 2026-12-01$/,
  ],
  [['export', '--format', 'jsonl', '--from', '2026-11-01'], /--to: is missing/],
  [['export', '--colour', 'red'], /--colour.*usage: /s],
  [['rerate', ...november, '--payer', 'me'], /--payer: must be tenant, platform or own-key/],
  [['rerate', ...november], /--prices: must name a file/],
  [['rerate', '--prices', 'nowhere.json', ...november], /ENOENT.*nowhere\.json/],
])('%j is refused, with the remedy', async (words, message) => {
  await expect(print(...words)).rejects.toThrow(message);
});

test('rerate says from when on it has records', async () => {
  const prices = join(folder, 'prices.json');
  await writeFile(prices, '{"small": {"inputPerMillion": "1", "outputPerMillion": "2"}}');
  const rerate = (...more: string[]) => print('rerate', '--prices', prices, ...november, ...more);
  const sentence = 'Records of days before 2026-11-02 may have gone; what they cost is in neither sum.\n';
  expect(await rerate()).not.toContain('may have gone');
  const store = await openStore();
  await store.purge({ before: '2026-11-02', silentSinceMs: 0, nowMs: Date.parse('2026-11-02') });
  await store.close();
  expect(await rerate()).toContain(sentence);
  expect(JSON.parse(await rerate('--json'))).toMatchObject({ keptFrom: '2026-11-02' });
  expect(await rerate('--from', '2026-11-02')).not.toContain('may have gone');
});

test('backup writes a file of the moment and keeps the newest, restore and import report their result', async () => {
  const backups = join(folder, 'backups');
  await mkdir(backups);
  for (const name of ['ledger-20261129T000000Z.sqlite', 'ledger-20261130T000000Z.sqlite', 'mine.sqlite'])
    await writeFile(join(backups, name), '');
  const path = join(backups, 'ledger-20261201T120000Z.sqlite');
  expect(await print('backup', '--to', backups, '--keep', '2')).toBe(`${path}\n`);
  expect((await readdir(backups)).sort()).toEqual([
    'ledger-20261130T000000Z.sqlite',
    'ledger-20261201T120000Z.sqlite',
    'mine.sqlite',
  ]);
  expect(await print('import', '--from', path)).toBe(
    '0 records were added, 4 were there already, 0 were put aside.\n',
  );
  await expect(print('restore', '--from', path)).rejects.toThrow(/has records already\. Import adds those/);
  await rm(join(folder, 'ledger.sqlite'));
  expect(await print('restore', '--from', path)).toBe('Restored everything.\n');
});

test.each([
  [['backup'], /--to: must name a folder/],
  [['backup', '--to', 'x', '--keep', '0'], /--keep: must be a number of backups from 1 to 9999/],
  [['restore'], /--from: must name a file/],
  [['import', '--from', '/nowhere/ledger.sqlite'], /^\/nowhere\/ledger\.sqlite: /],
])('%j is refused with the reason', async (words, reason) => {
  await expect(print(...words)).rejects.toThrow(reason);
});
