// Who may have a connection tested, and how often? A real API server says who asks, a real gateway dials.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openGatewayAsker } from '../../ledger/ask-gateway.ts';
import type { JournalPod } from '../../ledger/ask-journal.ts';
import { openAccess } from '../../ledger/read-api/access.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { serviceAccountToken } from '../cluster/identities.ts';
import { apply } from '../cluster/objects.ts';
import { startRig, tableOf } from '../gateway/rig.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { token } from './journal-pod.ts';
import { type ReadApi, readAccounts, serveReadApi } from './read-house.ts';

const plane = useControlPlane({ hasControllers: false });
const fake = makeFakeClock();
const started = new AsyncDisposableStack();
let tokens: Readonly<Record<'creates' | 'patches' | 'looks' | 'nothing', string>>;
let reader: ReadApi;
let wall: Wall;
let gateway: JournalPod;
let pods: readonly JournalPod[];

beforeAll(async () => {
  const accounts = await readAccounts(plane());
  const { client } = plane();
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  for (const [name, verbs] of [
    ['creates', ['create']],
    ['patches', ['get', 'patch']],
  ] as const) {
    const metadata = { namespace: 'team-a', name };
    await apply(client, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    await apply(client, {
      ...rbac,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['penstock.dev'], resources: ['providers'], verbs: [...verbs] }],
    });
    await apply(client, {
      ...rbac,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'team-a', name }],
    });
  }
  tokens = {
    creates: await serviceAccountToken(plane(), 'team-a', 'creates'),
    patches: await serviceAccountToken(plane(), 'team-a', 'patches'),
    looks: accounts.all,
    nothing: accounts.nothing,
  };
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  wall = started.adopt(await startWall(), (one) => one.close());
  const noJournal = {
    ...{ begin() {}, append() {}, flush: async () => {}, close: async () => {} },
    ...{ read: async () => undefined, onWritten: () => () => {} },
  };
  const rig = await startRig(
    tableOf([{ baseUrl: wall.baseUrl, provider: 'team-a/own', keys: { main: 'canary-stored' } }]),
    { exchange: { port: 0, journal: noJournal, token: () => token } },
  );
  started.adopt(rig, (one) => one.close());
  const { hostname, port } = new URL(rig.gateway.internalUrl ?? '');
  gateway = { uid: 'u', name: 'gateway-0', ip: hostname, port: Number(port) };
  const clock = { ...fake, wallMs: Date.now };
  const gateways = openGatewayAsker({ clock, random: () => 0, readyPods: () => pods, token: () => token });
  started.adopt(gateways, (one) => one.close());
  reader = await serveReadApi({
    store,
    clock,
    gateways,
    access: openAccess(client, clock),
    budgets: () => undefined,
    token: () => token,
    onFailure: (error) => expect.unreachable(String(error)),
  });
  started.adopt(reader, (one) => one.close());
}, 120_000);
afterAll(() => started.disposeAsync());
beforeEach(() => {
  pods = [gateway];
  fake.advance(120_000);
});

const path = '/v1/connection-check';
const question = { namespace: 'team-a', provider: 'own' };
const ask = (body: object | string, as?: string) => reader.ask(path, as, 'POST', body);

test.each(['creates', 'patches'] as const)(
  'a person that %s Providers gets the models of the server',
  async (who) => {
    const { status, body } = await ask(question, tokens[who]);
    expect([status, body]).toMatchObject([200, { outcome: 'works', models: expect.any(Array) }]);
    expect(JSON.stringify(body)).not.toContain('canary-stored');
  },
);

test('all others are refused, and no connection is made', async () => {
  const dialled = wall.connections().opened;
  for (const [as, status, more] of [
    [undefined, 401, {}],
    ['eyJhbGciOiJSUzI1NiJ9.e30.x', 401, {}],
    [token, 401, {}],
    [tokens.nothing, 403, {}],
    // Sees the spend of every key.
    [tokens.looks, 403, {}],
    [tokens.creates, 403, { namespace: 'team-b' }],
    [tokens.patches, 403, { namespace: 'team-b' }],
  ] as const) {
    const answer = await ask({ ...question, ...more }, as);
    expect([as?.slice(0, 9), answer.status]).toEqual([as?.slice(0, 9), status]);
  }
  expect(wall.connections().opened).toBe(dialled);
});

test('a namespace gets twenty a minute', async () => {
  const statuses: number[] = [];
  for (let at = 0; at < 21; at++) statuses.push((await ask(question, tokens.creates)).status);
  expect([...new Set(statuses.slice(0, 20)), statuses[20]]).toEqual([200, 429]);
  fake.advance(60_001);
  expect((await ask(question, tokens.creates)).status).toBe(200);
});

test('a wrong question is refused without its key in the error', async () => {
  for (const body of [
    '{',
    { namespace: 'team-a' },
    { ...question, colour: 'red' },
    { namespace: 'team-a', type: 'OpenAI', key: 'canary key' },
    { namespace: 'team-a', type: 'OpenAI', baseURL: 'https://me:canary@a.example' },
  ]) {
    const answer = await ask(body, tokens.creates);
    expect([answer.status, answer.body.error]).toMatchObject([400, { code: 'invalid_parameter' }]);
    expect(JSON.stringify(answer.body)).not.toContain('canary');
  }
});

test('without a gateway, or with one that does not answer, the answer is 503', async () => {
  for (const left of [[], [{ ...gateway, port: 1 }]]) {
    pods = left;
    const { status, body } = await ask(question, tokens.creates);
    expect([status, body.error]).toMatchObject([503, { code: 'no_gateway' }]);
  }
});
