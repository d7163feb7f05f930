// Does the read API say who was refused, how often and why, to those who may see it and to nobody else?

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request as openRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { readPage } from '../../ledger/read-page.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { runs } from '../support/runs.ts';
import { makeEntry } from './make-entry.ts';
import { noGateways, type ReadApi, serveReadApi } from './read-house.ts';

const nowMs = Date.parse('2026-11-22T12:30:00Z');
const started = new AsyncDisposableStack();
let store: LedgerStore;
let reader: ReadApi;

const tenants = ['team-a', 'team-b', 'team-c'];
const codes = ['rate_limit_exceeded', 'insufficient_quota', 'model_not_found', 'overloaded'];

/** Each tenant's keys and made-up models have its name, and its counts are of one size. */
function linesOf(tenant: string, at: number): readonly object[] {
  const names = { namespace: tenant, apiKey: `${tenant}/key-${at % 3}`, model: `${tenant}-model-${at % 2}` };
  const time = new Date(nowMs - at * 1_234_567).toISOString();
  const reason = { status: at % 4 === 2 ? 404 : 429, code: codes[at % 4] };
  return [
    { kind: 'refusal', id: `req_${tenant}_${at}`, at: time, ...names, ...reason },
    {
      kind: 'refusal-sums',
      id: `${tenant}.${at}`,
      at: time,
      windowMs: 10_000,
      counts: [{ ...names, ...reason, count: 1 + at }],
    },
  ];
}

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-refused-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const lines = [
    ...tenants.flatMap((tenant) => Array.from({ length: 60 }, (_, at) => linesOf(tenant, at)).flat()),
    {
      ...{ kind: 'refusal-sums', id: 'nobody.1', at: '2026-11-22T12:00:00.000Z', windowMs: 10_000 },
      counts: [{ status: 401, code: 'invalid_api_key', count: 1_000_003 }],
    },
  ];
  const { skipped: _, ...read } = readPage(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')));
  const entries = [
    makeEntry({
      id: '1.1',
      startedAt: '2026-11-22T12:10:00.000Z',
      namespace: 'team-a',
      apiKey: 'team-a/key-0',
      model: 'team-a-model-0',
    }),
  ];
  await store.take({ source: 'p', cursor: 'c', ...read, entries }, nowMs);
  // A token is the name of the namespace that it may see.
  reader = await serveReadApi({
    store,
    access: {
      judge: async (token, namespace) => (token === 'all' || token === namespace ? 'allowed' : 'refused'),
    },
    clock: { ...systemClock, wallMs: () => nowMs },
    budgets: () => [],
    gateways: noGateways,
    token: () => undefined,
    onFailure: (error) => expect.unreachable(String(error)),
  });
  started.adopt(reader, (one) => one.close());
});
afterAll(() => started.disposeAsync());

interface Refused {
  readonly total: { readonly refused: number };
  readonly rows: readonly (Readonly<Record<string, unknown>> & { readonly refused: number })[];
  readonly [name: string]: unknown;
}

async function answerOf(path: string, token = 'all'): Promise<Refused> {
  const { status, body } = await reader.ask(path, token);
  expect([status, body.error]).toEqual([200, undefined]);
  return body as unknown as Refused;
}

const sumTo = (count: number) => (count * (count + 1)) / 2;

describe('/v1/refusals', () => {
  test('sums by any parameters, with the total, and leaves out unknown names', async () => {
    const whole = await answerOf('/v1/refusals');
    expect(whole).toMatchObject({
      total: { refused: 3 * sumTo(60) + 1_000_003 },
      rows: [{ refused: 3 * sumTo(60) + 1_000_003 }],
    });
    const { rows } = await answerOf('/v1/refusals?by=namespace,status');
    expect(rows[0]).toEqual({ status: 401, refused: 1_000_003 });
    expect(rows.slice(1, 3).map(({ namespace, status }) => [namespace, status])).toEqual([
      ['team-a', 404],
      ['team-a', 429],
    ]);
    const some = await answerOf('/v1/refusals?by=code&apiKey=team-b/key-1&status=429');
    expect(some.rows.map(({ code }) => code)).toEqual([
      'insufficient_quota',
      'overloaded',
      'rate_limit_exceeded',
    ]);
    expect(some.rows.reduce((sum, { refused }) => sum + refused, 0)).toBe(some.total.refused);
  });

  test('gives a series by interval, page by page', async () => {
    const path = '/v1/refusals?namespace=team-a&interval=hour&by=code&from=2026-11-22&to=2026-11-23';
    const whole = await answerOf(path);
    expect(Object.keys(whole.rows[0] ?? {})).toEqual(['hour', 'code', 'refused']);
    expect(whole.interval).toBe('hour');
    const first = await answerOf(`${path}&limit=2`);
    expect([first.isTruncated, first.next]).toEqual([true, 2]);
    const second = await answerOf(`${path}&limit=2&offset=2`);
    expect([...first.rows, ...second.rows]).toEqual(whole.rows.slice(0, 4));
  });

  test.each([
    ['by=provider', /^by: must be of day, hour/],
    ['by=code,code', /^by: names a dimension twice/],
    ['provider=p', /^provider: is no parameter of \/v1\/refusals/],
    ['status=many', /^status: must be an HTTP status/],
    ['status=429&status=401', /^status: is given more than once/],
    ['colour=red', /^colour: is no parameter/],
    ['from=2026-11-01&to=2026-11-22&by=minute', /by the minute/],
  ])('refuses %s', async (query, message) => {
    const { status, body } = await reader.ask(`/v1/refusals?${query}`, 'all');
    expect([status, body.error]).toMatchObject([400, { message: expect.stringMatching(message) }]);
  });
});

describe('sums and series', () => {
  test('have the number of refusals of each group, where refusals have such groups', async () => {
    const period = 'from=2026-11-20&to=2026-11-23';
    const { rows } = await answerOf(`/v1/sums?${period}&by=apiKey&namespace=team-a`);
    const { total } = await answerOf(`/v1/refusals?${period}&apiKey=team-a/key-0`);
    expect(rows.map(({ apiKey, attempts, refused }) => [apiKey, attempts, refused])).toEqual([
      ['team-a/key-0', 1, total.refused],
    ]);
    const byProvider = await answerOf(`/v1/sums?${period}&by=provider`);
    expect(byProvider.rows[0]).not.toHaveProperty('refused');
    const filtered = await answerOf(`/v1/sums?${period}&outcome=answered`);
    expect(filtered.rows[0]).not.toHaveProperty('refused');
  });

  test('have rows of hours in which nothing but refusals happened', async () => {
    const period = 'from=2026-11-22&to=2026-11-23&namespace=team-a';
    const { rows } = await answerOf(`/v1/series?${period}&interval=hour`);
    const refused = await answerOf(`/v1/refusals?${period}&interval=hour`);
    expect(rows.map(({ hour, refused }) => ({ hour, refused }))).toEqual(refused.rows);
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.filter(({ attempts }) => attempts === 1)).toHaveLength(1);
    const whole = await answerOf(`/v1/sums?${period}`);
    expect(whole.rows).toMatchObject([{ attempts: 1, refused: refused.total.refused }]);
    expect((await answerOf('/v1/sums?namespace=team-b&from=2026-11-22')).rows).toMatchObject([
      { attempts: 0 },
    ]);
  });

  test('of the largest groups and the rest add up to all', async () => {
    const period = 'from=2026-11-22&to=2026-11-23&interval=day';
    const { rows } = await answerOf(`/v1/series?${period}&by=apiKey&top=1`);
    expect(rows.map(({ refused }) => typeof refused)).toEqual(['number']);
  });
});

test('a tenant never sees a refusal of another one, or of an unknown key, with any parameters', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const ask = async (path: string, token: string): Promise<{ status: number; body: string }> => {
    const sent = openRequest({
      port: reader.port,
      host: '127.0.0.1',
      path,
      agent,
      headers: { authorization: `Bearer ${token}` },
    }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  };
  const day = fc.constantFrom(
    '2026-11-20',
    '2026-11-21T10:00:00Z',
    '2026-11-22T09:30:20Z',
    '2026-11-22T12:00:00Z',
  );
  const by = fc.uniqueArray(
    fc.constantFrom('day', 'hour', 'minute', 'namespace', 'apiKey', 'model', 'status', 'code'),
    { maxLength: 4 },
  );
  const tenant = fc.constantFrom(...tenants);
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const question = fc.record({
    path: fc.constantFrom('refusals', 'refusals', 'sums', 'series'),
    asker: tenant,
    namespace: maybe(
      fc.oneof({ weight: 4, arbitrary: tenant }, { weight: 1, arbitrary: fc.constantFrom('', '%00', '*') }),
    ),
    by,
    from: maybe(day),
    interval: maybe(fc.constantFrom('day', 'hour', 'minute')),
    apiKey: maybe(fc.tuple(tenant, fc.nat({ max: 2 })).map(([one, key]) => `${one}/key-${key}`)),
    model: maybe(tenant.map((one) => `${one}-model-0`)),
    status: maybe(fc.constantFrom('401', '404', '429')),
    code: maybe(fc.constantFrom(...codes, 'invalid_api_key')),
    limit: maybe(fc.integer({ min: 1, max: 20 })),
  });
  let seen = 0;
  const property = fc.asyncProperty(question, async ({ path, asker, by: dimensions, ...more }) => {
    const search = Object.entries({ by: dimensions.join(',') || undefined, ...more })
      .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
      .join('&');
    const { status, body } = await ask(`/v1/${path}?${search}`, asker);
    const mayAsk = more.namespace === asker;
    if (!mayAsk) expect([400, 403]).toContain(status);
    if (status !== 200) return;
    seen += 1;
    const { rows, total } = JSON.parse(body) as Refused;
    for (const other of tenants.filter((one) => one !== asker))
      expect(JSON.stringify(rows)).not.toContain(other);
    expect(body).not.toContain('invalid_api_key');
    const all = rows.reduce((sum, { refused = 0 }) => sum + refused, 0);
    expect(Math.max(all, total?.refused ?? 0)).toBeLessThanOrEqual(sumTo(60));
  });
  try {
    await fc.assert(property, { numRuns: runs(50_000, 100) });
    expect(seen).toBeGreaterThan(10);
  } finally {
    agent.destroy();
  }
}, 600_000);
