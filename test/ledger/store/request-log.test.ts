// Which single requests does a ledger list? The same over SQLite and Postgres.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { Entry, Filter, LedgerStore, LogQuery, Outcome } from '../../../ledger/store/store.ts';
import { makeRandom, type Random } from '../../simulation/random.ts';
import { runs } from '../../support/runs.ts';
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

  test('a filter keeps requests of one key, model or namespace, and those with an attempt at one provider', async () => {
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

  test('pages follow each other without gaps and duplicates, also for requests of one moment', async () => {
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

  test('any filters, over any days and in pages of any size, find what a search of each attempt finds', async () => {
    const random = makeRandom(11);
    const database = await databases.make();
    const all = makeAttempts(random);
    const own = await database.open();
    await own.take({ source: 'pod', cursor: 'c', entries: all, asides: [] }, now);
    await own.close();
    // Hours are forgotten with the records of their days, which may stay a while where a receiver does not have them yet.
    await database.edit(["DELETE FROM ledger_spans WHERE span LIKE '2026-11-17T%'"]);
    const reopened = await database.open();
    let found = 0;
    for (let run = 0; run < runs(160); run++) {
      const question = anyQuestion(random);
      const seen: string[] = [];
      for (let before: LogQuery['before'], more = true; more; more = before !== undefined) {
        const page = await reopened.requestLog({ ...question, before });
        seen.push(...page.requests.map(({ request }) => request));
        before = page.next;
      }
      // A request with several attempts at one provider may be on two pages.
      expect([question, [...new Set(seen)]]).toEqual([question, lookAtEach(all, question)]);
      found += seen.length;
    }
    expect(found).toBeGreaterThan(runs(160));
    await reopened.close();
  });
});

const outcomes: readonly [Outcome, ...Outcome[]] = ['answered', 'failed', 'cancelled', 'interrupted'];
const failureCodes = ['status_500', 'timeout_total'] as const;

/** Of six days with gaps between them. */
function makeAttempts(random: Random): Entry[] {
  return Array.from({ length: 250 }, (_, index) => {
    const request = `any_${index}`;
    const namespace = `team-${random.pick(['a', 'b', 'c'])}`;
    const hour = random.pick([0, 1, 2, 30, 31, 55, 80, 81, 82, 83, 100, 120]);
    const startMs = now - hour * 3_600_000 - random.between(0, 3_599_999);
    const model = `model-${random.chance(0.05) ? 'rare' : random.between(0, 2)}`;
    const apiKey = `${namespace}/${random.between(0, 3)}`;
    return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, at) => {
      const outcome = random.pick(outcomes);
      const failure = outcome === 'failed' ? { failure: random.pick(failureCodes) } : {};
      return makeEntry({
        ...{
          id: `${request}.${at + 1}`,
          request,
          attempt: at + 1,
          namespace,
          apiKey,
          model,
          outcome,
          ...failure,
        },
        startedAt: new Date(startMs + at * 1_000).toISOString(),
        provider: `p/${random.chance(0.05) ? 'rare' : random.between(0, 1)}`,
      });
    });
  }).flat();
}

function anyQuestion(random: Random): LogQuery {
  const maybe = <T>(share: number, make: () => T) => (random.chance(share) ? [make()] : []);
  const [ends] = maybe(0.5, () => outcomes.filter(() => random.chance(0.5)));
  const [failures] = ends === undefined ? [] : maybe(0.3, () => [random.pick(failureCodes)]);
  const where: Filter = Object.fromEntries([
    ...maybe(0.3, () => ['namespace', `team-${random.pick(['a', 'b', 'none'])}`]),
    ...maybe(0.3, () => ['apiKey', `team-${random.pick(['a', 'b'])}/${random.between(0, 4)}`]),
    ...maybe(0.3, () => ['model', `model-${random.pick(['rare', '0', 'none'])}`]),
    ...maybe(0.3, () => ['provider', `p/${random.pick(['rare', '0', 'none'])}`]),
  ]);
  const [from, to] = random.pick<readonly [string, string]>([
    ['2026-10-24', '2026-11-23'],
    ['2026-11-17', '2026-11-20'],
    ['2026-11-19T03:17:05Z', '2026-11-21T05:00:00Z'],
  ]);
  return { from, to, where, ends, failures, limit: random.pick([1, 3, 10, 500]) };
}

function lookAtEach(all: readonly Entry[], { from, to, where, ends, failures }: LogQuery): string[] {
  const ids = new Set(all.map(({ record }) => record.id));
  const isLast = ({ outcome, request, attempt }: LedgerRecord) =>
    outcome === 'answered' || !ids.has(`${request}.${attempt + 1}`);
  const isOfAttempts = where.provider !== undefined;
  const found = all
    .map(({ record }) => record)
    .filter((record) => {
      const ms = Date.parse(record.startedAt);
      const isWanted = isOfAttempts || (ends === undefined ? record.attempt === 1 : isLast(record));
      return (
        isWanted &&
        ms >= Date.parse(from) &&
        ms < Date.parse(to) &&
        Object.entries(where).every(([name, value]) => record[name as keyof LedgerRecord] === value) &&
        (ends?.includes(record.outcome) ?? true) &&
        (failures?.some((failure) => failure === record.failure) ?? true)
      );
    });
  const newestFirst = (a: LedgerRecord, b: LedgerRecord) =>
    Date.parse(b.startedAt) - Date.parse(a.startedAt) || (a.id < b.id ? 1 : -1);
  return [...new Set(found.sort(newestFirst).map(({ request }) => request))];
}
