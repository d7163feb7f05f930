// Who may ask what would happen with a request, and who learns which providers are behind it? A real API server says who asks, a real gateway
// what would happen.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { plainPlanAnswerSchema, planAnswerSchema } from '../../core/contract/plan.ts';
import { type GatewayAsker, openGatewayAsker } from '../../ledger/ask-gateway.ts';
import type { JournalPod } from '../../ledger/ask-journal.ts';
import { openAccess } from '../../ledger/read-api/access.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { keyEntry, startRig, tableOf } from '../gateway/rig.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { token } from './journal-pod.ts';
import { type ReadApi, readAccounts, serveReadApi } from './read-house.ts';

const plane = useControlPlane({ hasControllers: false });
const fake = makeFakeClock();
const started = new AsyncDisposableStack();
const failures: unknown[] = [];
let tokens: Awaited<ReturnType<typeof readAccounts>>;
let reader: ReadApi;
let wall: Wall;
let pods: readonly JournalPod[];
let gateway: JournalPod;

beforeAll(async () => {
  tokens = await readAccounts(plane());
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  wall = started.adopt(await startWall(), (one) => one.close());
  const table = tableOf([{ baseUrl: wall.baseUrl, keys: { main: 'canary-key' } }], {
    sharedWith: ['team-a'],
  });
  const noJournal = {
    ...{ begin() {}, append() {}, flush: async () => {}, close: async () => {} },
    ...{ read: async () => undefined, onWritten: () => () => {} },
  };
  const rig = await startRig(
    { ...table, keys: [keyEntry('k'.repeat(53), 'team-a/bot')] },
    { exchange: { port: 0, journal: noJournal, token: () => token } },
  );
  started.adopt(rig, (one) => one.close());
  const { hostname, port } = new URL(rig.gateway.internalUrl ?? '');
  gateway = { uid: 'u', name: 'gateway-0', ip: hostname, port: Number(port) };
  const clock = { ...fake, wallMs: Date.now };
  const gateways: GatewayAsker = openGatewayAsker({
    clock,
    random: () => 0,
    readyPods: () => pods,
    token: () => token,
  });
  started.adopt(gateways, (one) => one.close());
  const { client } = plane();
  reader = await serveReadApi({
    store,
    clock,
    gateways,
    access: openAccess(client, clock),
    budgets: () => undefined,
    token: () => token,
    onFailure: (error) => failures.push(error),
  });
  started.adopt(reader, (one) => one.close());
}, 120_000);
afterAll(() => started.disposeAsync());
beforeEach(() => {
  pods = [gateway];
  fake.advance(20_000);
});

const plan = { namespace: 'team-a', apiKey: 'bot', model: 'm', dialect: 'chat' };
const ask = (path: string, body: string | object, as?: string) => reader.ask(path, as, 'POST', body);

test('a user who may get the ApiKeys of a namespace gets its plan without provider names', async () => {
  const { status, body } = await ask('/v1/plan', plan, tokens.teamA);
  expect([status, body]).toEqual([200, plainPlanAnswerSchema.parse(body)]);
  expect(body).toMatchObject({
    pod: 'gateway-0',
    generation: 1,
    route: { namespace: 'team', name: 'm' },
    targets: [{ order: 1, verdict: 'native', state: 'wouldBeTried', reasons: [expect.any(String)] }],
  });
  for (const name of ['platform', 'upstream-0', '127.0.0.1', 'main', 't0', 'canary-key'])
    expect(JSON.stringify(body)).not.toContain(name);
});

test('a user who may get all ApiKeys gets the provider names too', async () => {
  const { body } = await ask('/v1/plan', plan, tokens.all);
  expect(planAnswerSchema.parse(body).targets).toMatchObject([
    { name: 't0', provider: 'platform/p0', upstreamModel: 'upstream-0', providerKey: 'main' },
  ]);
});

test('a catalog has the models of the key', async () => {
  const { status, body } = await ask('/v1/catalog', { namespace: 'team-a' }, tokens.teamA);
  expect([status, body]).toMatchObject([200, { models: [{ id: 'm', own: false, dialects: { chat: {} } }] }]);
  const { body: none } = await ask('/v1/catalog', { namespace: 'team-b' }, tokens.all);
  expect(none.models).toEqual([]);
  const unknown = await ask('/v1/catalog', { namespace: 'team-a', apiKey: 'nobody' }, tokens.teamA);
  expect([unknown.status, unknown.body.error]).toMatchObject([404, { code: 'not_found' }]);
});

describe.each(['/v1/plan', '/v1/catalog'])('%s', (path) => {
  const question = path === '/v1/plan' ? plan : { namespace: 'team-a' };

  test('is refused to all others', async () => {
    for (const [as, status, more] of [
      [undefined, 401, {}],
      ['eyJhbGciOiJSUzI1NiJ9.e30.x', 401, {}],
      [token, 401, {}],
      [tokens.nothing, 403, {}],
      [tokens.teamA, 403, { namespace: 'team-b' }],
    ] as const)
      expect((await ask(path, { ...question, ...more }, as)).status).toBe(status);
  });

  test('needs POST, and a valid question', async () => {
    const { status, headers } = await reader.ask(path, tokens.teamA);
    expect([status, headers.allow]).toEqual([405, 'POST']);
    for (const [body, code, message] of [
      ['{', 400, /^body: is not valid JSON/],
      [{}, 400, /^namespace: /],
      [{ ...question, colour: 'red' }, 400, /^colour: is no member/],
      [{ ...question, model: 'x'.repeat(70_000) }, 413, /^body: is larger than 65536 bytes/],
    ] as const) {
      const answer = await ask(path, body, tokens.teamA);
      expect([answer.status, answer.body.error]).toEqual([
        code,
        expect.objectContaining({ message: expect.stringMatching(message) }),
      ]);
    }
  });

  test('without a gateway, or with one that does not answer, gets 503 with Retry-After', async () => {
    for (const left of [[], [{ ...gateway, port: 1 }]]) {
      pods = left;
      const { status, body, headers } = await ask(path, question, tokens.teamA);
      expect([status, body.error, headers['retry-after']]).toEqual([
        503,
        expect.objectContaining({ code: 'no_gateway', type: 'api_error' }),
        '1',
      ]);
      expect(JSON.stringify(body)).not.toContain('127.0.0.1');
    }
  });
});

test('a gateway that is silent is waited for five seconds', async () => {
  const silent = await startWall({ type: 'hang', when: 'before-headers' });
  pods = [{ ...gateway, port: silent.port }];
  const answer = ask('/v1/catalog', { namespace: 'team-a' }, tokens.teamA);
  await silent.nextCall();
  fake.advance(5_000);
  const { status, body } = await answer;
  expect([status, body.error]).toMatchObject([503, { message: expect.stringContaining('within 5 s') }]);
  await silent.close();
});

test('nothing was sent, and no error was internal', () => {
  expect([wall.calls, failures]).toEqual([[], []]);
});
