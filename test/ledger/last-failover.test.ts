// Which request was last answered by another attempt than its first, and who learns what had been tried?

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeEntry } from './make-entry.ts';
import { type ReadApi, serveToAnybody } from './read-house.ts';

const started = new AsyncDisposableStack();
let reader: ReadApi;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const at = (request: string, attempt: number, more: Parameters<typeof makeEntry>[0]) =>
    makeEntry({
      ...{ id: `${request}.${attempt}`, request, attempt, namespace: 'team-a', route: 'team-a/m' },
      ...{ startedAt: `2026-11-22T10:0${request}:0${attempt}.000Z`, ...more },
    });
  const failed = { outcome: 'failed', failure: 'status_500', payer: 'platform' } as const;
  const entries = [
    at('1', 1, { ...failed, target: 'main' }),
    at('1', 2, { target: 'spare' }),
    at('2', 1, { ...failed, target: 'main' }),
    at('2', 2, { ...failed, target: 'main', failure: 'connect_timeout' }),
    at('2', 3, { target: 'spare' }),
    // It represents two calls, of which each was answered at once.
    at('3', 1, { target: 'main' }),
    at('3', 2, { target: 'main', call: 1 }),
    // Not answered at all.
    at('4', 1, { ...failed, target: 'main' }),
    at('4', 2, { ...failed, target: 'spare' }),
    // Its two calls are in flight together, and the second one fails over.
    at('5', 1, { route: 'platform/two', target: 'main' }),
    at('5', 2, { ...failed, route: 'platform/two', target: 'main', call: 1 }),
    at('5', 3, { route: 'platform/two', target: 'spare', call: 1 }),
    at('6', 1, { route: 'platform/one' }),
  ];
  await store.take({ source: 'p', cursor: 'c', entries, asides: [] }, 0);
  reader = await serveToAnybody(store, Date.parse('2026-11-22T12:00:00Z'));
  started.adopt(reader, (one) => one.close());
});
afterAll(() => started.disposeAsync());

const lastFailover = async (query: string) =>
  (await reader.ask(`/v1/health?${query}`, 'anybody')).body.lastFailover;

test('for a route, the last request that a further attempt answered is reported, with all of its attempts', async () => {
  const attempts = [
    { target: 'main', outcome: 'failed', failure: 'status_500', cause: 'answered HTTP 500' },
    {
      target: 'main',
      outcome: 'failed',
      failure: 'connect_timeout',
      cause: expect.stringMatching(/connect/),
    },
    { target: 'spare', outcome: 'answered' },
  ];
  const at = '2026-11-22T10:02:03.000Z';
  expect(await lastFailover('route=team-a/m')).toEqual({ at, attempts });
  expect(await lastFailover('route=team-a/m&namespace=team-a')).toEqual({ at, attempts });
  expect(await lastFailover('route=team-a/m&to=2026-11-22T10:02:00Z&from=2026-11-22')).toMatchObject({
    at: '2026-11-22T10:01:02.000Z',
  });
});

test('an answer to another call of the same request is not a failover, nor are attempts of another call', async () => {
  expect(await lastFailover('route=platform/two')).toEqual({
    at: '2026-11-22T10:05:03.000Z',
    attempts: [
      { target: 'main', outcome: 'failed', failure: 'status_500', cause: 'answered HTTP 500' },
      { target: 'spare', outcome: 'answered' },
    ],
  });
});

test('a tenant sees the time, and for a route of another namespace not the targets', async () => {
  expect(await lastFailover('route=platform/two&namespace=team-a')).toEqual({
    at: '2026-11-22T10:05:03.000Z',
  });
});

test('without a failover, or without a route, the answer is empty', async () => {
  expect(await lastFailover('route=platform/one')).toBeUndefined();
  expect(await lastFailover('route=team-a/m&namespace=team-b')).toBeUndefined();
  expect(await lastFailover('')).toBeUndefined();
});

test('the last failure of a route or Provider has its request and cause', async () => {
  const health = async (query: string) => (await reader.ask(`/v1/health?${query}`, 'anybody')).body.health;
  const lastFailure = { request: '4', failure: 'status_500', cause: 'answered HTTP 500' };
  const lastFailedAt = '2026-11-22T10:04:02.000Z';
  expect(await health('route=team-a/m')).toMatchObject([{ attempts: 9, lastFailedAt, lastFailure }]);
  expect(await health('route=team-a/m&namespace=team-a')).toMatchObject([{ route: 'team-a/m', lastFailure }]);
  expect(JSON.stringify(await health('route=platform/one'))).not.toContain('lastFail');
  expect(JSON.stringify(await health('from=2026-11-22'))).toContain('"lastFailure":{"request":"5"');
});
