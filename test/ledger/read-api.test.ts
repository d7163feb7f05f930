// Who may see which spend? A real API server says it: by its tokens, and by who may get ApiKeys where.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SPEND_PATH, spendReportSchema } from '../../core/contract/spend.ts';
import type { KubeClient, KubeRequest } from '../../core/kube/client.ts';
import { openAccess } from '../../ledger/read-api/access.ts';
import type { ReadApiParts } from '../../ledger/read-api/read-api.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { makeEntry } from './make-entry.ts';
import { noGateways, type ReadApi, readAccounts, serveReadApi } from './read-house.ts';

const plane = useControlPlane({ hasControllers: false });
const nowMs = Date.parse('2026-11-22T12:00:00Z');
const fake = makeFakeClock();
const exchangeToken = 'x'.repeat(43);

let folder: string;
let store: LedgerStore;
let parts: ReadApiParts;
let reader: ReadApi;
/** Calls to the API server, by their path. */
const asked: string[] = [];
const failures: unknown[] = [];
let tokens: Awaited<ReturnType<typeof readAccounts>>;

beforeAll(async () => {
  tokens = await readAccounts(plane());

  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  store = await openSqliteStore(join(folder, 'ledger.sqlite'));
  const at = (id: string, day: string, more: Parameters<typeof makeEntry>[0]) =>
    makeEntry({ id, startedAt: `${day}T10:30:00.000Z`, ...more });
  const a = { namespace: 'team-a', apiKey: 'team-a/bot', costPicodollars: 1_000_000_000_000 };
  const b = { namespace: 'team-b', apiKey: 'team-b/bot', costPicodollars: 1 };
  const entries = [
    at('1.1', '2026-11-20', { ...a, model: 'small', outcome: 'failed', payer: 'platform' }),
    at('2.1', '2026-11-22', { ...a, model: 'small' }),
    at('3.1', '2026-11-22', { ...b, model: 'large', upstreamModel: 'upstream-1' }),
  ];
  await store.take({ source: 'p', cursor: 'c', entries, asides: [] }, nowMs);
  const client: KubeClient = {
    ...plane().client,
    call(request: KubeRequest) {
      asked.push(request.path);
      return plane().client.call(request);
    },
  };
  const clock = { ...fake, wallMs: () => nowMs };
  parts = {
    store,
    access: openAccess(client, clock),
    clock,
    budgets: () => undefined,
    gateways: noGateways,
    token: () => exchangeToken,
    onFailure: (error) => failures.push(error),
  };
  reader = await serveReadApi(parts);
}, 120_000);

afterAll(async () => {
  await reader?.close();
  await store?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  asked.length = 0;
  // What was answered before is forgotten.
  fake.advance(20_000);
});

const ask: ReadApi['ask'] = (...question) => reader.ask(...question);
const rowsOf = ({ body }: { body: Record<string, unknown> }) => body.rows as Record<string, unknown>[];

describe('sums', () => {
  test('of a namespace need the right to get its ApiKeys', async () => {
    const { status, body } = await ask('/v1/sums?by=model&namespace=team-a', tokens.teamA);
    expect([status, body]).toEqual([
      200,
      {
        from: '2026-10-24',
        to: '2026-11-23',
        isTruncated: false,
        rows: [
          {
            model: 'small',
            requests: 2,
            attempts: 2,
            refused: 0,
            estimated: 0,
            unpriced: 0,
            tokens: { input: 200, cachedInput: 0, cacheWrite: 0, output: 100, reasoning: 0 },
            costUsd: '2',
            costPicodollars: '2000000000000',
          },
        ],
      },
    ]);
  });

  test('accept two blanks between the scheme and the token', async () => {
    expect((await ask('/v1/sums?namespace=team-a', ` ${tokens.teamA}`)).status).toBe(200);
    expect((await ask('/v1/sums?namespace=team-a', `${tokens.teamA} more`)).status).toBe(401);
  });

  test('of another namespace, or of all, are refused', async () => {
    for (const query of ['?namespace=team-b', '', '?namespace=nowhere']) {
      const { status, body } = await ask(`/v1/sums${query}`, tokens.teamA);
      expect([status, body.error]).toEqual([
        403,
        expect.objectContaining({ code: 'forbidden', type: 'permission_error' }),
      ]);
    }
    const others = [
      '/v1/series',
      '/v1/refusals',
      '/v1/requests',
      '/v1/models',
      '/v1/keys',
      '/v1/costs',
      '/v1/uses',
      '/v1/health',
    ];
    for (const path of ['/v1/sums?namespace=team-a', ...others])
      expect((await ask(path, tokens.nothing)).status, path).toBe(403);
  });

  test('of everything need the right to get all ApiKeys, also by fields that only the platform sees', async () => {
    const rows = rowsOf(await ask('/v1/sums?by=namespace,payer&from=2026-11-01&to=2026-12-01', tokens.all));
    expect(rows.map(({ namespace, payer, costUsd }) => [namespace, payer, costUsd])).toEqual([
      ['team-a', 'platform', '1'],
      ['team-a', 'tenant', '1'],
      ['team-b', 'tenant', '0.000000000001'],
    ]);
    expect(rowsOf(await ask('/v1/sums?by=provider', tokens.all))).toHaveLength(1);
    for (const query of ['by=provider', 'by=upstreamModel', 'provider=platform/p'])
      expect((await ask(`/v1/sums?namespace=team-a&${query}`, tokens.teamA)).status, query).toBe(403);
  });
});

test('series are by day or hour, with all other parameters', async () => {
  const days = rowsOf(await ask('/v1/series?namespace=team-a', tokens.teamA));
  expect(days.map(({ day, attempts }) => [day, attempts])).toEqual([
    ['2026-11-20', 1],
    ['2026-11-22', 1],
  ]);
  const hours = rowsOf(
    await ask('/v1/series?interval=hour&by=model&from=2026-11-22&to=2026-11-23', tokens.all),
  );
  expect(hours.map(({ hour, model }) => [hour, model])).toEqual([
    ['2026-11-22T10:00:00Z', 'large'],
    ['2026-11-22T10:00:00Z', 'small'],
  ]);
});

test('requests show how they ended and the time to first content, by day or hour, with the same rights', async () => {
  const { status, body } = await ask('/v1/requests?namespace=team-a', tokens.teamA);
  const ended = (answered: number, failed: number) => ({
    outcomes: { answered, failed, refused: 0, 'broken-off': 0, cancelled: 0, interrupted: 0 },
  });
  const fast = { firstContentMs: { answers: 1, p50: 20, p90: 20, p99: 20 } };
  expect([status, body]).toEqual([
    200,
    {
      from: '2026-10-24',
      to: '2026-11-23',
      interval: 'day',
      total: { requests: 2, ...ended(1, 1), errorRate: 0.5, ...fast },
      rows: [
        { day: '2026-11-20', requests: 1, ...ended(0, 1), errorRate: 1 },
        { day: '2026-11-22', requests: 1, ...ended(1, 0), errorRate: 0, ...fast },
      ],
      isTruncated: false,
    },
  ]);
  const hours = await ask('/v1/requests?interval=hour&from=2026-11-20&to=2026-11-21', tokens.all);
  expect(rowsOf(hours)).toMatchObject([{ hour: '2026-11-20T10:00:00Z', errorRate: 1 }]);
  expect(rowsOf(await ask('/v1/requests?apiKey=team-b/bot', tokens.all))).toMatchObject([{ errorRate: 0 }]);
  for (const query of ['', '?namespace=team-b'])
    expect((await ask(`/v1/requests${query}`, tokens.teamA)).status).toBe(403);
});

test('requests are reported from the first day on whose records are kept, and the answer says so', async () => {
  const other = await openSqliteStore(join(folder, 'purged.sqlite'));
  const entries = ['2026-11-10', '2026-11-20'].map((day) =>
    makeEntry({ id: `${day}.1`, startedAt: `${day}T10:00:00.000Z` }),
  );
  await other.take({ source: 'p', cursor: 'c', entries, asides: [] }, nowMs);
  await other.purge({ before: '2026-11-11', silentSinceMs: 0, nowMs: Date.parse('2026-11-11') });
  const otherReader = await serveReadApi({ ...parts, store: other });
  expect((await otherReader.ask('/v1/requests', tokens.all)).body).toMatchObject({
    from: '2026-11-11',
    total: { requests: 1 },
    rows: [{ day: '2026-11-20' }],
  });
  await otherReader.close();
  await other.close();
});

test('keys show their spend in this day, week and month, and their last use', async () => {
  const { body } = await ask('/v1/keys?namespace=team-a', tokens.teamA);
  expect(body.keys).toEqual([
    {
      apiKey: 'team-a/bot',
      lastUsedAt: '2026-11-22T10:30:00.000Z',
      day: expect.objectContaining({ since: '2026-11-22', costUsd: '1', requests: 1 }),
      week: expect.objectContaining({ since: '2026-11-16', costUsd: '1', requests: 2 }),
      month: expect.objectContaining({ since: '2026-11-01' }),
      total: expect.objectContaining({
        costUsd: '1',
        requests: 2,
        tokens: { input: 100, cachedInput: 0, output: 50 },
      }),
    },
  ]);
});

test('costs list all keys in use, in short rows', async () => {
  const columns = ['apiKey', 'lastUsedMs', 'dayUsd', 'weekUsd', 'monthUsd', 'totalUsd'];
  const lastUsedMs = Date.parse('2026-11-22T10:30:00Z');
  const cent = '0.000000000001';
  const rows = [
    ['team-a/bot', lastUsedMs, '1', '1', '1', '1'],
    ['team-b/bot', lastUsedMs, cent, cent, cent, cent],
  ];
  const all = await ask('/v1/costs', tokens.all);
  expect(all.body).toEqual({ columns, isTruncated: false, rows });
  const mine = await ask('/v1/costs?namespace=team-a', tokens.teamA);
  expect(mine.body.rows).toEqual(rows.slice(0, 1));
  const first = await ask('/v1/costs?limit=1', tokens.all);
  expect(first.body).toMatchObject({ isTruncated: true, next: 1, rows: rows.slice(0, 1) });
  expect((await ask('/v1/costs?limit=1&offset=1', tokens.all)).body).toMatchObject({
    isTruncated: false,
    rows: rows.slice(1),
  });
  expect((await ask('/v1/costs?from=2026-11-23&to=2026-11-24', tokens.all)).status).toBe(400);
  expect((await ask('/v1/costs?from=2026-11-22T10:30:01Z', tokens.all)).body.rows).toEqual([]);
});

test('namespaces show the spend of all of their keys', async () => {
  const { body } = await ask('/v1/namespaces', tokens.all);
  expect(body).toMatchObject({
    isTruncated: false,
    namespaces: [
      { namespace: 'team-a', month: { since: '2026-11-01', costUsd: '1', requests: 2 } },
      { namespace: 'team-b', total: { costUsd: '0.000000000001' }, lastUsedAt: '2026-11-22T10:30:00.000Z' },
    ],
  });
  const mine = await ask('/v1/namespaces?namespace=team-a', tokens.teamA);
  expect(mine.body.namespaces).toMatchObject([{ namespace: 'team-a' }]);
  expect((await ask('/v1/namespaces', tokens.teamA)).status).toBe(403);
});

test('models show how their attempts ended, and the price of the last one', async () => {
  const rows = rowsOf(await ask('/v1/models?namespace=team-a', tokens.teamA));
  expect(rows).toEqual([
    expect.objectContaining({
      model: 'small',
      costUsd: '2',
      outcomes: { answered: 1, failed: 1, 'broken-off': 0, cancelled: 0, interrupted: 0 },
      lastPricing: { inputPerMillion: '1', outputPerMillion: '2', hasTiers: false, source: 'target' },
    }),
  ]);
});

test.each([
  '/v1/sums?by=model',
  '/v1/models',
  '/v1/keys',
  '/v1/namespaces',
  '/v1/series?by=model',
  '/v1/requests',
  '/v1/health',
  '/v1/uses',
])('%s gives its rows page by page, each once', async (path) => {
  const question = path.includes('?') ? `${path}&` : `${path}?`;
  const listIn = (body: Record<string, unknown>) =>
    [body.rows, body.keys, body.namespaces, body.health].find((list) => Array.isArray(list)) ?? [];
  const whole = listIn((await ask(path, tokens.all)).body);
  const seen: unknown[] = [];
  let next: unknown = 0;
  while (next !== undefined) {
    const { body } = await ask(`${question}limit=1&offset=${next}`, tokens.all);
    expect([listIn(body).length, body.isTruncated]).toEqual([1, body.next !== undefined]);
    seen.push(...listIn(body));
    next = body.next;
  }
  expect(seen).toEqual(whole);
  expect(whole.length).toBeGreaterThan(1);
});

test('times to first content are by provider and by route, of two hours at most', async () => {
  const first = { answers: 1, p50: 20, p90: 20, p99: 20 };
  const within = (to: string) => `from=2026-11-22T09:30:00Z&to=2026-11-22T${to}:00Z`;
  const firstOf = async (query: string, token: string) =>
    ((await ask(`/v1/health?${query}`, token)).body.health as { firstContentMs?: object }[]).flatMap(
      ({ firstContentMs }) => firstContentMs ?? [],
    );
  expect(await firstOf(`provider=platform/p&${within('11:30')}`, tokens.all)).toEqual([first, first]);
  expect(await firstOf(`namespace=team-a&${within('11:30')}`, tokens.teamA)).toEqual([first]);
  expect(await firstOf(`provider=platform/p&${within('11:31')}`, tokens.all)).toEqual([]);
});

test('health counts attempts by how they ended: of routes for tenants, of providers for the platform', async () => {
  const outcomes = { answered: 1, failed: 1, 'broken-off': 0, cancelled: 0, interrupted: 0 };
  const lastFailedAt = '2026-11-20T10:30:00.000Z';
  const lastFailure = { request: 'req_1', status: 200 };
  expect((await ask('/v1/health?namespace=team-a', tokens.teamA)).body.health).toEqual([
    { route: 'team/m', requests: 2, attempts: 2, outcomes, lastFailedAt, lastFailure },
  ]);
  expect((await ask('/v1/health', tokens.all)).body.health).toEqual([
    {
      provider: 'platform/p',
      upstreamModel: 'upstream-0',
      requests: 2,
      attempts: 2,
      outcomes,
      lastFailedAt,
      lastFailure,
    },
    {
      provider: 'platform/p',
      upstreamModel: 'upstream-1',
      requests: 1,
      attempts: 1,
      outcomes: { ...outcomes, failed: 0 },
    },
  ]);
});

describe('without a good token', () => {
  test.each([
    ['none', undefined],
    ['an empty one', ''],
    ['an unknown token', 'eyJhbGciOiJSUzI1NiJ9.e30.x'],
  ])('%s is 401', async (_, token) => {
    const answer = await ask('/v1/sums', token);
    expect([answer.status, answer.body.error]).toEqual([
      401,
      expect.objectContaining({ type: 'authentication_error', code: 'invalid_token' }),
    ]);
    expect(JSON.stringify(answer.body)).not.toContain('eyJ');
  });
});

test('Kubernetes is asked once for many questions, and again when ten seconds have gone', async () => {
  for (let at = 0; at < 5; at++) await ask('/v1/sums?namespace=team-a', tokens.teamA);
  expect(asked.map((path) => path.split('/').at(-1))).toEqual(['tokenreviews', 'subjectaccessreviews']);
  fake.advance(10_000);
  await ask('/v1/sums?namespace=team-a', tokens.teamA);
  expect(asked).toHaveLength(4);
});

test.each<[string, RegExp]>([
  ['/v1/sums?from=yesterday', /^from: must be a day/],
  ['/v1/sums?from=2026-11-02&to=2026-11-01', /^to: must be after from/],
  ['/v1/sums?from=2020-01-01&to=2026-11-01', /^from: 2496 days are more than the 400/],
  ['/v1/series?interval=hour&from=2026-01-01&to=2026-11-01', /^from: 304 days are more than the 31/],
  ['/v1/sums?by=colour', /^by: must be of day, hour/],
  ['/v1/sums?by=day,day', /^by: names a dimension twice/],
  ['/v1/sums?by=day,model,payer,outcome,route', /^by: must be at most 4/],
  ['/v1/sums?colour=red', /^colour: is no parameter/],
  ['/v1/sums?model=a&model=b', /^model: is given more than once/],
  ['/v1/sums?limit=0', /^limit: must be a whole number from 1 to 10000/],
  ['/v1/sums?offset=-1', /^offset: must be a whole number from 0/],
  ['/v1/requests?by=model', /^by: is no parameter of \/v1\/requests/],
  ['/v1/requests?provider=p', /^provider: is no parameter/],
  ['/v1/sums?interval=day&by=model', /^interval: is no parameter of \/v1\/sums/],
  ...['/v1/models', '/v1/keys', '/v1/namespaces', '/v1/health'].flatMap((path): [string, RegExp][] => [
    [`${path}?by=model`, /^by: is no parameter/],
    [`${path}?interval=hour`, /^interval: is no parameter/],
  ]),
  ['/v1/keys?usedShare=1', /^usedShare: is no parameter of \/v1\/keys/],
  ['/v1/budgets?usedShare=much', /^usedShare: must be a number from 0/],
  ['/v1/budgets?spender=me', /^spender: must be apiKey or namespace/],
  ['/v1/costs?to=2026-11-23', /^to: is no parameter of \/v1\/costs/],
  ['/v1/uses?by=apiKey', /^by: is no parameter of \/v1\/uses/],
  ['/v1/sums?payer=me', /^payer: must be tenant, platform or own-key/],
])('%s is refused, and the parameter is named', async (path, message) => {
  const { status, body } = await ask(path, tokens.all);
  expect([status, body.error]).toEqual([
    400,
    { message: expect.stringMatching(message), type: 'invalid_request_error', code: 'invalid_parameter' },
  ]);
});

// What a key spent is known as a whole: the figures of everything would be taken for those of a part.
test.each([
  ...['route', 'provider', 'model', 'upstreamModel', 'payer=tenant', 'outcome=answered'].flatMap((name) => [
    ['/v1/keys', name] as const,
    ['/v1/namespaces', name] as const,
  ]),
  ['/v1/namespaces', 'apiKey'] as const,
])('%s does not show the total to a question by %s', async (path, given) => {
  const [name] = given.split('=');
  const { status, body } = await ask(`${path}?${given.includes('=') ? given : `${given}=x`}`, tokens.all);
  expect([status, body.error]).toMatchObject([
    400,
    { message: `${name}: is no parameter of ${path}`, code: 'invalid_parameter' },
  ]);
});

test('keys are all keys of one namespace, or one key by its name', async () => {
  const { body } = await ask('/v1/keys?apiKey=team-b/bot', tokens.all);
  expect(body.keys).toMatchObject([{ apiKey: 'team-b/bot' }]);
});

test('another path is 404 with the paths there are, and another method 405', async () => {
  expect((await ask('/v1/other', tokens.all)).body.error).toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('/v1/sums'),
  });
  // What is no address either is no failure of ours.
  expect((await ask('//', tokens.all)).status).toBe(404);
  const { status, headers } = await ask('/v1/sums', tokens.all, 'DELETE');
  expect([status, headers.allow]).toEqual([405, 'GET']);
});

describe('the operator, which has the exchange token', () => {
  test('gets the keys that changed after a sequence, and continues from there', async () => {
    const first = await ask(`${SPEND_PATH}?limit=1`, exchangeToken);
    expect(first.body).toMatchObject({ sequence: 2, hasMore: true, keys: [{ apiKey: 'team-a/bot' }] });
    const second = await ask(`${SPEND_PATH}?after=2`, exchangeToken);
    expect(second.body).toMatchObject({ sequence: 3, hasMore: false, keys: [{ apiKey: 'team-b/bot' }] });
    expect((await ask(`${SPEND_PATH}?after=3`, exchangeToken)).body).toMatchObject({ sequence: 3, keys: [] });
    expect(asked).toEqual([]);
  });

  test('gets the namespaces too, with all that tenants pay, and the id of the ledger', async () => {
    const answer = spendReportSchema.parse((await ask(SPEND_PATH, exchangeToken)).body);
    expect(answer.namespaces.map(({ namespace, total }) => [namespace, total.costPicodollars])).toEqual([
      ['team-a', '1000000000000'],
      ['team-b', '1'],
    ]);
    expect(answer.ledger).toBe((await store.state()).id);
    // Behind more than there is, it is another ledger than the one that reported so much: all is to be asked for again.
    const beyond = await ask(`${SPEND_PATH}?after=4`, exchangeToken);
    expect(beyond.body).toMatchObject({ sequence: 0, hasMore: true, keys: [] });
    // Those whose last record lies behind the keys of the page come with the next.
    const [first, second] = await Promise.all(
      ['limit=1', 'after=2'].map((query) => ask(`${SPEND_PATH}?${query}`, exchangeToken)),
    );
    expect(first?.body.namespaces).toMatchObject([{ namespace: 'team-a' }]);
    expect(second?.body.namespaces).toMatchObject([{ namespace: 'team-b' }]);
  });

  test('is the only caller of that', async () => {
    for (const token of [undefined, tokens.all, `${exchangeToken}x`])
      expect((await ask(SPEND_PATH, token)).status).toBe(401);
    expect((await ask(`${SPEND_PATH}?after=-1`, exchangeToken)).status).toBe(400);
    // And it may ask for nothing else.
    expect((await ask('/v1/sums', exchangeToken)).status).toBe(401);
  });
});

test('no error was internal', () => {
  expect(failures).toEqual([]);
});
