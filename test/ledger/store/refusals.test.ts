// Is every refusal counted once, over any time and by anything, and does it go with the records?

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { REFUSAL_WINDOW_MS, type Refusal, type RefusalSums } from '../../../core/contract/refusal.ts';
import { readPage } from '../../../ledger/read-page.ts';
import type { LedgerStore, Page } from '../../../ledger/store/store.ts';
import { runs } from '../../support/runs.ts';
import { type Databases, kindNames, kinds } from './stores.ts';

const now = Date.parse('2026-11-27T10:30:00Z');
const at = (text: string) => `2026-11-${text}Z`;

const sumsOf = (id: string, time: string, counts: RefusalSums['counts']): RefusalSums => ({
  kind: 'refusal-sums',
  id,
  at: at(time),
  windowMs: REFUSAL_WINDOW_MS,
  counts,
});
const refusalOf = (id: string, time: string, more: Partial<Refusal> = {}): Refusal => ({
  kind: 'refusal',
  id,
  at: at(time),
  status: 429,
  code: 'rate_limit_exceeded',
  ...more,
});
function page(cursor: string, ...lines: readonly object[]): Page {
  const { skipped: _, ...read } = readPage(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')));
  return { source: 'pod', cursor, ...read };
}

const limited = { namespace: 'team-a', apiKey: 'team-a/ci', model: 'penstock/small', status: 429 };
const hours = { from: at('27T00:00:00'), to: at('28T00:00:00'), limit: 100 };

describe.each(kindNames)('a ledger in %s', (kind) => {
  let databases: Databases;
  let store: LedgerStore;
  beforeAll(async () => {
    databases = await kinds[kind]();
  });
  afterAll(() => databases.close());
  beforeEach(async () => {
    store = await (await databases.make()).open();
  });
  afterEach(() => store.close());

  test('sums refusals by key, model, status and code, by day, hour and minute', async () => {
    await store.take(
      page(
        'c.1',
        sumsOf('p.1', '27T10:00:00.000', [
          { ...limited, code: 'rate_limit_exceeded', count: 3 },
          { status: 401, code: 'invalid_api_key', count: 2 },
        ]),
        sumsOf('p.2', '27T10:00:10.000', [{ ...limited, code: 'rate_limit_exceeded', count: 4 }]),
        sumsOf('p.3', '27T11:59:50.000', [{ ...limited, code: 'insufficient_quota', count: 5 }]),
      ),
      now,
    );
    expect(await store.refusals({ ...hours, by: [] })).toEqual([{ group: {}, refused: 14 }]);
    expect(await store.refusals({ ...hours, by: ['apiKey', 'status', 'code'] })).toEqual([
      { group: { apiKey: '', status: '401', code: 'invalid_api_key' }, refused: 2 },
      { group: { apiKey: 'team-a/ci', status: '429', code: 'insufficient_quota' }, refused: 5 },
      { group: { apiKey: 'team-a/ci', status: '429', code: 'rate_limit_exceeded' }, refused: 7 },
    ]);
    expect(await store.refusals({ ...hours, by: ['hour'] })).toEqual([
      { group: { hour: at('27T10:00:00') }, refused: 9 },
      { group: { hour: at('27T11:00:00') }, refused: 5 },
    ]);
    expect(
      await store.refusals({ ...hours, by: ['minute', 'model'], where: { namespace: 'team-a' } }),
    ).toEqual([
      { group: { minute: at('27T10:00:00'), model: 'penstock/small' }, refused: 7 },
      { group: { minute: at('27T11:59:00'), model: 'penstock/small' }, refused: 5 },
    ]);
    const part = { from: at('27T10:00:30'), to: at('27T11:59:10'), limit: 10, by: [] };
    expect(await store.refusals(part)).toEqual([{ group: {}, refused: 14 }]);
    expect(await store.refusals({ ...part, where: { status: '401' } })).toEqual([{ group: {}, refused: 2 }]);
    const days = { from: '2026-11-01', to: '2026-12-01', limit: 10, by: ['day'] as const };
    expect(await store.refusals(days)).toEqual([{ group: { day: '2026-11-27' }, refused: 14 }]);
    expect(await store.refusals({ ...days, where: { code: 'overloaded' }, by: [] })).toEqual([]);
    // Too many days to be named one by one.
    expect(await store.refusals({ ...days, from: '2000-01-01', to: '2100-01-01' })).toHaveLength(1);
  });

  test('shows single refusals newest first, by key, code and request, page by page', async () => {
    const lines = [
      refusalOf('req_1', '27T10:00:00.000', limited),
      refusalOf('req_2', '27T10:00:01.000', { status: 401, code: 'invalid_api_key' }),
      refusalOf('req_3', '27T10:00:01.000', { ...limited, owner: { team: 'search' }, message: 'Wait.' }),
    ];
    await store.take(page('c.1', ...lines), now);
    const ids = async (query: Partial<Parameters<LedgerStore['singleRefusals']>[0]>) =>
      (await store.singleRefusals({ ...hours, ...query })).map(({ id }) => id);
    expect(await ids({})).toEqual(['req_3', 'req_2', 'req_1']);
    expect(await ids({ where: { apiKey: 'team-a/ci', status: '429' } })).toEqual(['req_3', 'req_1']);
    expect(await ids({ where: { request: 'req_2' } })).toEqual(['req_2']);
    const [first] = await store.singleRefusals({ ...hours, limit: 1 });
    expect(JSON.parse(first?.line ?? '')).toEqual(lines[2]);
    expect(await ids({ before: first })).toEqual(['req_2', 'req_1']);
    expect(await ids({ to: at('27T10:00:01') })).toEqual(['req_1']);
  });

  test('refusals are deleted with the records of their day, and do not return', async () => {
    const old = [
      refusalOf('req_1', '01T10:00:00.000', limited),
      sumsOf('p.1', '01T10:00:00.000', [{ ...limited, code: 'rate_limit_exceeded', count: 3 }]),
    ];
    const fresh = sumsOf('p.2', '26T10:00:00.000', [{ ...limited, code: 'overloaded', count: 1 }]);
    await store.take(page('c.1', ...old, fresh), now);
    await store.purge({ before: '2026-11-20', silentSinceMs: 0, nowMs: now });
    await store.take(page('c.2', ...old, fresh), now);
    const all = { from: '2026-11-01', to: '2026-12-01', limit: 10 };
    expect(await store.refusals({ ...all, by: ['day'] })).toEqual([
      { group: { day: '2026-11-26' }, refused: 1 },
    ]);
    expect(await store.singleRefusals(all)).toEqual([]);
  });

  test('single refusals are counted up to a limit', async () => {
    const lines = Array.from({ length: 5 }, (_, at) =>
      refusalOf(`req_${at}`, `27T10:00:0${at}.000`, limited),
    );
    await store.take(page('c.1', ...lines, refusalOf('req_9', '27T10:00:09.000', { status: 401 })), now);
    const where = { namespace: 'team-a', apiKey: 'team-a/ci' };
    expect(await store.singleRefusalCount({ ...hours, where })).toBe(5);
    expect(await store.singleRefusalCount({ ...hours, where, limit: 3 })).toBe(3);
    expect(await store.singleRefusalCount({ ...hours, where: { ...where, namespace: 'team-b' } })).toBe(0);
  });

  test('of many single refusals the newest are kept, and sums count all', async () => {
    const lines = Array.from({ length: 9 }, (_, at) => refusalOf(`req_${at}`, `27T10:00:0${at}.000`));
    const sums = sumsOf('p.1', '27T10:00:00.000', [{ status: 429, code: 'rate_limit_exceeded', count: 9 }]);
    await store.take(page('c.1', ...lines, sums), now);
    const kept = async (refusalsKept: number) => {
      await store.purge({ before: '', refusalsKept, silentSinceMs: 0, nowMs: now });
      return (await store.singleRefusals(hours)).map(({ id }) => id);
    };
    expect(await kept(9)).toHaveLength(9);
    expect(await kept(3)).toEqual(['req_8', 'req_7', 'req_6']);
    expect(await store.refusals({ ...hours, by: [] })).toEqual([{ group: {}, refused: 9 }]);
  });

  test('windows are counted once, in any pages and however often they arrive', async () => {
    const window = fc.record({
      id: fc.nat({ max: 12 }),
      key: fc.nat({ max: 2 }),
      count: fc.integer({ min: 1, max: 1_000_000 }),
    });
    const pages = fc.array(fc.array(window, { maxLength: 8 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(pages, async (wanted) => {
        const mine = await (await databases.make()).open();
        try {
          const first = new Map<number, { key: number; count: number }>();
          for (const one of wanted.flat()) if (!first.has(one.id)) first.set(one.id, one);
          for (const [index, windows] of [...wanted, ...wanted].entries()) {
            const lines = windows.map(({ id }) => {
              const { key = 0, count = 0 } = first.get(id) ?? {};
              const seconds = String(id * 10).padStart(3, '0');
              const time = `27T10:${String(Math.floor(Number(seconds) / 60)).padStart(2, '0')}:${String(Number(seconds) % 60).padStart(2, '0')}.000`;
              return sumsOf(`p.${id}`, time, [
                { ...limited, apiKey: `team-a/${key}`, code: 'rate_limit_exceeded', count },
              ]);
            });
            await mine.take(page(`c.${index}`, ...lines), now);
          }
          for (const by of ['day', 'hour', 'minute'] as const) {
            const found = await mine.refusals({ ...hours, by: [by, 'apiKey'] });
            for (const key of [0, 1, 2]) {
              const expected = [...first.values()].reduce(
                (sum, one) => sum + (one.key === key ? one.count : 0),
                0,
              );
              const got = found.reduce(
                (sum, { group, refused }) => sum + (group.apiKey === `team-a/${key}` ? refused : 0),
                0,
              );
              expect(got).toBe(expected);
            }
          }
        } finally {
          await mine.close();
        }
      }),
      { numRuns: runs(20, 4) },
    );
  });
});

test('an unreadable line of refusals is quarantined, and other kinds are skipped', () => {
  const lines = [
    refusalOf('req_1', '27T10:00:00.000', { status: 42 }),
    sumsOf('p.1', '27T10:00:00.000', []),
    { kind: 'weather', id: 'sunny' },
  ];
  const read = readPage(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')));
  expect(read).toMatchObject({ entries: [], refusals: [], refusalSums: [], skipped: 1 });
  expect(read.asides.map(({ reason }) => reason.split(':')[0])).toEqual(['status', 'counts']);
});
