// Are the largest of many groups reported by themselves, and all others as what is left?

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { fillLedger } from './many-records.ts';
import { type ReadApi, serveToAnybody } from './read-house.ts';

const nowMs = Date.parse('2026-11-22T12:30:00Z');
const started = new AsyncDisposableStack();
let store: LedgerStore;
let reader: ReadApi;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  await fillLedger(store, { records: 3_000, keys: 200, namespaces: 4, days: 5, endMs: nowMs });
  reader = await serveToAnybody(store, nowMs);
  started.adopt(reader, (one) => one.close());
});
afterAll(() => started.disposeAsync());

interface Row {
  readonly apiKey?: string;
  readonly isRest?: true;
  readonly requests: number;
  readonly failed: number;
  readonly costPicodollars: string;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly [name: string]: unknown;
}

async function rowsOf(query: string): Promise<readonly Row[]> {
  const { status, body } = await reader.ask(`/v1/series?${query}`, 'anybody');
  expect([status, body.error]).toEqual([200, undefined]);
  return body.rows as Row[];
}

const weights: Readonly<Record<string, (row: Row) => bigint>> = {
  cost: ({ costPicodollars }) => BigInt(costPicodollars),
  tokens: ({ tokens }) => BigInt(tokens.input + tokens.output),
  requests: ({ requests }) => BigInt(requests),
  failed: ({ failed }) => BigInt(failed),
};

describe.each(['from=2026-11-17&to=2026-11-23&interval=day', 'from=2026-11-21&to=2026-11-23&interval=hour'])(
  '%s',
  (stretch) => {
    describe.each(['', '&namespace=team-001'])('%s', (where) => {
      test.each(Object.keys(weights))('the largest by %s', async (topBy) => {
        const weightOf = weights[topBy] ?? (() => 0n);
        const whole = await rowsOf(`${stretch}${where}&by=apiKey`);
        const sums = new Map<string, bigint>();
        for (const row of whole)
          sums.set(row.apiKey ?? '', (sums.get(row.apiKey ?? '') ?? 0n) + weightOf(row));
        const smallestFirst = [...sums.values()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

        const rows = await rowsOf(`${stretch}${where}&by=apiKey&top=7&topBy=${topBy}`);
        const shown = new Set(rows.flatMap(({ apiKey }) => apiKey ?? []));
        expect(shown.size).toBe(7);
        for (const name of shown) expect(sums.get(name)).toBeGreaterThanOrEqual(smallestFirst.at(-7) ?? 0n);
        // Of each of them what there is of it without the others too.
        expect(rows.filter(({ isRest }) => isRest === undefined)).toEqual(
          whole.filter(({ apiKey = '' }) => shown.has(apiKey)),
        );
      });
    });

    test('with all others add up to the total, in every interval', async () => {
      const start = stretch.endsWith('day') ? 'day' : 'hour';
      const rows = await rowsOf(`${stretch}&by=apiKey&top=3`);
      const all = await rowsOf(stretch);
      const sumOf = (of: readonly Row[], at: unknown) =>
        Object.values(weights).map((weight) =>
          of.filter((row) => row[start] === at).reduce((left, row) => left + weight(row), 0n),
        );
      for (const one of all) expect(sumOf(rows, one[start])).toEqual(sumOf([one], one[start]));
      expect(rows.filter(({ isRest }) => isRest)).not.toEqual([]);
      for (const { isRest, apiKey } of rows) expect(isRest === undefined).toBe(apiKey !== undefined);
    });
  },
);

test('with as many groups as asked for, there is no rest', async () => {
  const rows = await rowsOf('by=namespace&top=50');
  expect(new Set(rows.map(({ namespace }) => namespace)).size).toBe(4);
  expect(rows.filter(({ isRest }) => isRest)).toEqual([]);
  expect(await rowsOf('by=namespace&top=5&model=nobody')).toEqual([]);
});

test('pages of it continue after the one before', async () => {
  const path = '/v1/series?by=apiKey&top=3&limit=5';
  const { body: first } = await reader.ask(path, 'anybody');
  const { body: second } = await reader.ask(`${path}&offset=${first.next}`, 'anybody');
  expect(first).toMatchObject({ isTruncated: true, next: 5 });
  const whole = await rowsOf('by=apiKey&top=3');
  expect([...(first.rows as Row[]), ...(second.rows as Row[])]).toEqual(whole.slice(0, 10));
});

test.each([
  ['/v1/series?top=3', 'top: needs by'],
  ['/v1/series?by=model,apiKey&top=3', 'top: needs by'],
  ['/v1/series?by=minute&top=3&from=2026-11-22&to=2026-11-23', 'top: needs by'],
  ['/v1/series?by=model&top=0', 'top: must be'],
  ['/v1/series?by=model&topBy=cost', 'topBy: says'],
  ['/v1/series?by=model&top=3&topBy=name', 'topBy: must be cost, tokens, requests or failed'],
  ['/v1/sums?by=model&top=3', 'top: is no parameter of /v1/sums'],
])('%s: %s', async (path, words) => {
  const { status, body } = await reader.ask(path, 'anybody');
  expect([status, (body.error as { message: string }).message]).toEqual([
    400,
    expect.stringContaining(words),
  ]);
});
