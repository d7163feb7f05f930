// How many requests were not answered, by what, and how long did the first words of the others take? The same over SQLite and Postgres.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Entry, LedgerStore, Page } from '../../../ledger/store/store.ts';
import { makeEntry } from '../make-entry.ts';
import { type Databases, kindNames, kinds } from './stores.ts';

const now = Date.parse('2026-11-22T12:00:00Z');

const page = (cursor: string, entries: readonly Entry[]): Page => ({
  source: 'pod-1',
  cursor,
  entries,
  asides: [],
});

describe.each(kindNames)('requests in %s', (kind) => {
  let databases: Databases;
  let store: LedgerStore;

  beforeAll(async () => {
    databases = await kinds[kind]();
  });
  beforeEach(async () => {
    store = await (await databases.make()).open();
  });
  afterEach(() => store.close());
  afterAll(() => databases?.close());

  const of = (request: string, ...attempts: readonly (Parameters<typeof makeEntry>[0] & { at?: string })[]) =>
    attempts.map(({ at = '2026-11-21T10:00:00.000Z', ...more } = {}, index) =>
      makeEntry({
        id: `${request}.${index + 1}`,
        request,
        attempt: index + 1,
        startedAt: at,
        ...(more.outcome === 'failed' ? { payer: 'platform', failure: 'status_500' } : {}),
        ...more,
      }),
    );
  const failed = { outcome: 'failed' } as const;
  const query = { from: '2026-11-01', to: '2026-12-01', interval: 'day', where: {} } as const;
  const endsOf = async (more: Partial<Parameters<LedgerStore['ends']>[0]> = {}) =>
    (await store.ends({ ...query, ...more })).map(({ interval, outcome, failure, requests }) => [
      interval,
      outcome,
      failure,
      requests,
    ]);

  test('without an answer have the result of their last attempt, in any order of attempts', async () => {
    const entries = [
      ...of('answered', {}),
      ...of('twice', failed, failed),
      ...of('saved', failed, failed, {}),
      ...of('broken', failed, { outcome: 'broken-off', failure: 'truncated' }),
      // Eleven calls for one request: numbers of two digits, and as many answers that are one.
      ...of('fan', ...Array.from({ length: 10 }, () => ({})), failed, {}),
      ...of('refused', { ...failed, failure: 'status_400', apiKey: 'team/other' }),
      ...of('left', { outcome: 'cancelled' }),
    ];
    await store.take(page('c.1', entries.toReversed()), now);
    expect(await endsOf()).toEqual([
      ['2026-11-21', 'broken-off', 'truncated', 1],
      ['2026-11-21', 'cancelled', '', 1],
      ['2026-11-21', 'failed', 'status_400', 1],
      ['2026-11-21', 'failed', 'status_500', 1],
    ]);
    expect(await endsOf({ where: { apiKey: 'team/other' } })).toEqual([
      ['2026-11-21', 'failed', 'status_400', 1],
    ]);
  });

  test.each(['first to last', 'last to first'])(
    'whose attempts come one by one, from %s, have ended as the last of them',
    async (order) => {
      const entries = [
        ...of('saved', failed, {}),
        ...of('lost', failed, { ...failed, failure: 'status_503' }),
      ];
      const inOrder = order === 'first to last' ? entries : entries.toReversed();
      for (const [at, entry] of inOrder.entries()) await store.take(page(`c.${at}`, [entry]), now);
      expect(await endsOf()).toEqual([['2026-11-21', 'failed', 'status_503', 1]]);
    },
  );

  test('belong to the day and hour in which their first attempt began', async () => {
    const midnight = { ...failed, at: '2026-11-22T00:00:01.000Z' };
    await store.take(page('c.1', of('late', { ...failed, at: '2026-11-21T23:59:59.000Z' }, midnight)), now);
    expect(await endsOf()).toEqual([['2026-11-21', 'failed', 'status_500', 1]]);
    expect(await endsOf({ interval: 'hour', to: '2026-11-22' })).toEqual([
      ['2026-11-21T23:00:00Z', 'failed', 'status_500', 1],
    ]);
    expect(await endsOf({ from: '2026-11-22' })).toEqual([]);
  });

  test('with foreign ids do not break a query', async () => {
    const odd = ['x', '7', `r.${'9'.repeat(40)}`, '', 'ü.'].map((id) => ({ ...failed, id: id || ' ' }));
    await store.take(
      page(
        'c.1',
        odd.map((more) => makeEntry(more)),
      ),
      now,
    );
    expect(await endsOf({ from: '2026-01-01' })).toEqual([]);
  });

  test('have the time to first content, if content was delivered, to two digits', async () => {
    const within = (firstContentMs: number, more: Parameters<typeof makeEntry>[0] = {}) => ({
      firstContentMs,
      ...more,
    });
    await store.take(
      page('c.1', [
        ...of('a', within(99)),
        ...of('b', within(101)),
        ...of('c', within(109)),
        ...of('d', within(12_999, { namespace: 'other' })),
        ...of('e', within(5, failed), within(5e12)),
        ...of('plain', { firstContentMs: undefined as never, isStream: false }),
      ]),
      now,
    );
    const found = async (where = {}) =>
      (await store.firstContents({ ...query, where })).map(({ interval, ms, answers }) => [
        interval,
        ms,
        answers,
      ]);
    expect(await found()).toEqual([
      ['2026-11-21', 99, 1],
      ['2026-11-21', 100, 2],
      ['2026-11-21', 12_000, 1],
      ['2026-11-21', 1_000_000_000, 1],
    ]);
    expect(await found({ namespace: 'other' })).toEqual([['2026-11-21', 12_000, 1]]);
    const by = ['provider', 'upstreamModel'] as const;
    const groups = await store.firstContentsBy(by, { ...query, where: { namespace: 'other' } });
    const group = { provider: expect.any(String), upstreamModel: expect.any(String) };
    expect(groups).toEqual([{ group, ms: 12_000, answers: 1 }]);
  });
});
