// Who may see which spend? A real API server says it: by its tokens, and by who may get ApiKeys where.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SPEND_PATH } from '../../gateway/contract/spend.ts';
import type { KubeClient, KubeRequest } from '../../kube/client.ts';
import { openAccess } from '../../ledger/read-api/access.ts';
import { buildReadApi } from '../../ledger/read-api/read-api.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { serviceAccountToken } from '../cluster/identities.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { rawCall } from '../support/raw-client.ts';
import { makeEntry } from './make-entry.ts';

const plane = useControlPlane({ hasControllers: false });
const nowMs = Date.parse('2026-11-22T12:00:00Z');
const fake = makeFakeClock();
const exchangeToken = 'x'.repeat(43);

let folder: string;
let store: LedgerStore;
let server: Server;
let port: number;
/** Calls to the API server, by their path. */
const asked: string[] = [];
const failures: unknown[] = [];
/** Of accounts, by what they may. */
const tokens = { teamA: '', all: '', nothing: '' };

beforeAll(async () => {
  const { mustKubectl } = plane();
  for (const name of ['team-a', 'team-b']) await mustKubectl(['create', 'namespace', name]);
  for (const name of ['of-a', 'of-all', 'of-none'])
    await mustKubectl(['create', 'serviceaccount', name, '-n', 'team-a']);
  const rule = { apiGroups: ['penstock.dev'], resources: ['apikeys'], verbs: ['get'] };
  await mustKubectl(['apply', '-f', '-'], {
    stdin: JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'keys' },
      rules: [rule],
    }),
  });
  const bind = (kind: string, account: string) => [
    ...['create', kind, account, '--clusterrole=keys', `--serviceaccount=team-a:${account}`],
  ];
  await mustKubectl([...bind('rolebinding', 'of-a'), '-n', 'team-a']);
  await mustKubectl(bind('clusterrolebinding', 'of-all'));
  tokens.teamA = await serviceAccountToken(plane(), 'team-a', 'of-a');
  tokens.all = await serviceAccountToken(plane(), 'team-a', 'of-all');
  tokens.nothing = await serviceAccountToken(plane(), 'team-a', 'of-none');

  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  store = await openSqliteStore(join(folder, 'ledger.sqlite'));
  const at = (id: string, day: string, more: Parameters<typeof makeEntry>[0]) =>
    makeEntry({ id, startedAt: `${day}T10:30:00.000Z`, ...more });
  const a = { namespace: 'team-a', apiKey: 'team-a/bot', costPicodollars: 1_000_000_000_000 };
  const b = { namespace: 'team-b', apiKey: 'team-b/bot', costPicodollars: 1 };
  const entries = [
    at('1', '2026-11-20', { ...a, model: 'small', outcome: 'failed', payer: 'platform' }),
    at('2', '2026-11-22', { ...a, model: 'small' }),
    at('3', '2026-11-22', { ...b, model: 'large' }),
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
  server = buildReadApi({
    store,
    access: openAccess(client, clock),
    clock,
    token: () => exchangeToken,
    onFailure: (error) => failures.push(error),
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
}, 120_000);

afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await store?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  asked.length = 0;
  // What was answered before is forgotten.
  fake.advance(20_000);
});

async function ask(path: string, token?: string, method = 'GET') {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status, json, headers: answered } = await rawCall({ port }, { path, method, headers });
  return { status, body: json as Record<string, unknown>, headers: answered };
}
const rowsOf = ({ body }: { body: Record<string, unknown> }) => body.rows as Record<string, unknown>[];

describe('sums', () => {
  test('of a namespace are for who may get its ApiKeys', async () => {
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

  test('of another namespace, or of all, they are not for them', async () => {
    for (const query of ['?namespace=team-b', '', '?namespace=nowhere']) {
      const { status, body } = await ask(`/v1/sums${query}`, tokens.teamA);
      expect([status, body.error]).toEqual([
        403,
        expect.objectContaining({ code: 'forbidden', type: 'permission_error' }),
      ]);
    }
    for (const path of ['/v1/sums?namespace=team-a', '/v1/series', '/v1/models', '/v1/keys', '/v1/health'])
      expect((await ask(path, tokens.nothing)).status, path).toBe(403);
  });

  test('of everything are for who may get all ApiKeys, also by what only the platform knows', async () => {
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

test('series are by day or hour, with whatever else is asked for', async () => {
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

test('keys tell what they spent in this day, week and month, and when they were used last', async () => {
  const { body } = await ask('/v1/keys?namespace=team-a', tokens.teamA);
  expect(body.keys).toEqual([
    {
      apiKey: 'team-a/bot',
      lastUsedAt: '2026-11-22T10:30:00.000Z',
      day: expect.objectContaining({ since: '2026-11-22', costUsd: '1', requests: 1 }),
      week: expect.objectContaining({ since: '2026-11-16', costUsd: '1', requests: 2 }),
      month: expect.objectContaining({ since: '2026-11-01' }),
      total: expect.objectContaining({ costUsd: '1', requests: 2, tokens: { input: 100, output: 50 } }),
    },
  ]);
});

test('health counts attempts by how they ended: of routes for tenants, of providers for the platform', async () => {
  const outcomes = { answered: 1, failed: 1, 'broken-off': 0, cancelled: 0 };
  expect((await ask('/v1/health?namespace=team-a', tokens.teamA)).body.health).toEqual([
    { route: 'team/m', attempts: 2, outcomes },
  ]);
  expect((await ask('/v1/health', tokens.all)).body.health).toEqual([
    {
      provider: 'platform/p',
      upstreamModel: 'upstream-0',
      attempts: 3,
      outcomes: { ...outcomes, answered: 2 },
    },
  ]);
});

describe('without a good token', () => {
  test.each([
    ['none', undefined],
    ['an empty one', ''],
    ['one that is nobody’s', 'eyJhbGciOiJSUzI1NiJ9.e30.x'],
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

test.each([
  ['/v1/sums?from=yesterday', /^from: must be a day/],
  ['/v1/sums?from=2026-11-02&to=2026-11-01', /^to: must be after from/],
  ['/v1/sums?from=2020-01-01&to=2026-11-01', /^from: 2496 days are more than the 400/],
  ['/v1/series?interval=hour&from=2026-01-01&to=2026-11-01', /^from: 304 days are more than the 31/],
  ['/v1/sums?by=colour', /^by: must be of day, hour/],
  ['/v1/sums?by=day,day', /^by: names a dimension twice/],
  ['/v1/sums?by=day,model,payer,outcome,route', /^by: must be at most 4/],
  ['/v1/sums?colour=red', /^colour: is no parameter/],
  ['/v1/sums?model=a&model=b', /^model: is given more than once/],
  ['/v1/sums?payer=me', /^payer: must be tenant, platform or own-key/],
])('%s is refused, and the parameter named', async (path, message) => {
  const { status, body } = await ask(path, tokens.all);
  expect([status, body.error]).toEqual([
    400,
    { message: expect.stringMatching(message), type: 'invalid_request_error', code: 'invalid_parameter' },
  ]);
});

test('another path is 404 with the paths there are, and another method 405', async () => {
  expect((await ask('/v1/other', tokens.all)).body.error).toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('/v1/sums'),
  });
  const { status, headers } = await ask('/v1/sums', tokens.all, 'DELETE');
  expect([status, headers.allow]).toEqual([405, 'GET']);
});

describe('the operator, which has the exchange token', () => {
  test('hears of the keys that have changed behind a sequence, and goes on from there', async () => {
    const first = await ask(`${SPEND_PATH}?limit=1`, exchangeToken);
    expect(first.body).toMatchObject({ sequence: 2, hasMore: true, keys: [{ apiKey: 'team-a/bot' }] });
    const second = await ask(`${SPEND_PATH}?after=2`, exchangeToken);
    expect(second.body).toMatchObject({ sequence: 3, hasMore: false, keys: [{ apiKey: 'team-b/bot' }] });
    expect((await ask(`${SPEND_PATH}?after=3`, exchangeToken)).body).toMatchObject({ sequence: 3, keys: [] });
    expect(asked).toEqual([]);
  });

  test('is the only one that does', async () => {
    for (const token of [undefined, tokens.all, `${exchangeToken}x`])
      expect((await ask(SPEND_PATH, token)).status).toBe(401);
    expect((await ask(`${SPEND_PATH}?after=-1`, exchangeToken)).status).toBe(400);
    // And it may ask for nothing else.
    expect((await ask('/v1/sums', exchangeToken)).status).toBe(401);
  });
});

test('nothing failed on our side', () => {
  expect(failures).toEqual([]);
});
