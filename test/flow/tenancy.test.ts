// Can a tenant see, list, call or reference what is another tenant's? Manifests in, real HTTP out: every caller at
// every door for every model, and what left for the providers at the same time.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { condition } from '../operator/compile/support.ts';
import * as make from '../operator/make.ts';
import { asRequestJson } from '../support/wall/read-request.ts';
import { type Call, startWall, type Wall } from '../support/wall.ts';
import type { Seen } from './ask.ts';
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
const callers = ['nobody', ...namespaces] as const;
const all = { allowedNamespaces: { from: 'All' } };
const onlyA = { allowedNamespaces: { from: 'Selector', selector: { matchLabels: { tier: 'gold' } } } };

/** Every model there is, who sees it in the list, and who may call it. */
const models = [
  ['penstock/public', 'platform', { ...all, visibility: 'Public' }, callers, namespaces],
  ['penstock/listed', 'platform', { ...all, visibility: 'Listed' }, namespaces, namespaces],
  ['penstock/hidden', 'platform', { ...all, visibility: 'Hidden' }, [], namespaces],
  [
    'penstock/gold',
    'platform',
    { ...onlyA, visibility: 'Listed' },
    ['platform', 'team-a'],
    ['platform', 'team-a'],
  ],
  ['penstock/gold-hidden', 'platform', { ...onlyA, visibility: 'Hidden' }, [], ['platform', 'team-a']],
  ['penstock/own', 'platform', { visibility: 'Listed' }, ['platform'], ['platform']],
  ['penstock/own-hidden', 'platform', { visibility: 'Hidden' }, [], ['platform']],
  ['a/own', 'team-a', { visibility: 'Listed' }, ['team-a'], ['team-a']],
  ['a/hidden', 'team-a', { visibility: 'Hidden' }, [], ['team-a']],
  ['b/own', 'team-b', { visibility: 'Listed' }, ['team-b'], ['team-b']],
  ['b/hidden', 'team-b', { visibility: 'Hidden' }, [], ['team-b']],
] as const satisfies readonly (readonly [string, string, object, readonly string[], readonly string[]])[];

/** Both tenants have it, and each one means its own. */
const sameName = 'assistant';

let wall: Wall;
let stage: Stage;

beforeAll(async () => {
  wall = await startWall();
  stage = await startStage(world());
});

afterAll(async () => {
  await stage.close();
  await wall.close();
});

function world() {
  return {
    platform: platformWith(...namespaces),
    namespaces: namespaces.map((name) => make.namespace(name, name === 'team-a' ? { tier: 'gold' } : {})),
    secrets: namespaces.map((name) => secretOf(name, wall.baseUrl)),
    providers: namespaces.map((name) => providerOf(name, wall.baseUrl)),
    modelRoutes: [
      ...models.map(([model, owner, spec]) => routeOf(owner, model.replace('/', '-'), model, spec)),
      ...['team-a', 'team-b'].map((owner) => routeOf(owner, sameName, sameName)),
    ],
    apiKeys: namespaces.map((name) => apiKeyOf(name)),
  };
}

const keyFor = (caller: string): string | undefined => (caller === 'nobody' ? undefined : keyOf(caller));

const credentialIn = ({ headers }: Call): string => headers.authorization?.replace('Bearer ', '') ?? '';

/** `namespace.name` of the route that a call at the wall was made for. */
const routeBehind = ({ json }: Call): string => String(asRequestJson(json).model);

/** All that a caller could tell two refusals apart by, the name it sent itself left out. */
function tellings({ status, headers, text }: Seen, model: string) {
  const { date, 'x-request-id': _, 'request-id': __, 'content-length': ___, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(model, '<model>') };
}

test('every object of the fixture is in use', () => {
  const bad = stage.result().verdicts.filter(({ isInTable }) => !isInTable);
  expect(bad).toEqual([]);
});

describe.each(callers)('for %s', (caller) => {
  const seen = models
    .filter(([, , , seers]) => seers.some((name) => name === caller))
    .map(([model]) => model);

  test('the list has exactly the visible models', async () => {
    const list = await knock(stage.rig, 'list', '', keyFor(caller));
    const own = caller === 'team-a' || caller === 'team-b' ? [sameName] : [];
    expect([list.status, idsOf(list).sort()]).toEqual([200, [...seen, ...own].sort()]);
  });

  test.each(models)('%s of %s is found one by one exactly if it is listed', async (model) => {
    const found = await knock(stage.rig, 'retrieve', model, keyFor(caller));
    if (seen.includes(model)) {
      expect([found.status, found.json]).toEqual([200, expect.objectContaining({ id: model })]);
      return;
    }
    const unknown = await knock(stage.rig, 'retrieve', 'not/there', keyFor(caller));
    expect(unknown.status).toBe(404);
    expect(tellings(found, model)).toEqual(tellings(unknown, 'not/there'));
  });

  test.each(models)('%s of %s', async (model, owner, _spec, _seers, mayCall) => {
    for (const door of callDoors) {
      const before = wall.calls.length;
      const recordsBefore = stage.rig.records.length;
      const answer = await knock(stage.rig, door, model, keyFor(caller));
      const calls = wall.calls.slice(before);
      if (mayCall.some((name) => name === caller)) {
        expect([door, answer.status]).toEqual([door, 200]);
        expect(calls.map((call) => [routeBehind(call), credentialIn(call)])).toEqual([
          [`${owner}.${model.replace('/', '-')}`, credentialOf(owner)],
        ]);
        const [record] = stage.rig.records.slice(recordsBefore);
        expect(record).toMatchObject({
          namespace: caller,
          apiKey: `${caller}/bot`,
          provider: `${owner}/openai`,
        });
        continue;
      }
      const unknown = await knock(stage.rig, door, 'not/there', keyFor(caller));
      expect([door, unknown.status]).toEqual([door, caller === 'nobody' ? 401 : 404]);
      expect(tellings(answer, model)).toEqual(tellings(unknown, 'not/there'));
      expect([calls.length, stage.rig.records.length - recordsBefore]).toEqual([0, 0]);
    }
  });
});

test.each(['team-a', 'team-b'])(
  'a name that both tenants have means the one of %s to its key',
  async (caller) => {
    for (const door of callDoors) {
      const before = wall.calls.length;
      expect((await knock(stage.rig, door, sameName, keyOf(caller))).status).toBe(200);
      expect(wall.calls.slice(before).map((call) => [routeBehind(call), credentialIn(call)])).toEqual([
        [`${caller}.${sameName}`, credentialOf(caller)],
      ]);
    }
  },
);

test('every call on the wire has the credential of its provider’s namespace', () => {
  expect(wall.calls.length).toBeGreaterThan(0);
  const pairs = wall.calls.map(
    (call) => [routeBehind(call).split('.')[0] ?? '', credentialIn(call)] as const,
  );
  expect(pairs.filter(([owner, credential]) => credential !== credentialOf(owner))).toEqual([]);
  // Nor does any header or body carry the caller's own key on.
  const sent = JSON.stringify(wall.calls.map(({ headers, json }) => [headers, json]));
  for (const name of namespaces) expect(sent).not.toContain(keyOf(name));
});

describe('a reference of team-b to an object of team-a', () => {
  let other: Stage;

  afterEach(() => other.close());

  /** What team-b writes, and what it is reported; team-a is there in full. */
  async function written(
    part: 'modelRoutes' | 'providers' | 'secrets',
    ...objects: ReturnType<typeof make.route>[]
  ) {
    const base = world();
    const ofA = { secrets: base.secrets.filter(({ namespace }) => namespace !== 'team-b') };
    other = await startStage({
      ...base,
      ...ofA,
      providers: base.providers.filter(({ metadata }) => metadata.namespace !== 'team-b'),
      [part]: [...base[part].filter((one) => namespaceOf(one) !== 'team-b'), ...objects],
    });
    const reported = other.result().verdicts.filter(({ namespace }) => namespace === 'team-b');
    return { result: other.result(), reported: JSON.stringify(reported) };
  }

  const namespaceOf = (one: object): unknown =>
    'metadata' in one &&
    typeof one.metadata === 'object' &&
    one.metadata !== null &&
    'namespace' in one.metadata
      ? one.metadata.namespace
      : undefined;

  const fingerprintOfA = (): string => {
    const found = stage.result().table.credentials.find(({ id }) => id.startsWith('team-a/'));
    if (found === undefined) throw new Error('team-a has no credential');
    return found.fingerprint;
  };

  /** Nothing of team-a's in the words, and nothing to call behind them. */
  async function expectShut(reported: string, status: 404 | 503 = 404, model = sameName): Promise<void> {
    for (const secret of [credentialOf('team-a'), fingerprintOfA(), wall.baseUrl])
      expect(reported).not.toContain(secret);
    const before = wall.calls.length;
    for (const door of callDoors) {
      expect((await knock(other.rig, door, model, keyOf('team-b'))).status).toBe(status);
    }
    // A route of its own that nothing serves is out of service, not unknown.
    expect(idsOf(await knock(other.rig, 'list', '', keyOf('team-b'))).includes(model)).toBe(status === 503);
    expect(wall.calls.length).toBe(before);
  }

  const stealing = (name: string, namespace: string) =>
    routeOf('team-b', sameName, sameName, { targets: [make.target({ providerRef: { name, namespace } })] });

  test('its Provider as a target: the message names object, fact and action, and not whether it exists', async () => {
    const there = await written('modelRoutes', stealing('openai', 'team-a'));
    const { status, reason, message } = condition(
      there.result,
      'ModelRoute',
      `team-b/${sameName}`,
      'ResolvedRefs',
    );
    expect([status, reason]).toEqual(['False', 'RefNotPermitted']);
    expect(message).toContain('target main names Provider team-a/openai');
    expect(message).toContain('does not exist or does not allow namespace team-b');
    expect(message).toContain('correct the name, or ask its owner to add the namespace to allowedNamespaces');
    await expectShut(there.reported);
    await other.close();

    const absent = await written('modelRoutes', stealing('nothing', 'team-a'));
    const nowhere = condition(absent.result, 'ModelRoute', `team-b/${sameName}`, 'ResolvedRefs');
    expect(nowhere.message.replaceAll('nothing', 'openai')).toBe(message);
  });

  test('its Provider beside one of the platform: the route uses the permitted one', async () => {
    const base = world();
    const shared = providerOf('platform', wall.baseUrl, all);
    const targets = [
      make.target({ name: 'stolen', providerRef: { name: 'openai', namespace: 'team-a' }, priority: 0 }),
      make.target({
        name: 'shared',
        providerRef: { name: 'openai', namespace: 'platform' },
        upstreamModel: 'platform.shared',
        priority: 1,
      }),
    ];
    other = await startStage({
      ...base,
      providers: [shared, ...base.providers.filter(({ metadata }) => metadata.namespace !== 'platform')],
      modelRoutes: [routeOf('team-b', 'mixed', 'mixed', { targets })],
    });
    const before = wall.calls.length;
    for (const door of callDoors)
      expect((await knock(other.rig, door, 'mixed', keyOf('team-b'))).status).toBe(200);
    const used = wall.calls.slice(before).map(credentialIn);
    expect(used).toEqual(callDoors.map(() => credentialOf('platform')));
    expect(other.rig.records.map(({ payer, provider }) => [payer, provider])).toEqual(
      callDoors.map(() => ['tenant', 'platform/openai']),
    );
    expect(condition(other.result(), 'ModelRoute', 'team-b/mixed', 'Degraded').message).toContain(
      'target stolen',
    );
  });

  const keyFrom = (secretRef: object) => ({ auth: { keys: [{ name: 'main', secretRef }] } });
  test.each([
    [
      'by its name',
      keyFrom({ name: 'openai', key: 'key' }),
      'SecretNotFound',
      /Secret openai, which does not exist in namespace team-b; create it there/,
    ],
    [
      'with a namespace',
      keyFrom({ name: 'openai', key: 'key', namespace: 'team-a' }),
      'Invalid',
      /secretRef/,
    ],
    ['as a path', keyFrom({ name: 'team-a/openai', key: 'key' }), 'Invalid', /secretRef\.name/],
    [
      'as a dotted name',
      keyFrom({ name: 'team-a.openai', key: 'key' }),
      'SecretNotFound',
      /team-a\.openai, which does not exist in namespace team-b/,
    ],
    [
      'through a header',
      {
        auth: { type: 'None' },
        headers: [{ name: 'x-key', valueFrom: { secretKeyRef: { name: 'openai', key: 'key' } } }],
      },
      'SecretNotFound',
      /Secret openai, which does not exist in namespace team-b/,
    ],
  ] as const)('its Secret for a Provider, %s', async (_, spec, reason, words) => {
    const mine = 'http://127.0.0.1:9/v1';
    const { result, reported } = await written(
      'providers',
      providerOf('team-b', mine, { ...spec, baseURL: mine }),
    );
    const type = reason === 'Invalid' ? 'Accepted' : 'ResolvedRefs';
    expect(condition(result, 'Provider', 'team-b/openai', type)).toMatchObject({
      status: 'False',
      reason,
      message: expect.stringMatching(words),
    });
    expect(JSON.stringify(result.table.providers)).not.toContain('team-b/openai');
    await expectShut(reported, 503);
  });
});

describe('a Secret in the own namespace without consent', () => {
  let other: Stage;

  afterEach(() => other.close());

  test.each([
    [
      'without the label',
      { labels: {} },
      'SecretNotOptedIn',
      [
        'Secret openai',
        'lacks the label',
        'kubectl -n team-b label secret openai penstock.dev/provider-credential=true',
      ],
    ],
    [
      'with a label that says no',
      { labels: { 'penstock.dev/provider-credential': 'false' } },
      'SecretNotOptedIn',
      ['lacks the label'],
    ],
    [
      'has no annotation',
      { annotations: {} },
      'HostNotAllowed',
      ['Secret openai', 'has no annotation', 'penstock.dev/allowed-hosts'],
    ],
    [
      'bound to another host',
      { annotations: { 'penstock.dev/allowed-hosts': 'api.upstream.test' } },
      'HostNotAllowed',
      ['does not list', 'run: kubectl -n team-b annotate secret openai'],
    ],
    [
      'bound to the host at another port',
      { annotations: { 'penstock.dev/allowed-hosts': '127.0.0.1:1' } },
      'HostNotAllowed',
      ['does not list'],
    ],
    [
      'bound to everything',
      { annotations: { 'penstock.dev/allowed-hosts': '*' } },
      'HostNotAllowed',
      ['does not list'],
    ],
    [
      'of a service account',
      { type: 'kubernetes.io/service-account-token' },
      'SecretTypeNotAllowed',
      ['Secret openai'],
    ],
  ] as const)('%s is sent nowhere, and the Provider says why', async (_, more, reason, words) => {
    const base = world();
    other = await startStage({
      ...base,
      secrets: base.secrets.map((one) => (one.namespace === 'team-b' ? { ...one, ...more } : one)),
    });
    const reported = condition(other.result(), 'Provider', 'team-b/openai', 'ResolvedRefs');
    expect([reported.status, reported.reason]).toEqual(['False', reason]);
    for (const word of words) expect(reported.message).toContain(word);
    expect(JSON.stringify(other.result())).not.toContain(credentialOf('team-b'));
    const before = wall.calls.length;
    for (const door of callDoors)
      expect((await knock(other.rig, door, 'b/own', keyOf('team-b'))).status).toBe(503);
    expect(wall.calls.length).toBe(before);
    // Nobody else is worse off.
    expect((await knock(other.rig, 'chat', 'a/own', keyOf('team-a'))).status).toBe(200);
  });
});

test('withdrawn consent takes effect with the next table', async () => {
  const base = world();
  const other = await startStage(base);
  expect((await knock(other.rig, 'chat', 'penstock/gold', keyOf('team-a'))).status).toBe(200);
  const before = wall.calls.length;
  other.deploy({ ...base, namespaces: namespaces.map((name) => make.namespace(name)) });
  const gone = await knock(other.rig, 'chat', 'penstock/gold', keyOf('team-a'));
  const unknown = await knock(other.rig, 'chat', 'not/there', keyOf('team-a'));
  expect(tellings(gone, 'penstock/gold')).toEqual(tellings(unknown, 'not/there'));
  expect(idsOf(await knock(other.rig, 'list', '', keyOf('team-a')))).not.toContain('penstock/gold');
  expect(wall.calls.length).toBe(before);
  await other.close();
});
