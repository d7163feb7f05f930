// How does spend stand against budgets, and who may see it? ApiKeys on a real API server, asked over HTTP.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import {
  type BudgetWatch,
  type BudgetWatchOptions,
  readBudgets,
  readTenantBudgets,
  type TenantBudgets,
  watchBudgets,
} from '../../ledger/budgets.ts';
import { openAccess } from '../../ledger/read-api/access.ts';
import { budgetAnswer, type Fleet, spentOf } from '../../ledger/read-api/budgets.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { CostsRow, LedgerStore } from '../../ledger/store/store.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { installCrds } from '../cluster/install.ts';
import { apply } from '../cluster/objects.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { until } from '../support/until.ts';
import { makeEntry } from './make-entry.ts';
import { noGateways, type ReadApi, readAccounts, serveReadApi } from './read-house.ts';

const nowMs = Date.parse('2026-11-22T12:00:00Z');

describe('one budget', () => {
  const row = (period: 'Day' | 'Week' | 'Month' | 'Total', limitPicodollars: bigint) => ({
    namespace: 'team-a',
    spender: 'namespace' as const,
    name: 'team-a',
    budget: { period, limitPicodollars, action: 'Block' as const, warnPercent: 80 },
  });
  const costs: CostsRow = ['team-a', 0, '0.000000000001', '0.00000000002', '0.0000000003', '0.000000004'];
  const answerTo = (of: ReturnType<typeof row>, cost?: CostsRow) =>
    budgetAnswer({ ...of, picodollars: spentOf(of, cost) }, nowMs);

  test.each([
    ['Day', '1', '2026-11-22', '2026-11-23T00:00:00.000Z'],
    ['Week', '20', '2026-11-16', '2026-11-23T00:00:00.000Z'],
    ['Month', '300', '2026-11-01', '2026-12-01T00:00:00.000Z'],
    ['Total', '4000', undefined, undefined],
  ] as const)(
    'of a %s is held against what was spent in it, and says when it begins again',
    (period, ...said) => {
      const [costPicodollars, since, resetsAt] = said;
      const answer = answerTo(row(period, 1_000n), costs);
      expect([answer.costPicodollars, answer.since, answer.resetsAt]).toEqual([
        costPicodollars,
        since,
        resetsAt,
      ]);
      expect(answer.usedShare).toBe(Number(costPicodollars) / 1_000);
    },
  );

  test('with a small spend is distinguished from one without spend', () => {
    const shareOf = (limitPicodollars: bigint, spent: string) =>
      answerTo(row('Day', limitPicodollars), ['team-a', 0, spent, '0', '0', '0']).usedShare;
    expect(shareOf(25n * 10n ** 12n, '0.001')).toBe(0.00004);
    expect(shareOf(10n ** 18n, '0.000001')).toBe(1e-12);
    expect(shareOf(10n ** 18n, '999999.999999')).toBeLessThan(1);
  });

  test.each([
    ['Month', '2026-11-20', undefined, '2026-11-20'],
    ['Month', '2026-10-20', undefined, '2026-11-01'],
    // Made on the day of its first use; or earlier; or again, under the name of one that was deleted.
    ['Month', '2026-11-22', '2026-11-22T11:00:00Z', '2026-11-22T11:00:00Z'],
    ['Month', '2026-11-20', '2026-11-02T11:00:00Z', '2026-11-20'],
    ['Month', '2026-11-20', '2026-11-22T11:00:00Z', '2026-11-20'],
    ['Total', '2025-05-01', undefined, '2025-05-01'],
    ['Day', '2026-11-22', undefined, '2026-11-22'],
  ] as const)(
    'of a %s, first used %s, made %s, has its pace since %s',
    (period, firstDay, createdAt, since) => {
      const of = { ...row(period, 1_000n), createdAt, firstDay, picodollars: 1n };
      expect(budgetAnswer(of, nowMs).paceSince).toBe(since);
    },
  );

  test('of 0 is used up, and an unused one is not', () => {
    expect(answerTo(row('Day', 0n)).usedShare).toBe(1);
    expect(answerTo(row('Day', 5n))).toMatchObject({ usedShare: 0, costUsd: '0' });
  });
});

test.each([
  ['none', {}],
  ['a limit that is no money', { budgets: [{ period: 'Day', limit: 'much' }] }],
  ['an unknown period', { budgets: [{ period: 'Year', limit: '1' }] }],
])('an ApiKey with %s has no budget', (_, spec) => {
  expect(readBudgets({ metadata: { namespace: 'a', name: 'b' }, spec })).toBeUndefined();
});

test('budgets of namespaces are read from the table, blocking and warning ones', () => {
  const budget = (period: 'Day' | 'Month', limitMicrodollars: number) => ({ period, limitMicrodollars });
  const read = readTenantBudgets({
    tenantBudgets: [{ namespace: 'a', budgets: [budget('Month', 999_999_999_999_999)] }],
    tenantWarnings: [
      { namespace: 'a', budgets: [budget('Day', 5)] },
      { namespace: 'b', budgets: [budget('Month', 1)] },
    ],
  });
  expect(read).toEqual([
    {
      namespace: 'a',
      budgets: [
        { period: 'Day', action: 'Warn', limitPicodollars: 5_000_000n, warnPercent: 80 },
        { period: 'Month', action: 'Block', limitPicodollars: 999_999_999_999_999_000_000n, warnPercent: 80 },
      ],
    },
    {
      namespace: 'b',
      budgets: [{ period: 'Month', action: 'Warn', limitPicodollars: 1_000_000n, warnPercent: 80 }],
    },
  ]);
  expect(readTenantBudgets({})).toEqual([]);
});

const none: readonly TenantBudgets[] = [];

describe('over HTTP', () => {
  const plane = useControlPlane({ hasControllers: false });
  let folder: string;
  let store: LedgerStore;
  let watch: BudgetWatch;
  let api: ReadApi;
  let tokens: Awaited<ReturnType<typeof readAccounts>>;
  let fleet: Fleet | undefined;

  const follow = (more: Partial<BudgetWatchOptions> = {}) =>
    watchBudgets({
      client: plane().client,
      clock: systemClock,
      random: () => 0,
      tenantNamespaces: [],
      tenantBudgets: () => none,
      onTrouble() {},
      ...more,
    });
  const applyKey = (namespace: string, name: string, budgets: readonly object[]) =>
    apply(plane().client, {
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { namespace, name },
      spec: { budgets },
    });

  beforeAll(async () => {
    await installCrds(plane());
    tokens = await readAccounts(plane());
    folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
    store = await openSqliteStore(join(folder, 'ledger.sqlite'));
    const spent = (apiKey: string, day: string, dollars: number) =>
      makeEntry({
        id: `${apiKey} ${day}.1`,
        namespace: apiKey.split('/')[0] ?? '',
        apiKey,
        startedAt: `${day}T10:00:00.000Z`,
        costPicodollars: dollars * 1e12,
      });
    const entries = [
      spent('team-a/bot', '2026-11-02', 5),
      spent('team-a/bot', '2026-11-22', 2),
      spent('team-a/free', '2026-11-22', 1),
    ];
    await store.take({ source: 'p', cursor: 'c', entries, asides: [] }, nowMs);
    await applyKey('team-a', 'bot', [
      { period: 'Month', limit: '10.00' },
      { period: 'Day', limit: '8', action: 'Warn' },
    ]);
    await applyKey('team-a', 'free', []);
    await applyKey('team-b', 'idle', [{ period: 'Total', limit: '0.5' }]);
    const ofTenants: readonly TenantBudgets[] = [
      {
        namespace: 'team-a',
        budgets: [{ period: 'Week', limitPicodollars: 4n * 10n ** 12n, action: 'Block', warnPercent: 80 }],
      },
    ];
    watch = follow({ tenantBudgets: () => ofTenants });
    const clock = { ...makeFakeClock(), wallMs: () => nowMs };
    api = await serveReadApi({
      store,
      access: openAccess(plane().client, clock),
      clock,
      budgets: () => watch.budgets(),
      gateways: noGateways,
      fleet: () => fleet,
      token: () => undefined,
      onFailure() {},
    });
  }, 120_000);
  afterAll(async () => {
    await api?.close();
    await watch?.close();
    await store?.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => until(async () => watch.budgets() !== undefined));

  const budgetsIn = async (query = '', token = tokens.all) =>
    (await api.ask(`/v1/budgets${query}`, token)).body.budgets as Record<string, unknown>[];

  test('budgets of a namespace and of its keys are reported, also of unused keys', async () => {
    const november = { since: '2026-11-01', resetsAt: '2026-12-01T00:00:00.000Z' };
    expect(await budgetsIn('?namespace=team-a', tokens.teamA)).toEqual([
      {
        namespace: 'team-a',
        period: 'Week',
        action: 'Block',
        warnPercent: 80,
        limitUsd: '4',
        costUsd: '3',
        costPicodollars: '3000000000000',
        usedShare: 0.75,
        since: '2026-11-16',
        paceSince: expect.stringMatching(/^2026-11-/),
        resetsAt: '2026-11-23T00:00:00.000Z',
      },
      expect.objectContaining({ apiKey: 'team-a/bot', period: 'Day', action: 'Warn', usedShare: 0.25 }),
      expect.objectContaining({ apiKey: 'team-a/bot', limitUsd: '10', costUsd: '7', ...november }),
    ]);
    const all = await budgetsIn();
    expect(all.map(({ namespace, apiKey, period }) => [namespace, apiKey, period])).toEqual([
      ['team-a', undefined, 'Week'],
      ['team-a', 'team-a/bot', 'Day'],
      ['team-a', 'team-a/bot', 'Month'],
      ['team-b', 'team-b/idle', 'Total'],
    ]);
    expect(all[3]).toMatchObject({ costUsd: '0', limitUsd: '0.5', usedShare: 0 });
    expect(all[3]).not.toHaveProperty('resetsAt');
    expect(await budgetsIn('?apiKey=team-b/idle')).toHaveLength(1);
  });

  test('a question with the number of ready gateways gets the worst overshoot of blocking budgets, of a namespace too', async () => {
    const reported = async () => (await budgetsIn('?namespace=team-a')).map(({ atWorst }) => atWorst);
    for (const one of [undefined, { gateways: 0, hasStore: true }]) {
      fleet = one;
      expect(await reported()).toEqual([undefined, undefined, undefined]);
    }
    fleet = { gateways: 2, hasStore: false };
    expect(await reported()).toEqual([
      { requests: 2, dollars: '2' },
      undefined,
      { requests: 2, dollars: '5' },
    ]);
    fleet = { gateways: 3, hasStore: true };
    const withoutStore = { requests: 3, dollars: '8' };
    expect((await reported())[0]).toEqual({ requests: 1, dollars: '0', withoutStore });
    fleet = undefined;
  });

  test('used-up budgets, or those near it, can be listed alone, the nearest first', async () => {
    const used = async (query: string) =>
      (await budgetsIn(query)).map(({ apiKey, namespace, period }) => [apiKey ?? namespace, period]);
    expect(await used('?usedShare=0.25')).toEqual([
      ['team-a', 'Week'],
      ['team-a/bot', 'Month'],
      ['team-a/bot', 'Day'],
    ]);
    expect(await used('?usedShare=0.7&limit=1&offset=1')).toEqual([['team-a/bot', 'Month']]);
    expect(await used('?usedShare=1')).toEqual([]);
    expect(await used('?usedShare=0.7&spender=apiKey')).toEqual([['team-a/bot', 'Month']]);
  });

  test('budgets of whole namespaces come without the keys’', async () => {
    expect(await budgetsIn('?namespace=team-a&spender=namespace', tokens.teamA)).toMatchObject([
      { namespace: 'team-a', period: 'Week', usedShare: 0.75 },
    ]);
    expect(await budgetsIn('?namespace=team-b&spender=namespace')).toEqual([]);
  });

  test('they come page by page, each once', async () => {
    const pages = await Promise.all(
      [0, 1, 2, 3].map((at) => api.ask(`/v1/budgets?limit=1&offset=${at}`, tokens.all)),
    );
    expect(pages.flatMap(({ body }) => body.budgets)).toEqual(await budgetsIn());
    expect(pages.map(({ body }) => [body.isTruncated, body.next])).toEqual([
      [true, 1],
      [true, 2],
      [true, 3],
      [false, undefined],
    ]);
  });

  test('of other namespaces, or of all, need the right to get those ApiKeys', async () => {
    for (const query of ['', '?namespace=team-b'])
      expect((await api.ask(`/v1/budgets${query}`, tokens.teamA)).status).toBe(403);
    expect((await api.ask('/v1/budgets?namespace=team-a', tokens.nothing)).status).toBe(403);
    expect((await api.ask('/v1/budgets?namespace=team-a')).status).toBe(401);
    expect((await api.ask('/v1/budgets?from=2026-11-01', tokens.all)).body.error).toMatchObject({
      message: 'from: is no parameter of /v1/budgets',
    });
  });

  test('that change, or are removed with their key, are listed as they are then', async () => {
    await applyKey('team-b', 'new', [{ period: 'Day', limit: '1' }]);
    await until(async () => (await budgetsIn('?apiKey=team-b/new'))[0]?.limitUsd === '1');
    await applyKey('team-b', 'new', [{ period: 'Day', limit: '2' }]);
    await until(async () => (await budgetsIn('?apiKey=team-b/new'))[0]?.limitUsd === '2');
    await plane().mustKubectl(['delete', 'apikey', 'new', '-n', 'team-b', '--wait=false']);
    await until(async () => (await budgetsIn('?apiKey=team-b/new')).length === 0);
  });

  test('before they are known the answer is an error; with named namespaces, only those are read', async () => {
    const unknown = await serveReadApi({
      store,
      access: { judge: async () => 'allowed' },
      clock: { ...makeFakeClock(), wallMs: () => nowMs },
      budgets: () => undefined,
      gateways: noGateways,
      token: () => undefined,
      onFailure() {},
    });
    expect(await unknown.ask('/v1/budgets', tokens.all)).toMatchObject({
      status: 503,
      body: { error: { message: 'the budgets of ApiKeys have not been read yet; try again' } },
    });
    await unknown.close();
    const one = follow({ tenantNamespaces: ['team-b'] });
    const read = await until(async () => one.budgets());
    expect(read.map(({ name }) => name)).toEqual(['team-b/idle']);
    await one.close();
  });
});
