// Does a tenant ever see a request of another one, or a provider of the platform? Random questions of random people over requests of
// several tenants; each row of each answer is looked at.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { Refusal } from '../../core/contract/refusal.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { Entry, LedgerStore, RefusalEntry } from '../../ledger/store/store.ts';
import { makeRandom, type Random } from '../simulation/random.ts';
import { runs } from '../support/runs.ts';
import { makeEntry } from './make-entry.ts';
import { noGateways, type ReadApi, serveReadApi } from './read-house.ts';

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const namespaces = ['team-a', 'team-b', 'team-c', 'team'] as const;
const requests = 400;
const people: Readonly<Record<string, readonly string[] | 'all'>> = {
  admin: 'all',
  ada: ['team-a'],
  both: ['team-a', 'team-b'],
  short: ['team'],
  nobody: [],
};

const started = new AsyncDisposableStack();
let store: LedgerStore;
let reader: ReadApi;
const owners = new Map<string, string>();

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const random = makeRandom(7);
  const taken = { entries: makeRequests(random), refusals: makeRefusals(random), asides: [] };
  await store.take({ source: 'p', cursor: 'c', ...taken }, nowMs);
  reader = started.adopt(
    await serveReadApi({
      store,
      access: {
        async judge(token, namespace) {
          const may = Object.hasOwn(people, token) ? people[token] : undefined;
          if (may === undefined) return 'unknown';
          return may === 'all' || (namespace !== undefined && may.includes(namespace))
            ? 'allowed'
            : 'refused';
        },
      },
      clock: { ...systemClock, wallMs: () => nowMs },
      budgets: () => [],
      gateways: noGateways,
      token: () => undefined,
      onFailure: (error) => expect.unreachable(String(error)),
    }),
    (one) => one.close(),
  );
});
afterAll(() => started.disposeAsync());

function makeRequests(random: Random): Entry[] {
  return Array.from({ length: requests }, (_, index) => {
    const namespace = random.pick(namespaces);
    const request = `req_${index}`;
    owners.set(request, namespace);
    const attempts = random.between(1, 3);
    return Array.from({ length: attempts }, (_, at) => {
      const isFailed = at < attempts - 1 || random.chance(0.3);
      const isOwn = random.chance(0.3);
      return makeEntry({
        id: `${request}.${at + 1}`,
        request,
        attempt: at + 1,
        startedAt: new Date(nowMs - random.between(1, 90) * 1_000).toISOString(),
        namespace,
        apiKey: `${namespace}/key-${random.between(0, 2)}`,
        model: `model-${random.between(0, 2)}`,
        route: isOwn ? `${namespace}/own` : 'platform/shared',
        target: isOwn ? 'own-target' : 'secret-target',
        provider: isOwn ? `${namespace}/own` : `platform/secret-${random.between(0, 2)}`,
        providerKey: isOwn ? 'own-key' : 'secret-key',
        upstreamModel: isOwn ? 'own-upstream' : 'secret-upstream',
        ...(isFailed
          ? { outcome: 'failed', payer: 'platform', failure: 'status_500', status: 500 }
          : { outcome: 'answered', status: 200 }),
      });
    });
  }).flat();
}

/** A third of them of keys that nobody has: the platform's alone. */
function makeRefusals(random: Random): RefusalEntry[] {
  return Array.from({ length: 200 }, (_, index) => {
    const id = `ref_${index}`;
    const namespace = random.chance(0.3) ? undefined : random.pick(namespaces);
    if (namespace !== undefined) owners.set(id, namespace);
    const refusal: Refusal = {
      kind: 'refusal',
      id,
      at: new Date(nowMs - random.between(1, 90) * 1_000).toISOString(),
      ...(namespace === undefined ? {} : { namespace, apiKey: `${namespace}/key-${random.between(0, 2)}` }),
      model: `model-${random.between(0, 2)}`,
      status: 429,
      code: 'rate_limit_exceeded',
    };
    return { refusal, line: JSON.stringify(refusal) };
  });
}

function makeQuestion(random: Random): string {
  const search = new URLSearchParams();
  const maybe = (share: number, name: string, value: () => string) => {
    if (random.chance(share)) search.set(name, value());
  };
  maybe(0.8, 'namespace', () => random.pick(namespaces));
  maybe(0.3, 'apiKey', () => `${random.pick(namespaces)}/key-${random.between(0, 2)}`);
  maybe(0.2, 'model', () => `model-${random.between(0, 2)}`);
  maybe(0.1, 'provider', () => `platform/secret-${random.between(0, 2)}`);
  maybe(0.05, 'upstreamModel', () => 'secret-upstream');
  maybe(0.1, 'route', () => 'platform/shared');
  maybe(0.2, 'outcome', () => random.pick(['error', 'answered', 'failed', 'refused']));
  maybe(0.1, 'status', () => random.pick(['200', '502', '429']));
  maybe(0.2, 'order', () => random.pick(['newest', 'failures']));
  maybe(0.3, 'request', () => `${random.pick(['req', 'ref'])}_${random.between(0, requests)}`);
  maybe(0.3, 'limit', () => String(random.between(1, 60)));
  maybe(0.2, 'before', () => `${random.pick(['n', 'f', 'o'])}${nowMs - random.between(0, 90_000)}.req_9.1`);
  return `/v1/request-log?${search}`;
}

interface Answer {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly attempts?: readonly object[];
}

test('no answer holds a request of a tenant that its reader may not see, nor a provider of the platform', async () => {
  const random = makeRandom(50_000);
  const cases = runs(50_000, 25);
  const names: readonly [string, ...string[]] = ['stranger', ...Object.keys(people)];
  const statuses = new Map<number, number>();
  let rows = 0;
  let found = 0;
  const judge = async () => {
    const person = random.pick(names);
    const path = makeQuestion(random);
    const asked = new URLSearchParams(path.split('?')[1]);
    const namespace = asked.get('namespace');
    const may = people[person];
    const { status, body } = await reader.ask(path, person);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const isAllowed = may === 'all' || (namespace !== null && may?.includes(namespace) === true);
    const hides = may !== 'all' && (asked.has('provider') || asked.has('upstreamModel'));
    const expected = may === undefined ? 401 : isAllowed && !hides ? 200 : 403;
    if (status !== expected) expect([person, path, status, body]).toBe(expected);
    if (status !== 200) return;
    const answer = body as unknown as Answer;
    rows += answer.rows.length;
    const text = JSON.stringify(answer);
    const foreign = answer.rows.filter(
      (row) =>
        (namespace !== null && row.namespace !== namespace) ||
        owners.get(String(row.request)) !== row.namespace,
    );
    if (foreign.length > 0) expect([person, path, foreign]).toEqual([]);
    if (may !== 'all' && text.includes('secret')) expect([person, path, text]).toBe('without a provider');
    const request = asked.get('request');
    if (request !== null && (namespace === null || owners.get(request) === namespace)) {
      found += answer.rows.length;
      if (owners.has(request) && answer.rows.length !== 1) expect([person, path, answer]).toBe('found');
    }
  };
  for (let left = cases; left > 0; left -= 16)
    await Promise.all(Array.from({ length: Math.min(16, left) }, judge));
  expect([...statuses.keys()].sort()).toEqual([200, 401, 403]);
  expect(rows).toBeGreaterThan(cases);
  expect(found).toBeGreaterThan(cases / 50);
}, 600_000);
