// Does a ledger keep every record once, and add it up to the picodollar? The same over SQLite and Postgres.

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import type {
  CostsQuery,
  CostsRow,
  Entry,
  LedgerStore,
  Page,
  SumsQuery,
} from '../../../ledger/store/store.ts';
import { runs } from '../../support/runs.ts';
import { makeEntry } from '../make-entry.ts';
import { type Database, type Databases, kindNames, kinds } from './stores.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const everything: SumsQuery = { from: '2000-01-01', to: '2100-01-01', by: [], limit: 1_000 };

const november: SumsQuery = { ...everything, from: '2026-11-01', to: '2026-12-01' };

const page = (cursor: string, entries: readonly Entry[], more: Partial<Page> = {}): Page => ({
  source: 'pod-1',
  cursor,
  entries,
  asides: [],
  ...more,
});

describe.each(kindNames)('%s', (kind) => {
  let databases: Databases;
  let database: Database;
  let store: LedgerStore;

  beforeAll(async () => {
    databases = await kinds[kind]();
  });
  beforeEach(async () => {
    database = await databases.make();
    store = await database.open();
  });
  afterEach(() => store.close());
  afterAll(() => databases?.close());

  const total = async () => (await store.sums(everything))[0]?.sums;

  test('a stored page and its cursor are still there after a restart', async () => {
    expect(await store.cursorOf('pod-1')).toBeUndefined();
    const entries = [makeEntry({ id: 'a.1' }), makeEntry({ id: 'a.2', attempt: 2 })];
    expect(await store.take(page('c.1', entries), now)).toEqual({ added: 2, duplicates: 0, asides: 0 });
    await store.close();
    store = await database.open();
    expect(await store.cursorOf('pod-1')).toBe('c.1');
    const kept = await store.records({ after: 0, limit: 10 });
    expect(kept.map(({ line }) => line)).toEqual(entries.map(({ line }) => line));
    expect(await total()).toMatchObject({ requests: 1, attempts: 2, costPicodollars: 400_000_000n });
  });

  test('budget questions wait for no other question, however heavy', async () => {
    const entries = Array.from({ length: 2_000 }, (_, at) =>
      makeEntry({ id: `a.${at}`, apiKey: `team/k${at}` }),
    );
    await store.take(page('c.1', entries), now);
    const heavy = { ...everything, by: ['apiKey', 'model'] } as const;
    let answered = 0;
    // Of fifty a busy machine may refuse some, as they wait too long for their turn; and for nothing else.
    const questions = Array.from({ length: 50 }, () =>
      store.sums(heavy).then(
        () => {
          answered += 1;
        },
        (error: Error) => expect(error.message).toBe('Postgres: timeout exceeded when trying to connect'),
      ),
    );
    const [{ sequence }, [first], [spent]] = await Promise.all([
      store.spend.state(),
      store.spend.changed('apiKey', 0, 1),
      store.spend.spendOf('apiKey', ['team/k7'], now),
    ]);
    expect(answered).toBeLessThan(questions.length);
    expect([sequence, first?.name, spent?.name]).toEqual([2_000, 'team/k0', 'team/k7']);
    await Promise.all(questions);
  });

  test('a repeated record changes nothing, in the same page, the next one, or from another pod', async () => {
    const entry = makeEntry({ id: 'a.1' });
    expect(await store.take(page('c.1', [entry, entry]), now)).toEqual({
      added: 1,
      duplicates: 0,
      asides: 0,
    });
    expect(await store.take(page('c.1', [entry]), now)).toMatchObject({ added: 0, duplicates: 1 });
    const other = page('d.1', [entry, makeEntry({ id: 'a.2' })], { source: 'pod-2' });
    expect(await store.take(other, now)).toMatchObject({ added: 1, duplicates: 1 });
    expect(await total()).toMatchObject({ attempts: 2, costPicodollars: 400_000_000n });
    const [spend] = await store.spendOf('apiKey', ['team/key'], now);
    expect(spend?.total).toMatchObject({ requests: 2, costPicodollars: 400_000_000n });
  });

  test('a record with the id of another does not replace it', async () => {
    await store.take(page('c.1', [makeEntry({ id: 'a.1', costPicodollars: 5 })]), now);
    await store.take(page('c.2', [makeEntry({ id: 'a.1', costPicodollars: 7 })]), now);
    expect((await total())?.costPicodollars).toBe(5n);
  });

  test('sums stay exact beyond numbers and 64 bits', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const entries = Array.from({ length: 1_100 }, (_, at) =>
      makeEntry({ id: `m.${at}`, costPicodollars: most - at }),
    );
    await store.take(page('c.1', entries), now);
    await store.take(page('c.2', [makeEntry({ id: 'last', costPicodollars: 1 })]), now);
    const exact = entries.reduce((sum, { record }) => sum + BigInt(record.costPicodollars ?? 0), 1n);
    expect(exact).toBeGreaterThan(2n ** 63n);
    expect((await total())?.costPicodollars).toBe(exact);
    const [spend] = await store.spendOf('apiKey', ['team/key'], Date.parse('2026-01-02T12:00:00Z'));
    expect(spend).toMatchObject({ day: { costPicodollars: exact }, total: { costPicodollars: exact } });
    const [hour] = await store.sums({ ...everything, by: ['hour'] });
    expect(hour?.sums.costPicodollars).toBe(exact);
  });

  test('a provider with absurd counts stops no journal', async () => {
    const input = Number.MAX_SAFE_INTEGER;
    const usage = { input, cachedInput: input, cacheWrite: 0, output: input, reasoning: input };
    const entries = Array.from({ length: 1_100 }, (_, at) => makeEntry({ id: `m.${at}`, usage }));
    expect((await store.take(page('c.1', entries), now)).added).toBe(1_100);
    expect((await total())?.input).toBe(1_100_000_000_000);
  });

  test('names that a database refuses are stored in a form that it accepts', async () => {
    const long = 'ü'.repeat(20_000);
    const entry = makeEntry({ id: 'a.1', model: `m\0\ud800`, upstreamModel: long, provider: long });
    expect((await store.take(page('c.1', [entry]), now)).added).toBe(1);
    const rows = await store.sums({ ...everything, by: ['model'] });
    expect(rows.map(({ group }) => group)).toEqual([{ model: 'm\ufffd\ufffd' }]);
    const [kept] = await store.records({ after: 0, limit: 1 });
    expect(ledgerRecordSchema.parse(JSON.parse(kept?.line ?? '')).upstreamModel).toBe(long);
  });

  test('the largest come first, exact to the picodollar, and a question for some has no others', async () => {
    const spent = { 'a/one': 1_000_000_001, 'a/two': 1_000_000_002, 'b/one': 999_999_999, 'b/two': 7 };
    const entries = Object.entries(spent).map(([apiKey, costPicodollars], at) =>
      makeEntry({ id: `${at}.1`, apiKey, namespace: apiKey.slice(0, 1), costPicodollars }),
    );
    await store.take(page('c.1', entries), now);
    const ask = async (query: Partial<SumsQuery>) =>
      (await store.sums({ ...everything, by: ['apiKey'], ...query })).map(({ group }) => group.apiKey);
    expect(await ask({ largestBy: 'cost' })).toEqual(['a/two', 'a/one', 'b/one', 'b/two']);
    expect(await ask({ largestBy: 'cost', limit: 1, offset: 1 })).toEqual(['a/one']);
    // All the same: in their order.
    for (const largestBy of ['tokens', 'requests'] as const)
      expect(await ask({ largestBy })).toEqual(['a/one', 'a/two', 'b/one', 'b/two']);
    for (const by of [['apiKey'], ['hour', 'apiKey']] as const)
      expect(await ask({ by, among: { dimension: 'apiKey', values: ['b/two', 'a/one', 'c/none'] } })).toEqual(
        ['a/one', 'b/two'],
      );
    expect(await ask({ among: { dimension: 'model', values: ['no model'] } })).toEqual([]);
    const ofDays = { ...everything, by: 'apiKey', largestBy: 'cost', limit: 5 } as const;
    for (const namespace of ['a', 'b'])
      expect(await store.largest({ ...ofDays, where: { namespace } })).toEqual(
        namespace === 'a' ? ['a/two', 'a/one'] : ['b/one', 'b/two'],
      );
  });

  test('sums are grouped by the parameters, in their order, and by the start of the attempt in UTC', async () => {
    const at = (startedAt: string, more: Parameters<typeof makeEntry>[0]) =>
      makeEntry({ id: `${startedAt}.${JSON.stringify(more)}`, startedAt, ...more });
    await store.take(
      page('c.1', [
        at('2026-11-20T23:59:59.999Z', { namespace: 'a', apiKey: 'a/one', model: 'small' }),
        at('2026-11-21T00:00:00.000Z', { namespace: 'a', apiKey: 'a/one', model: 'large' }),
        at('2026-11-21T01:00:00.000Z', {
          namespace: 'a',
          apiKey: 'a/two',
          payer: 'platform',
          outcome: 'failed',
        }),
        at('2026-11-21T01:30:00.000Z', {
          namespace: 'b',
          apiKey: 'b/one',
          costPicodollars: null,
          price: null,
        }),
        at('2026-11-22T00:00:00.000Z', { namespace: 'b', apiKey: 'b/one', isEstimated: true, attempt: 2 }),
      ]),
      now,
    );
    const of = async (query: Partial<SumsQuery>) =>
      (await store.sums({ ...everything, ...query })).map(({ group, sums }) => [
        ...Object.values(group),
        sums.attempts,
      ]);
    expect(await of({ by: ['day'] })).toEqual([
      ['2026-11-20', 1],
      ['2026-11-21', 3],
      ['2026-11-22', 1],
    ]);
    expect(await of({ by: ['day'], from: '2026-11-21', to: '2026-11-22' })).toEqual([['2026-11-21', 3]]);
    expect(await of({ by: ['namespace', 'apiKey'] })).toEqual([
      ['a', 'a/one', 2],
      ['a', 'a/two', 1],
      ['b', 'b/one', 2],
    ]);
    expect(await of({ by: ['hour'], from: '2026-11-21', to: '2026-11-22' })).toEqual([
      ['2026-11-21T00:00:00Z', 1],
      ['2026-11-21T01:00:00Z', 2],
    ]);
    expect(await of({ by: ['payer', 'outcome'], where: { namespace: 'a' } })).toEqual([
      ['platform', 'failed', 1],
      ['tenant', 'answered', 2],
    ]);
    expect(await of({ by: ['model'], where: { apiKey: 'a/one', model: 'large' } })).toEqual([['large', 1]]);
    expect(await of({ from: '2030-01-01' })).toEqual([]);
    expect(await of({ by: ['apiKey'], limit: 2 })).toHaveLength(2);
    expect(await total()).toMatchObject({ requests: 4, attempts: 5, unpriced: 1, estimated: 1 });
  });

  test('days written as moments are the same days', async () => {
    const startedAt = ['2026-10-31', '2026-11-01', '2026-11-30', '2026-12-01'].map(
      (day) => `${day}T00:00:00Z`,
    );
    const keys = ['a/before', 'a/in', 'a/in', 'a/behind'];
    const entries = startedAt.map((at, index) =>
      makeEntry({ id: `a${index}.1`, startedAt: at, apiKey: keys[index] ?? '' }),
    );
    await store.take(page('c.1', entries), now);
    const moments = { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' };
    const days = async (query: Partial<SumsQuery>) =>
      (await store.sums({ ...november, ...moments, ...query })).map(({ group }) => group.day);
    const both = ['2026-11-01', '2026-11-30'];
    expect(await days({ by: ['day'] })).toEqual(both);
    expect(await days({ by: ['day', 'apiKey'] })).toEqual(both);
    expect(await store.used({ ...november, ...moments, spender: 'apiKey' })).toEqual(
      await store.used({ ...november, spender: 'apiKey' }),
    );
    const largest = { ...november, ...moments, by: 'apiKey', largestBy: 'requests', limit: 5 } as const;
    expect(await store.largest(largest)).toEqual(['a/in']);
  });

  test('spend of keys is of the day, the week from Monday, the month and all time; the platform pays its own', async () => {
    // 2026-11-01 is a Sunday: its week began in October.
    const days = ['2026-10-25', '2026-10-26', '2026-10-31', '2026-11-01'];
    const entries = days.map((day, at) =>
      makeEntry({ id: day, startedAt: `${day}T10:00:00.000Z`, costPicodollars: 10 ** at, apiKey: 'a/one' }),
    );
    const waste = makeEntry({
      id: 'w',
      startedAt: '2026-11-01T11:00:00.000Z',
      apiKey: 'a/one',
      payer: 'platform',
    });
    const own = makeEntry({
      id: 'o',
      startedAt: '2026-11-01T09:00:00.000Z',
      apiKey: 'b/own',
      payer: 'own-key',
      costPicodollars: 0,
    });
    await store.take(page('c.1', [...entries, waste, own]), now);
    const [ownSpend, spend] = (
      await store.spendOf('apiKey', ['a/one', 'b/own', 'c/none'], Date.parse('2026-11-01T23:59:59.999Z'))
    ).toSorted((a, b) => (a.name > b.name ? -1 : 1));
    expect(spend).toMatchObject({
      name: 'a/one',
      lastUsedMs: Date.parse('2026-11-01T11:00:00Z'),
      day: { costPicodollars: 1_000n, requests: 2, input: 100, output: 50 },
      week: { costPicodollars: 1_110n },
      month: { costPicodollars: 1_000n },
      total: { costPicodollars: 1_111n, requests: 5, input: 400 },
    });
    expect(ownSpend).toMatchObject({ name: 'b/own', total: { costPicodollars: 0n, input: 100 } });
  });

  test('costs equal the spend, for named or recently used keys, in pages and in exact dollars', async () => {
    const use = (id: string, apiKey: string, day: string, costPicodollars: number) =>
      makeEntry({
        ...{ id, apiKey, namespace: apiKey.split('/')[0] ?? '', costPicodollars },
        startedAt: `${day}T10:00:00.000Z`,
      });
    const entries = [
      use('1', 'a/one', '2026-10-31', 3_000_000_000_000),
      ...Array.from({ length: 3 }, (_, at) => use(`2.${at}`, 'a/one', '2026-11-22', 999_999_999)),
      ...Array.from({ length: 2 }, (_, at) => use(`3.${at}`, 'a/"two"', '2026-11-16', 6_172_500_000_000_000)),
      use('4', 'ab/old', '2026-09-01', 1),
    ];
    await store.take(page('c.1', entries), now);
    const read = async (query: Partial<CostsQuery>) => {
      const { json, total } = await store.costs({ spender: 'apiKey', limit: 10, nowMs: now, ...query });
      const rows: CostsRow[] = JSON.parse(json);
      return { total, rows: rows.toSorted(([one], [other]) => (one < other ? -1 : 1)) };
    };
    const at = (day: string) => Date.parse(`${day}T10:00:00Z`);
    const two = ['a/"two"', at('2026-11-16'), '0', '12345', '12345', '12345'];
    const spent = '0.002999999997';
    const one = ['a/one', at('2026-11-22'), spent, spent, spent, `3${spent.slice(1)}`];
    const old = ['ab/old', at('2026-09-01'), '0', '0', '0', '0.000000000001'];
    expect(await read({})).toEqual({ total: 3, rows: [two, one, old] });
    expect(await read({ usedSinceMs: at('2026-11-01') })).toEqual({ total: 2, rows: [two, one] });
    expect(await read({ namespace: 'a' })).toEqual({ total: 2, rows: [two, one] });
    expect(await read({ names: ['ab/old', 'c/none'] })).toEqual({ total: 1, rows: [old] });
    expect(await read({ names: ['c/none'] })).toEqual({ total: 0, rows: [] });
    const pages = [await read({ limit: 2 }), await read({ limit: 2, offset: 2 })];
    expect(pages.map(({ total, rows }) => [total, rows.length])).toEqual([
      [3, 2],
      [3, 1],
    ]);
    expect(pages.flatMap(({ rows }) => rows.map(([name]) => name)).sort()).toEqual([
      'a/"two"',
      'a/one',
      'ab/old',
    ]);
    expect((await read({ spender: 'namespace', names: ['a'] })).rows).toEqual([
      ['a', at('2026-11-22'), spent, '12345.002999999997', '12345.002999999997', '12348.002999999997'],
    ]);
  });

  test('use counts delivered and paid calls, the same for days and for moments', async () => {
    const use = (id: string, apiKey: string, startedAt: string, more: Parameters<typeof makeEntry>[0] = {}) =>
      makeEntry({
        ...{
          id,
          apiKey,
          namespace: apiKey.split('/')[0] ?? '',
          startedAt,
          costPicodollars: 3_000_000_000_001,
        },
        usage: { input: 10, cachedInput: 4, cacheWrite: 0, output: 2, reasoning: 0 },
        ...more,
      });
    const entries = [
      use('1', 'a/one', '2026-11-20T10:00:00.000Z'),
      use('2', 'a/one', '2026-11-21T10:00:00.000Z', { payer: 'platform' }),
      use('3', 'a/two', '2026-11-21T23:59:59.999Z', { payer: 'own-key', costPicodollars: 0 }),
      use('4', 'az/one', '2026-11-22T00:00:00.000Z'),
    ];
    await store.take(page('c.1', entries), now);
    const all = [
      ['a/one', 2, 10, 2, '3.000000000001'],
      ['a/two', 1, 10, 2, '0'],
      ['az/one', 1, 10, 2, '3.000000000001'],
    ];
    const days = { from: '2026-11-20', to: '2026-11-23', limit: 10 };
    const moments = { from: '2026-11-20T00:00:01Z', to: '2026-11-22T00:00:01Z', limit: 10 };
    for (const query of [days, moments]) {
      expect(await store.uses(query)).toEqual(all);
      expect(await store.uses({ ...query, namespace: 'a' })).toEqual(all.slice(0, 2));
      expect(await store.uses({ ...query, limit: 1, offset: 1 })).toEqual(all.slice(1, 2));
      expect(await store.uses({ ...query, namespace: 'none' })).toEqual([]);
    }
    expect(await store.uses({ ...days, to: '2026-11-22' })).toEqual(all.slice(0, 2));
  });

  test('the first day of a spender is that of its first record, whenever it arrived', async () => {
    const use = (id: string, apiKey: string, day: string) =>
      makeEntry({ id, apiKey, namespace: 'a', startedAt: `${day}T10:00:00.000Z` });
    await store.take(page('c.1', [use('1', 'a/one', '2026-11-20'), use('2', 'a/two', '2026-11-21')]), now);
    await store.take(page('c.2', [use('3', 'a/one', '2026-11-22'), use('4', 'a/one', '2026-10-30')]), now);
    expect(await store.firstDays('apiKey', ['a/one', 'a/none', 'a/two'])).toEqual(
      new Map([
        ['a/one', '2026-10-30'],
        ['a/two', '2026-11-21'],
      ]),
    );
    expect(await store.firstDays('namespace', ['a'])).toEqual(new Map([['a', '2026-10-30']]));
    expect(await store.firstDays('apiKey', [])).toEqual(new Map());
  });

  test('spend of namespaces is that of their keys together', async () => {
    const use = (id: string, apiKey: string, more: Parameters<typeof makeEntry>[0] = {}) =>
      makeEntry({
        id,
        namespace: apiKey.slice(0, 1),
        apiKey,
        startedAt: '2026-11-22T10:00:00.000Z',
        usage: { input: 10, cachedInput: 4, cacheWrite: 0, output: 2, reasoning: 0 },
        costPicodollars: 5,
        ...more,
      });
    const waste = use('4', 'a/one', { payer: 'platform' });
    const own = use('5', 'a/two', { payer: 'own-key', costPicodollars: 0 });
    await store.take(
      page('c.1', [use('1', 'a/one'), use('2', 'a/two', { startedAt: '2026-10-31T23:59:59.999Z' })]),
      now,
    );
    await store.take(page('c.2', [use('3', 'b/one'), waste, own]), now);
    const [a] = await store.spendOf('namespace', ['a'], now);
    expect(a).toMatchObject({
      name: 'a',
      lastUsedMs: Date.parse('2026-11-22T10:00:00Z'),
      month: { costPicodollars: 5n, requests: 3, input: 20, cachedInput: 8, output: 4 },
      total: { costPicodollars: 10n, requests: 4, input: 30, cachedInput: 12 },
    });
    const changed = await store.changed('namespace', 0, 10);
    expect(changed.map(({ name }) => name)).toEqual(['b', 'a']);
    expect(changed.at(-1)?.sequence).toBe((await store.state()).sequence);
    // Up to a sequence: what was used behind it comes later.
    const before = await store.changed('namespace', 0, 10, changed[0]?.sequence);
    expect(before.map(({ name }) => name)).toEqual(['b']);
  });

  test('the newest record of each model that was delivered is found, and when something failed last', async () => {
    const at = (id: string, minute: number, more: Parameters<typeof makeEntry>[0]) =>
      makeEntry({ id, startedAt: `2026-11-22T10:0${minute}:00.000Z`, namespace: 'a', ...more });
    const failed = { outcome: 'failed', payer: 'platform' } as const;
    const entries = [
      at('1', 1, { model: 'small', provider: 'p/one' }),
      at('2', 2, { model: 'small', provider: 'p/one' }),
      at('3', 3, { model: 'small', provider: 'p/one', ...failed }),
      at('4', 4, { model: 'large', provider: 'p/two', outcome: 'broken-off' }),
      at('5', 5, { model: 'large', provider: 'p/two', namespace: 'b' }),
    ];
    await store.take(page('c.1', entries), now);
    const ids = async (where: Parameters<LedgerStore['latest']>[0]['where']) =>
      (await store.latest({ ...everything, where })).map(({ model, line }) => [model, JSON.parse(line).id]);
    expect(await ids({})).toEqual([
      ['large', '5'],
      ['small', '2'],
    ]);
    expect(await ids({ namespace: 'a', model: 'large' })).toEqual([['large', '4']]);
    const failures = await store.lastFailures(['provider'], { ...everything, where: {} });
    expect(failures.map(({ line = '{}', ...one }) => ({ ...one, id: JSON.parse(line).id }))).toEqual([
      { group: { provider: 'p/one' }, atMs: Date.parse('2026-11-22T10:03:00Z'), id: '3' },
      { group: { provider: 'p/two' }, atMs: Date.parse('2026-11-22T10:04:00Z'), id: '4' },
    ]);
    expect(await store.lastFailures(['route'], { ...everything, where: { namespace: 'b' } })).toEqual([]);
  });

  test('requests that a further attempt answered are found with all of their attempts, the newest first', async () => {
    const entries = ['1.1', '2.1', '3.1', '1.2', '3.2', '3.3', '4.1'].map((id) => {
      const [request = 0, attempt = 0] = id.split('.').map(Number);
      const startedAt = `2026-11-22T10:0${request}:00.000Z`;
      const isLast = ['1.2', '3.3', '4.1'].includes(id);
      return makeEntry({ id, startedAt, attempt, outcome: isLast ? 'answered' : 'failed', route: 'p/m' });
    });
    await store.take(page('c.1', entries), now);
    const found = async (route: string) =>
      (await store.furtherAnswers({ ...everything, where: { route } })).map((lines) =>
        lines.map((line) => JSON.parse(line).id),
      );
    expect(await found('p/m')).toEqual([
      ['3.1', '3.2', '3.3'],
      ['1.1', '1.2'],
    ]);
    expect(await found('p/other')).toEqual([]);
  });

  test('a group has the ends of its attempts in one row', async () => {
    const ended = [
      'answered',
      'answered',
      'failed',
      'failed',
      'failed',
      'broken-off',
      'interrupted',
    ] as const;
    const entries = ended.map((outcome, at) => makeEntry({ id: `${at}.1`, model: 'm-1', outcome }));
    await store.take(page('c.1', [...entries, makeEntry({ id: 'a.1', model: 'm-2' })]), now);
    const outcomes = async (query: Partial<SumsQuery>) =>
      (await store.outcomes({ ...everything, by: ['model'], ...query })).map((row) => ({
        ...row,
        sums: row.sums.attempts,
      }));
    const none = { answered: 0, failed: 0, 'broken-off': 0, cancelled: 0, interrupted: 0 };
    const mixed = { ...none, answered: 2, failed: 3, 'broken-off': 1, interrupted: 1 };
    expect(await outcomes({ limit: 1 })).toEqual([{ group: { model: 'm-1' }, sums: 7, outcomes: mixed }]);
    expect(await outcomes({ limit: 1, offset: 1 })).toEqual([
      { group: { model: 'm-2' }, sums: 1, outcomes: { ...none, answered: 1 } },
    ]);
  });

  test('a ledger has an id that survives restarts and differs after a new start from empty', async () => {
    const { id, sequence } = await store.state();
    expect([id.length, sequence]).toEqual([36, 0]);
    await store.close();
    store = await database.open();
    expect((await store.state()).id).toBe(id);
    const other = await (await databases.make()).open();
    expect((await other.state()).id).not.toBe(id);
    await other.close();
  });

  test('tables of version 1 are migrated, with the sums of the present version', async () => {
    const entries = ['2026-10-31', '2026-11-21', '2026-11-22'].flatMap((day, at) =>
      (['tenant', 'platform', 'own-key'] as const).map((payer) =>
        makeEntry({
          id: `${day}.${payer}`,
          startedAt: `${day}T10:00:00.000Z`,
          namespace: 'a',
          apiKey: `a/${at % 2}`,
          payer,
          costPicodollars: payer === 'own-key' ? 0 : 7 ** at,
          usage: { input: 10, cachedInput: at + 1, cacheWrite: 0, output: 2, reasoning: 0 },
        }),
      ),
    );
    await store.take(page('c.1', [...entries, makeEntry({ namespace: 'b', apiKey: 'b/0' })]), now);
    const everyone = async () => ({
      keys: await store.spendOf('apiKey', ['a/0', 'a/1', 'b/0'], now),
      namespaces: await store.spendOf('namespace', ['a', 'b'], now),
      changed: await store.changed('namespace', 0, 10),
      sums: await store.sums({ ...everything, to: '2026-12-01', from: '2026-01-01', by: ['model', 'payer'] }),
      hours: await store.sums({ ...november, by: ['hour', 'namespace'] }),
      latest: await store.latest({ ...november, where: {} }),
      used: await store.used({ ...november, spender: 'apiKey' }),
    });
    const wanted = await everyone();
    expect(wanted.namespaces).toHaveLength(2);
    await store.close();
    await database.edit([
      'DROP TABLE ledger_namespaces',
      'DROP TABLE ledger_namespace_days',
      'ALTER TABLE ledger_keys DROP COLUMN cached_input',
      'ALTER TABLE ledger_key_days DROP COLUMN cached_input',
      'DROP TABLE ledger_spans',
      'DROP TABLE ledger_refusals',
      'DROP TABLE ledger_refusal_windows',
      'DROP TABLE ledger_refusal_spans',
      'DROP TABLE ledger_first_contents',
      'DROP INDEX ledger_records_by_time',
      'CREATE INDEX ledger_records_by_day ON ledger_records (day)',
      'DROP INDEX ledger_asides_by_time',
      'DROP INDEX ledger_records_unanswered',
      'DROP INDEX ledger_records_first_content',
      'DROP INDEX ledger_records_failovers',
      'DROP INDEX ledger_records_by_api_key',
      'ALTER TABLE ledger_records DROP COLUMN is_last',
      'ALTER TABLE ledger_records DROP COLUMN failure',
      'ALTER TABLE ledger_records DROP COLUMN first_content_ms',
      "UPDATE ledger_meta SET value = '1' WHERE name = 'schema'",
      "DELETE FROM ledger_meta WHERE name = 'identity'",
    ]);
    store = await database.open();
    expect(await everyone()).toEqual(wanted);
    // What failed before is known to have failed, and not by what.
    const failed = {
      id: 'n.1',
      namespace: 'a',
      apiKey: 'a/0',
      outcome: 'failed',
      failure: 'status_500',
    } as const;
    await store.take(page('c.2', [makeEntry(failed)]), now);
    expect(await store.ends({ from: '2026-01-01', to: '2026-12-01', interval: 'day', where: {} })).toEqual([
      { interval: '2026-01-02', outcome: 'failed', failure: 'status_500', requests: 1 },
    ]);
    const [first] = await store.changed('namespace', wanted.changed.at(-1)?.sequence ?? 0, 10);
    expect(first?.name).toBe('a');
  });

  test('a reader of the changed keys misses none', async () => {
    const use = (id: string, apiKey: string) => makeEntry({ id, apiKey });
    await store.take(page('c.1', [use('1', 'a/a'), use('2', 'a/b'), use('3', 'a/a')]), now);
    const keys = async (after: number) => (await store.changed('apiKey', after, 10)).map(({ name }) => name);
    expect(await keys(0)).toEqual(['a/b', 'a/a']);
    const [, last] = await store.changed('apiKey', 0, 10);
    expect((await store.spendOf('apiKey', ['a/a'], now))[0]?.sequence).toBe(last?.sequence);
    await store.take(page('c.2', [use('4', 'a/b')]), now);
    expect(await keys(last?.sequence ?? 0)).toEqual(['a/b']);
    // What is known already is no news.
    const [news] = await store.spendOf('apiKey', ['a/b'], now);
    await store.take(page('c.3', [use('4', 'a/b')]), now);
    expect(await keys(news?.sequence ?? 0)).toEqual([]);
  });

  test('quarantined lines are stored once, with their reason', async () => {
    const asides = [{ line: 'rub\0bish', reason: 'it is no JSON' }];
    expect((await store.take(page('c.1', [], { asides }), now)).asides).toBe(1);
    expect((await store.take(page('c.1', [], { asides }), now)).asides).toBe(0);
    expect(await store.asides(10)).toEqual([
      { source: 'pod-1', atMs: now, reason: 'it is no JSON', line: 'rub\ufffdbish' },
    ]);
  });

  test('old records are deleted and their sums stay; a repeated one is then quarantined, not counted twice', async () => {
    const old = makeEntry({ id: 'old', startedAt: '2026-10-01T00:00:00.000Z' });
    const fresh = makeEntry({ id: 'fresh', startedAt: '2026-11-01T00:00:00.000Z' });
    await store.take(page('c.1', [old, fresh]), now);
    await store.take(page('d.1', [], { source: 'gone' }), now - 1_000);
    const before = '2026-11-01';
    expect(await store.purge({ before, upTo: 0, silentSinceMs: 0, nowMs: now })).toBe(0);
    expect(await store.purge({ before, silentSinceMs: now, nowMs: now })).toBe(1);
    expect((await store.state()).keptFrom).toBe(before);
    expect((await store.records({ after: 0, limit: 10 })).map(({ line }) => line)).toEqual([fresh.line]);
    expect([await store.cursorOf('gone'), await store.cursorOf('pod-1')]).toEqual([undefined, 'c.1']);
    expect(await store.take(page('c.2', [old, fresh]), now)).toEqual({ added: 0, duplicates: 1, asides: 1 });
    expect(await total()).toMatchObject({ attempts: 2 });
    expect((await store.asides(1))[0]).toMatchObject({ line: old.line });
  });

  test('a receiver of records continues where it was, never earlier', async () => {
    expect(await store.sinkCursor('events')).toBe(0);
    await store.setSinkCursor('events', 7);
    await store.setSinkCursor('events', 3);
    expect(await store.sinkCursor('events')).toBe(7);
  });

  test('any pages, cut and repeated, from several pods at once, give each record once', async () => {
    const pod = fc.nat({ max: 3 });
    const pages = fc.array(fc.record({ pod, from: fc.nat({ max: 30 }), length: fc.nat({ max: 12 }) }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(pages, async (wanted) => {
        const mine = await databases.make();
        const ledger = await mine.open();
        try {
          await Promise.all(
            wanted.map(({ pod: at, from, length }) => {
              const ids = Array.from({ length }, (_, index) => from + index);
              const entries = ids.map((id) =>
                makeEntry({ id: `r.${id}`, costPicodollars: 10 ** (id % 12), apiKey: `a/${id % 3}` }),
              );
              return ledger.take(page(`c.${from + length}`, entries, { source: `pod-${at}` }), now);
            }),
          );
          const ids = new Set(
            wanted.flatMap(({ from, length }) => Array.from({ length }, (_, at) => from + at)),
          );
          const exact = [...ids].reduce((sum, id) => sum + BigInt(10 ** (id % 12)), 0n);
          const [row] = await ledger.sums(everything);
          expect(row?.sums.attempts ?? 0).toBe(ids.size);
          expect(row?.sums.costPicodollars ?? 0n).toBe(exact);
          expect(await ledger.records({ after: 0, limit: 1_000 })).toHaveLength(ids.size);
          const spend = await ledger.spendOf('apiKey', ['a/0', 'a/1', 'a/2'], now);
          expect(spend.reduce((sum, { total }) => sum + total.costPicodollars, 0n)).toBe(exact);
        } finally {
          await ledger.close();
        }
      }),
      { numRuns: runs(kind === 'sqlite' ? 15 : 6, 3) },
    );
  });
});
