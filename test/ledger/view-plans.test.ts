// Is what the views of a dashboard ask found, or looked for among all that there is? Small figures tell nothing of it, so the database is asked
// how it would go about each question: `npm run e2e -- read-api-speed` has the times, over a million records.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Budgeted } from '../../ledger/budgets.ts';
import type { Query, Row } from '../../ledger/store/query.ts';
import { readingOf } from '../../ledger/store/reading.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { LedgerStore, Spender, SumsQuery } from '../../ledger/store/store.ts';
import { fillLedger } from './many-records.ts';
import { type ReadApi, serveToAnybody } from './read-house.ts';
import { viewQuestions } from './view-questions.ts';

const nowMs = Date.parse('2026-11-22T12:30:00Z');
const keys = 40;
const started = new AsyncDisposableStack();
/** What the database says of the question that was asked last. */
const steps: string[] = [];
/** Rows of the result, from which the answer is built. */
let handed = 0;
let store: LedgerStore;
let reader: ReadApi;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'ledger.sqlite');
  store = started.adopt(await openSqliteStore(path), (one) => one.close());
  await fillLedger(store, { records: 2_000, keys, namespaces: 4, days: 30, endMs: nowMs });
  const database = started.adopt(new DatabaseSync(path, { readOnly: true }), (one) => one.close());
  const rows = async ({ text, values }: Query): Promise<Row[]> => {
    const prepare = (sql: string) => database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
    steps.push(
      ...prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all(...values)
        .map(({ detail }) => String(detail)),
    );
    const found = prepare(text).all(...values);
    handed += found.length;
    return found;
  };
  reader = await serveToAnybody({ ...store, ...readingOf('sqlite', rows) }, nowMs, () => budgets);
  started.adopt(reader, (one) => one.close());
});
afterAll(() => started.disposeAsync());

/** One of each key, and one of each namespace; a tenth is used up. */
const budgets: readonly Budgeted[] = [
  ...Array.from({ length: 4 }, (_, at) => budgetOf('namespace', `team-00${at}`, 10n ** 18n)),
  ...Array.from({ length: keys }, (_, at) => {
    const name = `team-${String(at % 4).padStart(3, '0')}/key-${String(at).padStart(5, '0')}`;
    return budgetOf('apiKey', name, at % 10 === 0 ? 1n : 10n ** 18n);
  }),
];

function budgetOf(spender: Spender, name: string, limitPicodollars: bigint): Budgeted {
  const [namespace = ''] = name.split('/');
  return {
    namespace,
    spender,
    name,
    budgets: [{ period: 'Month', action: 'Block', limitPicodollars, warnPercent: 80 }],
  };
}

test.each(['/v1/costs?from=2026-10-21', '/v1/budgets?usedShare=1&limit=100'])(
  '%s is about every key, and its answer is built without reading rows of keys',
  async (path) => {
    handed = 0;
    const { body } = await reader.ask(path, 'anybody');
    // A text for each kind of spender; of the budgets that are shown, one more with their first days.
    expect(handed).toBeLessThanOrEqual(path.startsWith('/v1/costs') ? 2 : 3);
    const said = Array.isArray(body.rows) ? body.rows : body.budgets;
    expect(said).toHaveLength(path.startsWith('/v1/costs') ? keys : keys / 10);
  },
);

/** Of `ledger_keys` and `ledger_namespaces` there is a row for each, and pages of them are in order. */
const whole = /^SCAN (?!json_each|k\b|[lf]$|page$|CONSTANT)/;

test.each(viewQuestions(nowMs, 'team-003').map(({ path, window }) => ({ path, window })))(
  'the last $window: $path walks over no table',
  async ({ path }) => {
    steps.length = 0;
    const { status, body } = await reader.ask(path, 'anybody');
    expect([status, body.error]).toEqual([200, undefined]);
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.filter((step) => whole.test(step))).toEqual([]);
  },
);

test.each([
  '',
  'namespace=team-003',
  'namespace=team-003&apiKey=team-003/key-00003',
  'apiKey=team-003/key-00003&model=m&status=429&code=c',
  'namespace=team-003&model=m',
  'namespace=team-003&model=m&status=429&code=c',
  'namespace=team-003&status=429',
  'namespace=team-003&code=c',
])('single refusals of %s are found and counted from one index', async (filter) => {
  steps.length = 0;
  await reader.ask(`/v1/request-log?outcome=refused&${filter}`, 'anybody');
  const found = steps.filter((step) => /ledger_refusals\b/.test(step) && !step.includes('(id=?)'));
  expect(found).toHaveLength(2);
  for (const step of found) expect(step).toMatch(/^SEARCH ledger_refusals USING COVERING INDEX/);
});

test('questions without keys for whole hours or days are answered from the hourly and daily sums', async () => {
  for (const { path, window } of viewQuestions(nowMs, 'team-003')) {
    const isOfMinutes = /m$|^1h$/.test(window) || path.includes('interval=minute');
    if (isOfMinutes || path.includes('apiKey') || !/^\/v1\/(sums|series)/.test(path)) continue;
    steps.length = 0;
    await reader.ask(path, 'anybody');
    expect(steps[0]).toMatch(/^SEARCH ledger_spans USING PRIMARY KEY \(span=\?/);
  }
});

test('sums of hours and days equal those of their minutes, by any parameters', async () => {
  const stretch = { from: '2026-11-20T05:00:00Z', to: '2026-11-21T05:00:00Z', limit: 10_000 };
  const questions: Omit<SumsQuery, 'from' | 'to' | 'limit'>[] = [
    { by: [] },
    { by: ['model', 'outcome'] },
    { by: ['namespace', 'provider'] },
    { by: ['day', 'payer'] },
    { by: ['hour', 'route'], where: { namespace: 'team-001' } },
    { by: ['model'], where: { namespace: 'team-001', outcome: 'failed' } },
    { by: ['apiKey'] },
  ];
  for (const { by, where = {} } of questions) {
    const sums = await store.sums({ ...stretch, by, where });
    // Of minutes only records know.
    const minutes = await store.sums({ ...stretch, by: ['minute', ...by], where });
    const merged = new Map<string, { attempts: number; cost: bigint; input: number }>();
    for (const {
      group: { minute: _, ...group },
      sums: one,
    } of minutes) {
      const place = JSON.stringify(group);
      const sum = merged.get(place) ?? { attempts: 0, cost: 0n, input: 0 };
      sum.attempts += one.attempts;
      sum.cost += one.costPicodollars;
      sum.input += one.input;
      merged.set(place, sum);
    }
    expect(minutes.length).toBeGreaterThan(0);
    expect(
      new Map(
        sums.map(({ group, sums: { attempts, costPicodollars: cost, input } }) => [
          JSON.stringify(group),
          { attempts, cost, input },
        ]),
      ),
    ).toEqual(merged);
  }
});

test('times and ends of hours equal those of their minutes', async () => {
  const stretch = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z', where: {} };
  const count = (
    rows: readonly { readonly ms?: number; readonly answers?: number; readonly requests?: number }[],
  ) => {
    const counts = new Map<number, number>();
    for (const { ms = 0, answers = 0, requests = 0 } of rows)
      counts.set(ms, (counts.get(ms) ?? 0) + answers + requests);
    return counts;
  };
  for (const interval of ['day', 'hour'] as const) {
    const exact = await store.firstContents({ ...stretch, interval: 'minute' });
    expect(exact.length).toBeGreaterThan(20);
    expect(count(await store.firstContents({ ...stretch, interval }))).toEqual(count(exact));
    const ends = await store.ends({ ...stretch, interval: 'minute' });
    expect(count(await store.ends({ ...stretch, interval }))).toEqual(count(ends));
  }
});

test('records past the retention leave the hourly sums, and stay in the daily ones', async () => {
  const hours = { from: '2026-10-24', to: '2026-11-23', by: ['hour', 'model'], limit: 10_000 } as const;
  const before = await store.sums({ ...hours, by: ['model'] });
  await store.purge({ before: '2026-11-10', silentSinceMs: 0, nowMs: Date.parse('2026-11-10') });
  expect((await store.sums(hours)).map(({ group }) => group.hour ?? '').sort()[0]).toMatch(/^2026-11-10T/);
  expect(await store.sums({ ...hours, by: ['model'] })).toEqual(before);
  const [first] = await store.firstContents({ ...hours, interval: 'day', where: {} });
  expect(first?.interval).toBe('2026-11-10');
});
