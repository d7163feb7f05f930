// Which single requests does a ledger list? The same over SQLite and Postgres.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { Entry, LedgerStore, LogQuery } from '../../../ledger/store/store.ts';
import { makeEntry } from '../make-entry.ts';
import { type Databases, kindNames, kinds } from './stores.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const at = (second: number) => new Date(now - 3_600_000 + second * 1_000).toISOString();

describe.each(kindNames)('the request log in %s', (kind) => {
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

  const of = (request: string, second: number, ...attempts: readonly Partial<LedgerRecord>[]): Entry[] =>
    attempts.map((more, index) =>
      makeEntry({
        id: `${request}.${index + 1}`,
        request,
        attempt: index + 1,
        startedAt: at(second + index),
        ...(more.outcome === 'failed' ? { payer: 'platform', failure: 'status_500' } : {}),
        ...more,
      }),
    );
  const failed = { outcome: 'failed' } as const;
  const take = (entries: readonly Entry[]) =>
    store.take({ source: 'pod', cursor: `c.${entries[0]?.record.id}`, entries, asides: [] }, now);
  const query = { from: '2026-11-22', to: '2026-11-23', where: {}, limit: 50 } as const;
  const asked = async (more: Partial<LogQuery> = {}) =>
    (await store.requestLog({ ...query, ...more })).requests.map(({ request, lines }) => [
      request,
      lines.length,
    ]);

  test('each request is there once, the newest first, with all of its attempts', async () => {
    await take([
      ...of('plain', 1, {}),
      ...of('saved', 2, failed, {}),
      ...of('lost', 3, failed, failed, failed, failed, { ...failed, failure: 'timeout_total' }),
      ...of('left', 4, { outcome: 'cancelled' }),
    ]);
    const all = [
      ['left', 1],
      ['lost', 5],
      ['saved', 2],
      ['plain', 1],
    ];
    expect(await asked()).toEqual(all);
    expect(await asked({ ends: ['failed', 'broken-off', 'interrupted'] })).toEqual([['lost', 5]]);
    expect(await asked({ ends: ['failed'], failures: ['status_500'] })).toEqual([]);
    expect(await asked({ ends: ['failed'], failures: ['timeout_total'] })).toEqual([['lost', 5]]);
    expect(await asked({ ends: ['answered'] })).toEqual([
      ['saved', 2],
      ['plain', 1],
    ]);
    expect(await asked({ from: '2026-11-21', to: '2026-11-22' })).toEqual([]);
  });

  test('a filter leaves those of one key, model or namespace, and those that had an attempt at one provider', async () => {
    await take([
      ...of('a', 1, { apiKey: 'team/a', model: 'small', namespace: 'team' }),
      ...of('b', 2, { ...failed, provider: 'p/first' }, { provider: 'p/second', namespace: 'team' }),
      ...of('c', 3, { apiKey: 'other/c', namespace: 'other', provider: 'p/second' }),
    ]);
    expect(await asked({ where: { apiKey: 'team/a' } })).toEqual([['a', 1]]);
    expect(await asked({ where: { model: 'small', namespace: 'team' } })).toEqual([['a', 1]]);
    expect(await asked({ where: { model: 'small', namespace: 'other' } })).toEqual([]);
    expect(await asked({ where: { namespace: 'other' } })).toEqual([['c', 1]]);
    expect(await asked({ where: { provider: 'p/first' } })).toEqual([['b', 2]]);
    expect(await asked({ where: { provider: 'p/first' }, ends: ['failed'] })).toEqual([['b', 2]]);
    expect(await asked({ where: { provider: 'p/second' }, ends: ['failed'] })).toEqual([]);
    expect(await asked({ where: { provider: 'p/second' } })).toEqual([
      ['c', 1],
      ['b', 2],
    ]);
  });

  test('pages follow each other without a gap and without one twice, also of requests of one moment', async () => {
    const names = ['b', 'a', 'Z', 'é', '_', 'c', 'A', 'a-', 'aa', '0'];
    await take(names.flatMap((name) => of(name, 1, {})));
    const seen: string[] = [];
    for (let before: LogQuery['before'], pages = 0; pages < 20; pages++) {
      const page = await store.requestLog({ ...query, limit: 3, before });
      seen.push(...page.requests.map(({ request }) => request));
      before = page.next;
      if (before === undefined) break;
    }
    expect(seen).toHaveLength(names.length);
    expect(new Set(seen)).toEqual(new Set(names));
  });

  test('one request is found by its id, with its attempts in order, and in no other namespace', async () => {
    const mine = { namespace: 'team' };
    await take(of('fan', 1, ...Array.from({ length: 23 }, () => mine)).toReversed());
    const numbers = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).attempt);
    const inOrder = Array.from({ length: 23 }, (_, index) => index + 1);
    expect(numbers(await store.attemptsOf('fan', undefined))).toEqual(inOrder);
    expect(numbers(await store.attemptsOf('fan', 'team'))).toEqual(inOrder);
    expect(await store.attemptsOf('fan', 'other')).toEqual([]);
    expect(await store.attemptsOf('fa', undefined)).toEqual([]);
    expect(await store.attemptsOf("'; --", undefined)).toEqual([]);
  });
});
