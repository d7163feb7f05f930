// What does the ledger say of single requests? Rows and attempts, without any content.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Refusal, RefusalSums } from '../../core/contract/refusal.ts';
import { readPage } from '../../ledger/read-page.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeLine } from './make-entry.ts';
import { type ReadApi, serveToAnybody } from './read-house.ts';

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const started = new AsyncDisposableStack();
let reader: ReadApi;

const usage = { input: 6, cachedInput: 2, cacheWrite: 0, output: 21, reasoning: 0 };
const nothing = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 };
const common: Partial<LedgerRecord> = {
  namespace: 'team-a',
  apiKey: 'team-a/ci',
  owner: { name: 'Ada', team: 'search' },
  route: 'platform/chat',
  model: 'penstock/chat',
  requestedModel: 'chat',
  clientDialect: 'openai-chat',
  upstreamDialect: 'anthropic-messages',
  isStream: true,
};
const first: Partial<LedgerRecord> = {
  ...common,
  id: 'req_1.1',
  request: 'req_1',
  attempt: 1,
  startedAt: '2026-11-22T11:00:00.000Z',
  durationMs: 120,
  target: 'main',
  provider: 'platform/openai',
  providerKey: 'k1',
  upstreamModel: 'gpt',
  outcome: 'failed',
  status: 500,
  failure: 'status_500',
  payer: 'platform',
  usage: nothing,
  costPicodollars: 0,
};
const second: Partial<LedgerRecord> = {
  ...common,
  id: 'req_1.2',
  request: 'req_1',
  attempt: 2,
  startedAt: '2026-11-22T11:00:00.150Z',
  durationMs: 800,
  firstContentMs: 250,
  target: 'spare',
  provider: 'platform/spare',
  providerKey: 'k2',
  upstreamModel: 'claude',
  outcome: 'answered',
  status: 200,
  payer: 'tenant',
  usage,
  costPicodollars: 34_500_000,
};
const lost: Partial<LedgerRecord> = {
  ...first,
  id: 'req_2.1',
  request: 'req_2',
  startedAt: '2026-11-22T11:30:00.000Z',
  failure: 'unusable',
  cause: 'it has no choices',
  status: 200,
};
const paidByTheHour: Partial<LedgerRecord> = {
  ...second,
  id: 'req_5.1',
  request: 'req_5',
  attempt: 1,
  apiKey: 'team-c/ci',
  namespace: 'team-c',
  startedAt: '2026-10-01T11:50:00.000Z',
  price: { input: 0, output: 0, source: 'provisioned' },
  costPicodollars: 0,
};
const limited = {
  namespace: 'team-a',
  apiKey: 'team-a/ci',
  model: 'penstock/chat',
  status: 429,
  code: 'rate_limit_exceeded',
};
const unknown = { status: 401, code: 'invalid_api_key' };
const refusals: readonly (Refusal | RefusalSums)[] = [
  {
    kind: 'refusal',
    id: 'req_3',
    at: '2026-11-22T11:10:00.000Z',
    ...limited,
    owner: { name: 'Ada' },
    message: 'The limit of 5 requests a minute is used up.',
  },
  { kind: 'refusal', id: 'req_4', at: '2026-11-22T11:40:00.000Z', ...unknown },
  {
    kind: 'refusal-sums',
    id: 'w.1',
    at: '2026-11-22T11:10:00.000Z',
    windowMs: 10_000,
    counts: [
      { ...limited, count: 31 },
      { ...unknown, count: 1 },
    ],
  },
];

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const lines = [
    ...[first, second, lost, paidByTheHour].map((more) => makeLine(more)),
    ...refusals.map((line) => JSON.stringify(line)),
  ];
  const { skipped, ...page } = readPage(Buffer.from(lines.join('\n')));
  expect([skipped, page.asides]).toEqual([0, []]);
  await store.take({ source: 'p', cursor: 'c', ...page }, nowMs);
  reader = started.adopt(await serveToAnybody(store, nowMs), (one) => one.close());
});
afterAll(() => started.disposeAsync());

const ask = async (query: string) => await reader.ask(`/v1/request-log?${query}`, 'anybody');
const requestsOf = (body: Record<string, unknown>) =>
  (body.rows as { readonly request: string }[]).map(({ request }) => request);

test('a row is a request: the status of its caller, its provider, and the cost of all attempts', async () => {
  const { status, body } = await ask('outcome=answered');
  expect([status, body]).toEqual([
    200,
    {
      from: '2026-10-24',
      to: '2026-11-23',
      isTruncated: false,
      refusedWithoutRow: 0,
      rows: [
        {
          request: 'req_1',
          startedAt: '2026-11-22T11:00:00.000Z',
          namespace: 'team-a',
          apiKey: 'team-a/ci',
          owner: { name: 'Ada', team: 'search' },
          model: 'penstock/chat',
          requestedModel: 'chat',
          route: 'platform/chat',
          target: 'spare',
          provider: 'platform/spare',
          providerKey: 'k2',
          upstreamModel: 'claude',
          upstreamDialect: 'anthropic-messages',
          status: 200,
          outcome: 'answered',
          attempts: 2,
          tokens: { input: 6, cachedInput: 2, output: 21 },
          costUsd: '0.0000345',
          firstContentMs: 400,
          durationMs: 950,
          isStream: true,
          clientDialect: 'openai-chat',
        },
      ],
    },
  ]);
});

test('a request at provisioned capacity is marked, beside its cost of 0', async () => {
  const { body } = await ask('request=req_5');
  const paid = { costUsd: '0', isProvisioned: true };
  expect(body).toMatchObject({ rows: [paid], attempts: [paid] });
});

test('a request is found by the id of its response, with each attempt and its cause in words', async () => {
  const { body } = await ask('request=req_1');
  expect(requestsOf(body)).toEqual(['req_1']);
  expect(body.attempts).toEqual([
    {
      attempt: 1,
      startedAt: '2026-11-22T11:00:00.000Z',
      target: 'main',
      provider: 'platform/openai',
      providerKey: 'k1',
      upstreamModel: 'gpt',
      upstreamDialect: 'anthropic-messages',
      outcome: 'failed',
      upstreamStatus: 500,
      failure: 'status_500',
      cause: 'answered HTTP 500',
      durationMs: 120,
      firstContentMs: 20,
      tokens: { input: 0, cachedInput: 0, output: 0 },
      costUsd: '0',
      payer: 'platform',
    },
    expect.objectContaining({ attempt: 2, outcome: 'answered', firstContentMs: 250, durationMs: 800 }),
  ]);
  expect((await ask('request=req_1.2')).body.rows).toEqual(body.rows);
  expect((await ask('request=req_9')).body).toEqual({ rows: [], attempts: [], isTruncated: false });
  expect((await ask('request=req_1&namespace=team-b')).body.rows).toEqual([]);
});

test('a request that the gateway refused is a row too, and refusals without rows are a number', async () => {
  const { body } = await ask('outcome=refused&apiKey=team-a/ci');
  expect(body).toEqual({
    from: '2026-10-24',
    to: '2026-11-23',
    isTruncated: false,
    refusedWithoutRow: 30,
    rows: [
      {
        request: 'req_3',
        startedAt: '2026-11-22T11:10:00.000Z',
        ...{ namespace: 'team-a', apiKey: 'team-a/ci', owner: { name: 'Ada' }, model: 'penstock/chat' },
        ...{ status: 429, outcome: 'refused', failure: 'rate_limit_exceeded' },
        cause: 'The limit of 5 requests a minute is used up.',
        attempts: 0,
        tokens: { input: 0, cachedInput: 0, output: 0 },
        costUsd: '0',
      },
    ],
  });
  const { body: one } = await ask('request=req_3');
  expect([one.rows, one.attempts]).toEqual([body.rows, []]);
  expect((await ask('request=req_4&namespace=team-a')).body.rows).toEqual([]);
  expect(requestsOf((await ask('code=invalid_api_key')).body)).toEqual(['req_4']);
  expect(requestsOf((await ask('code=unusable')).body)).toEqual(['req_2']);
});

test('refusals without rows are counted over the whole minutes of a question', async () => {
  const { body } = await ask('from=2026-11-22T11:10:07Z&to=2026-11-22T11:10:09Z&apiKey=team-a/ci');
  expect([body.rows, body.refusedWithoutRow]).toEqual([[], 30]);
  expect((await ask('from=2026-11-22T11:11:00Z&to=2026-11-22T11:39:59Z')).body.refusedWithoutRow).toBe(0);
});

test('the number of refusals without rows is left out if very many have one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const at = '2026-11-22T11:10:00.000Z';
  const sums: RefusalSums = {
    ...{ kind: 'refusal-sums', id: 'w.1', at, windowMs: 10_000 },
    counts: [{ ...limited, count: 10_002 }],
  };
  const take = async (cursor: string, first: number, last: number) => {
    const rows = Array.from(
      { length: last - first + 1 },
      (_, index): Refusal => ({ kind: 'refusal', id: `req_${first + index}`, at, ...limited }),
    );
    const lines = [sums, ...rows].map((line) => JSON.stringify(line)).join('\n');
    const { skipped: _, ...page } = readPage(Buffer.from(lines));
    await store.take({ source: 'p', cursor, ...page }, nowMs);
  };
  const mine = started.adopt(await serveToAnybody(store, nowMs), (one) => one.close());
  const without = async () =>
    (await mine.ask('/v1/request-log?namespace=team-a&limit=1', 'anybody')).body.refusedWithoutRow;
  await take('c.1', 1, 10_000);
  expect(await without()).toBe(2);
  await take('c.2', 10_001, 10_001);
  expect(await without()).toBeUndefined();
});

test('errors are failed or unavailable requests, without refused ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const at = '2026-11-22T11:10:00.000Z';
  const overloaded = { ...limited, status: 503, code: 'overloaded' };
  const lines = [
    makeLine(lost),
    JSON.stringify({ kind: 'refusal', id: 'req_5', at, ...limited } satisfies Refusal),
    JSON.stringify({ kind: 'refusal', id: 'req_6', at, ...overloaded } satisfies Refusal),
    JSON.stringify({
      ...{ kind: 'refusal-sums', id: 'w.1', at, windowMs: 10_000 },
      counts: [
        { ...limited, count: 7 },
        { ...overloaded, count: 4 },
      ],
    } satisfies RefusalSums),
  ];
  const { skipped: _, ...page } = readPage(Buffer.from(lines.join('\n')));
  await store.take({ source: 'p', cursor: 'c', ...page }, nowMs);
  const mine = started.adopt(await serveToAnybody(store, nowMs), (one) => one.close());
  const asked = async (query: string) => {
    const { body } = await mine.ask(`/v1/request-log?${query}`, 'anybody');
    return [requestsOf(body), body.refusedWithoutRow];
  };
  expect(await asked('outcome=error')).toEqual([['req_2', 'req_6'], 3]);
  expect(await asked('outcome=error&status=429')).toEqual([[], 0]);
  expect(await asked('outcome=error&status=503')).toEqual([['req_6'], 3]);
  expect(await asked('outcome=refused')).toEqual([['req_6', 'req_5'], 9]);
});

test('failures come first on request, and pages continue with the others', async () => {
  expect(requestsOf((await ask('')).body)).toEqual(['req_4', 'req_2', 'req_3', 'req_1']);
  for (const order of ['newest', 'failures'])
    for (const limit of [1, 2, 3, 4, 5]) {
      const seen: string[] = [];
      for (let before: unknown = ''; before !== undefined; ) {
        const { body } = await ask(
          `order=${order}&limit=${limit}${before === '' ? '' : `&before=${before}`}`,
        );
        expect(requestsOf(body).length).toBeLessThanOrEqual(limit);
        seen.push(...requestsOf(body));
        before = body.next;
      }
      expect([order, limit, seen]).toEqual([order, limit, ['req_4', 'req_2', 'req_3', 'req_1']]);
    }
  const { body: failures } = await ask('order=failures&limit=3');
  expect(requestsOf(failures)).not.toContain('req_1');
});

test('a status is that of the caller, whatever the upstream answered', async () => {
  const { body } = await ask('status=502');
  expect(body.rows).toEqual([
    expect.objectContaining({
      request: 'req_2',
      status: 502,
      cause: 'sent an answer that is not usable: it has no choices',
    }),
  ]);
  expect(requestsOf((await ask('status=200')).body)).toEqual(['req_1']);
  expect(requestsOf((await ask('status=500')).body)).toEqual([]);
});

test.each([
  ['status=600', 'status: must be an HTTP status from 100 to 599'],
  ['outcome=lost', 'outcome: must be answered, failed, broken-off, cancelled, interrupted, refused or error'],
  ['order=oldest', 'order: must be newest or failures'],
  ['before=x', 'before: must be `next` of the previous page'],
  ['by=model', 'by: is no parameter of /v1/request-log'],
  ['request=a&request=b', 'request: is given more than once'],
  ['weather=1', 'weather: is no parameter of this question'],
])('the question %s is refused with the reason', async (query, message) => {
  const { status, body } = await ask(query);
  expect([status, body.error]).toEqual([400, expect.objectContaining({ message })]);
});
