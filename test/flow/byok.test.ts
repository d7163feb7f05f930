// Bring your own key: a tenant's Provider is its own, with its own credential, at its own cost, and reaches no address
// that has not been opened for its namespace.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startRig, tableOf } from '../gateway/rig.ts';
import { condition } from '../operator/compile/support.ts';
import * as make from '../operator/make.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { ask, errorOf } from './ask.ts';
import {
  apiKeyOf,
  callDoors,
  credentialOf,
  idsOf,
  keyOf,
  knock,
  platformWith,
  providerOf,
  routeOf,
  type Stage,
  secretOf,
  startStage,
} from './deploy.ts';

const namespaces = ['platform', 'team-a', 'team-b'];
const price = { pricing: { inputPerMillion: '3', outputPerMillion: '15', perRequest: '0.01' } };

let wall: Wall;
const stages: Stage[] = [];

beforeEach(async () => {
  wall = await startWall();
});

afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
  await wall.close();
});

async function staged(parts: Parameters<typeof startStage>[0]): Promise<Stage> {
  const stage = await startStage(parts);
  stages.push(stage);
  return stage;
}

/** team-a has a Provider, a Secret and a priced route `own`; the range of the wall is open to the namespaces given. */
function world(...open: string[]) {
  return {
    platform: platformWith(...open),
    namespaces: namespaces.map((name) => make.namespace(name)),
    secrets: [secretOf('team-a', wall.baseUrl)],
    providers: [providerOf('team-a', wall.baseUrl)],
    modelRoutes: [routeOf('team-a', 'own', 'own', price)],
    apiKeys: namespaces.map((name) => apiKeyOf(name)),
  };
}

const key = keyOf('team-a');

describe('a Provider of a tenant, on a range opened for its namespace', () => {
  test('is listed for that tenant only, at no price', async () => {
    const { rig } = await staged(world('team-a'));
    const lists = await Promise.all(
      [undefined, ...namespaces.map(keyOf)].map((one) => knock(rig, 'list', '', one)),
    );
    expect(lists.map(idsOf)).toEqual([[], [], ['own'], []]);
    const free = {
      prompt: '0',
      completion: '0',
      input_cache_read: '0',
      input_cache_write: '0',
      request: '0',
    };
    const mine = expect.objectContaining({ id: 'own', owned_by: 'team-a', pricing: free });
    expect(lists[2]?.json).toMatchObject({ data: [mine] });
    expect((await knock(rig, 'retrieve', 'own', key)).json).toEqual(mine);
  });

  test.each(callDoors)(
    'is called with the tenant’s credential and recorded as own-key with cost 0: %s',
    async (door) => {
      const { rig } = await staged(world('team-a'));
      const answer = await knock(rig, door, 'own', key);
      expect(answer.status).toBe(200);
      expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual([
        `Bearer ${credentialOf('team-a')}`,
      ]);
      const { inputTokens, outputTokens } = wall.totals();
      expect(rig.records).toEqual([
        expect.objectContaining({
          namespace: 'team-a',
          apiKey: 'team-a/bot',
          provider: 'team-a/openai',
          providerKey: 'main',
          outcome: 'answered',
          payer: 'own-key',
          costPicodollars: 0,
          usage: expect.objectContaining({ input: inputTokens, output: outputTokens }),
          isEstimated: false,
        }),
      ]);
      expect(outputTokens).toBeGreaterThan(0);
      expect(JSON.stringify([rig.records, answer.rawHeaders, answer.text])).not.toContain(
        credentialOf('team-a'),
      );
    },
  );

  test.each(['platform', 'team-b'])('is not there for the key of %s', async (other) => {
    const { rig } = await staged(world(...namespaces));
    for (const door of callDoors) {
      const answer = await knock(rig, door, 'own', keyOf(other));
      expect([answer.status, errorOf(answer)?.code]).toEqual([404, 'model_not_found']);
    }
    expect([wall.calls.length, rig.records.length]).toEqual([0, 0]);
  });

  test.each([
    [
      401,
      403,
      'upstream_auth_failed',
      /'own' rejected your own key. Put a valid key into the Secret of the Provider/,
    ],
    [402, 429, 'rate_limit_exceeded', /'own'/],
    [
      403,
      403,
      'upstream_auth_failed',
      /'own' rejected your own key. Put a valid key into the Secret of the Provider/,
    ],
  ] as const)(
    'that rejects the credential (%i) costs nothing; the tenant is reported %i %s',
    async (status, reported, code, words) => {
      wall.script({ type: 'status', status, error: { message: `bad key ${credentialOf('team-a')}` } });
      const { rig } = await staged(world('team-a'));
      const answer = await knock(rig, 'chat', 'own', key);
      expect([answer.status, errorOf(answer)?.code, errorOf(answer)?.message]).toEqual([
        reported,
        code,
        expect.stringMatching(words),
      ]);
      expect(answer.text).not.toContain(credentialOf('team-a'));
      expect(
        rig.records.map(({ payer, costPicodollars, outcome }) => [payer, costPicodollars, outcome]),
      ).toEqual([['own-key', 0, 'failed']]);
    },
  );

  test('that fails, is tried again and answers: every attempt is on the tenant’s own bill', async () => {
    wall.script([{ type: 'status', status: 500 }, { type: 'answer' }]);
    const { rig } = await staged(world('team-a'));
    expect((await knock(rig, 'chat', 'own', key)).status).toBe(200);
    expect(
      rig.records.map(({ payer, costPicodollars, outcome }) => [payer, costPicodollars, outcome]),
    ).toEqual([
      ['own-key', 0, 'failed'],
      ['own-key', 0, 'answered'],
    ]);
  });

  test('with a fallback of the platform without a price: listed without one, and each attempt on the bill of its own provider', async () => {
    wall.script((call) =>
      call.headers.authorization === `Bearer ${credentialOf('team-a')}`
        ? { type: 'status', status: 503 }
        : { type: 'answer' },
    );
    const base = world('team-a', 'platform');
    const ref = { name: 'openai', namespace: 'platform' };
    const targets = [
      make.target({ name: 'mine', priority: 0 }),
      make.target({ name: 'shared', priority: 1, providerRef: ref }),
    ];
    const { rig } = await staged({
      ...base,
      secrets: [...base.secrets, secretOf('platform', wall.baseUrl)],
      providers: [
        ...base.providers,
        providerOf('platform', wall.baseUrl, { allowedNamespaces: { from: 'All' } }),
      ],
      modelRoutes: [routeOf('team-a', 'own', 'own', { ...price, targets })],
    });
    expect((await knock(rig, 'retrieve', 'own', key)).json).toMatchObject({ pricing: null });
    expect((await knock(rig, 'chat', 'own', key)).status).toBe(200);
    expect(rig.records.map(({ payer, costPicodollars }) => [payer, costPicodollars])).toEqual([
      ['own-key', 0],
      ['tenant', null],
    ]);
  });
});

describe('the range of the provider', () => {
  test('closed again: the Provider gets a condition, and no connection is made', async () => {
    const stage = await staged(world('team-a'));
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(200);
    const { opened } = wall.connections();
    const result = stage.deploy(world('platform'));
    expect(condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs')).toMatchObject({
      status: 'False',
      reason: 'EndpointNotAllowed',
      message: expect.stringMatching(/127\.0\.0\.1 is a loopback address.*egress\.allow/),
    });
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(503);
    expect(wall.connections().opened).toBe(opened);
  });

  test('is checked again by the gateway: an older table entry reaches nothing under newer settings', async () => {
    const stage = await staged(world('team-a'));
    const { table } = stage.result();
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(200);
    const { opened } = wall.connections();
    stage.rig.offer({ ...table, settings: { ...table.settings, egressAllow: [] } });
    const answer = await knock(stage.rig, 'chat', 'own', key);
    expect([answer.status, errorOf(answer)?.code]).toEqual([502, 'upstream_error']);
    expect(errorOf(answer)?.message).toContain('the address of the upstream is not allowed');
    expect(answer.text).not.toContain('127.0.0.1');
    expect(wall.connections().opened).toBe(opened);
  });

  test('opened for the platform serves Providers of the platform, also for tenants, and no Provider of a tenant', async () => {
    const base = world('platform');
    const stage = await staged({
      ...base,
      secrets: [...base.secrets, secretOf('platform', wall.baseUrl)],
      providers: [...base.providers, providerOf('platform', wall.baseUrl)],
      modelRoutes: [
        ...base.modelRoutes,
        routeOf('platform', 'shared', 'penstock/shared', { allowedNamespaces: { from: 'All' } }),
      ],
    });
    for (const caller of namespaces) {
      expect((await knock(stage.rig, 'chat', 'penstock/shared', keyOf(caller))).status).toBe(200);
    }
    expect(condition(stage.result(), 'Provider', 'team-a/openai', 'ResolvedRefs').reason).toBe(
      'EndpointNotAllowed',
    );
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(503);
    expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual(
      namespaces.map(() => `Bearer ${credentialOf('platform')}`),
    );
  });

  test('a name in another range than the opened one: accepted as a name, refused when it resolves', async () => {
    const named = wall.baseUrl.replace('127.0.0.1', 'localhost');
    const parts = (cidrs: readonly string[]) => ({
      ...world(),
      platform: { ...make.PLATFORM, egressAllow: cidrs.map((cidr) => ({ cidr, namespaces: ['team-a'] })) },
      secrets: [secretOf('team-a', named)],
      providers: [providerOf('team-a', named)],
    });
    const stage = await staged(parts(['10.0.0.0/8']));
    expect(condition(stage.result(), 'Provider', 'team-a/openai', 'ResolvedRefs').status).toBe('True');
    const refused = await knock(stage.rig, 'chat', 'own', key);
    expect([refused.status, errorOf(refused)?.code]).toEqual([502, 'upstream_error']);
    expect(errorOf(refused)?.message).toContain('the address of the upstream is not allowed');
    expect(wall.connections().opened).toBe(0);
    expect(stage.rig.records.map(({ failure, payer }) => [failure, payer])).toContainEqual([
      'egress_denied',
      'own-key',
    ]);

    // Both of its addresses, so that it is reached wherever the name leads here.
    stage.deploy(parts(['127.0.0.0/8', '::1/128']));
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(200);
  });
});

/** How somebody might write an address that is none of a tenant's business. */
const loopback = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.0.0.2',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7F.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '0.0.0.0',
  '0',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'api.localhost',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
];
const elsewhere = [
  '10.0.0.1',
  '10.1',
  '172.16.0.1',
  '192.168.1.1',
  '0xc0a80101',
  '100.64.0.1',
  '[fd12:3456::1]',
  '[fe80::1]',
  '[::ffff:10.0.0.1]',
  'kubernetes.default.svc',
  'openai.team-b.svc.cluster.local',
  'metadata.google.internal',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '[::ffff:a9fe:a9fe]',
  '[fd00:ec2::254]',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
];
/** Of those, what the schema refuses: it knows four decimal numbers and no other spelling of an IPv4 address. */
const foreign = [
  ...['127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0x7F.0.0.1', '0177.0.0.1', '017700000001'],
  ...['127.0.0.1.', '0', '10.1', '0xc0a80101', '2852039166', '0xa9fea9fe'],
];
/** What no URL of ours may hold, whatever a parser would make of it. */
const unwritable = [
  '%31%32%37.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '[fe80::1%25eth0]',
  'user@127.0.0.1',
  'api.upstream.test@127.0.0.1',
  '127.0.0.1#.upstream.test',
  '127.0.0.1\\.upstream.test',
];

describe('an internal address as the base URL of a tenant’s Provider', () => {
  const addressed = (host: string) => `http://${host}:${wall.port}/v1`;

  /** Shared for whatever it may be read as: the binding to a host must not be what stops it. */
  function worldAt(baseUrl: string) {
    const hosts = URL.canParse(baseUrl) ? `${new URL(baseUrl).host}` : 'localhost';
    return {
      ...world('platform'),
      secrets: [secretOf('team-a', wall.baseUrl, { annotations: { 'penstock.dev/allowed-hosts': hosts } })],
      providers: [providerOf('team-a', baseUrl)],
    };
  }

  const known = [...loopback, ...elsewhere].filter((host) => !foreign.includes(host));
  test.each(known)('%s is refused by the operator with a message', async (host) => {
    const baseUrl = addressed(host);
    const stage = await staged(worldAt(baseUrl));
    const { status, reason, message } = condition(
      stage.result(),
      'Provider',
      'team-a/openai',
      'ResolvedRefs',
    );
    expect([status, reason]).toEqual(['False', 'EndpointNotAllowed']);
    expect(message).toContain('spec.baseURL http://');
    expect(message).toMatch(/can never be opened; |ask the platform team|egress\.allow/);
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(503);
    expect(wall.connections().opened).toBe(0);
  });

  test.each([...foreign, ...unwritable])('%s is not a base URL', async (host) => {
    const stage = await staged(worldAt(addressed(host)));
    const reported = condition(stage.result(), 'Provider', 'team-a/openai', 'Accepted');
    expect([reported.status, reported.reason]).toEqual(['False', 'Invalid']);
    expect(reported.message).toContain('spec.baseURL');
    expect((await knock(stage.rig, 'chat', 'own', key)).status).toBe(503);
    expect(wall.connections().opened).toBe(0);
  });

  test('is refused by the gateway too, if a table contains it: no spelling reaches the listener', async () => {
    // All addresses of this machine in IPv4, so that a spelling that slips through is seen.
    const open = await startWall({ type: 'answer' }, { host: '0.0.0.0' });
    let spellings = 0;
    const spelled = (host: string, isOpen: boolean) => {
      // A Provider of its own for each, so that no breaker answers in the guard's place.
      const provider = `team/own-${spellings++}`;
      const table = tableOf([{ baseUrl: `http://${host}:${open.port}/v1`, provider }]);
      const egressAllow = isOpen ? [{ cidr: '127.0.0.0/8', namespaces: ['team'] }] : [];
      return { ...table, settings: { ...table.settings, egressAllow } };
    };
    const rig = await startRig(spelled('127.0.0.1', true));
    try {
      expect((await ask(rig)).status, 'it is there').toBe(200);
      const { opened } = open.connections();
      const hosts = [...loopback, ...elsewhere, ...unwritable];
      for (const host of hosts.filter((one) => URL.canParse(`http://${one}/`))) {
        rig.offer(spelled(host, false));
        const answer = await ask(rig);
        expect([host, answer.status, errorOf(answer)?.message]).toEqual([
          host,
          502,
          expect.stringContaining('the address of the upstream is not allowed'),
        ]);
      }
      expect(open.connections().opened).toBe(opened);
      expect(new Set(rig.records.slice(1).map(({ failure }) => failure))).toEqual(new Set(['egress_denied']));
    } finally {
      await rig.close();
      await open.close();
    }
  });
});
