// Can a tenant see, call, reference or learn of what is another tenant's, on a real cluster? And what does it see of its own
// mistakes, with the means that it has: kubectl get and kubectl describe?

import { readFile } from 'node:fs/promises';
import { zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { mergePatch } from '../../../core/kube/patch.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { findLeaks } from '../../security/leaks.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import { type Call, startWall, type Wall } from '../../support/wall.ts';
import { type Installation, startInstallation, tableNamespace } from './installation.ts';
import { credentialSecret, issuedApiKey, modelRoute, namespaceOf, provider } from './manifests.ts';
import { columnsOf, describedBy, eventsOf } from './reported.ts';
import { startTraffic } from './traffic.ts';

const all = { allowedNamespaces: { from: 'All' } };
const gold = { allowedNamespaces: { from: 'Selector', selector: { matchLabels: { tier: 'gold' } } } };
const owners = ['platform', 'team-a', 'team-b'] as const;
const callers = ['nobody', ...owners] as const;

/** Every model there is, who sees it in the list, and who may call it. */
const models = [
  ['penstock/public', 'platform', { ...all, visibility: 'Public' }, callers, owners],
  ['penstock/listed', 'platform', { ...all, visibility: 'Listed' }, owners, owners],
  ['penstock/hidden', 'platform', { ...all, visibility: 'Hidden' }, [], owners],
  [
    'penstock/gold',
    'platform',
    { ...gold, visibility: 'Listed' },
    ['platform', 'team-a'],
    ['platform', 'team-a'],
  ],
  ['penstock/own', 'platform', { visibility: 'Listed' }, ['platform'], ['platform']],
  ['a/own', 'team-a', { visibility: 'Listed' }, ['team-a'], ['team-a']],
  ['a/hidden', 'team-a', { visibility: 'Hidden' }, [], ['team-a']],
  ['b/own', 'team-b', { visibility: 'Listed' }, ['team-b'], ['team-b']],
] as const satisfies readonly (readonly [string, string, object, readonly string[], readonly string[]])[];

/** Both tenants have it, and each one means its own. */
const sameName = 'assistant';

/** Every value that was put into a Secret here, or was made there. */
const secretValues: string[] = [];
function secretValue(of: string): string {
  const value = `sk-of-${of}-${crypto.randomUUID()}`;
  secretValues.push(value);
  return value;
}

const credentials = Object.fromEntries(owners.map((owner) => [owner, secretValue(owner)]));
const keys: Record<string, string> = {};
let wall: Wall;
/** Nobody is allowed to send anything there. */
let thief: Wall;
let installation: Installation;

beforeAll(async () => {
  wall = await startWall();
  thief = await startWall();
  installation = await startInstallation({
    operators: 1,
    gateways: runs(2),
    values: {
      egress: { allow: [{ cidr: '127.0.0.0/8', namespaces: [...owners] }] },
      // They would refuse at apply what is to be reported in conditions here.
      admissionPolicies: { enabled: false },
    },
  });
  const { apply, plane } = installation;
  await apply(
    namespaceOf('platform'),
    namespaceOf('team-a', { tier: 'gold' }),
    namespaceOf('team-b'),
    namespaceOf('team-c'),
    ...owners.flatMap((owner) => [
      credentialSecret(owner, 'openai', wall.url, credentials[owner] ?? ''),
      provider(owner, 'openai', wall.url, 'openai'),
      issuedApiKey(owner, 'bot'),
    ]),
    ...models.map(([model, owner, spec]) =>
      modelRoute(owner, model.replace('/', '-'), ['openai'], { model, ...spec }),
    ),
    ...['team-a', 'team-b'].map((owner) => modelRoute(owner, sameName, ['openai'])),
  );
  for (const owner of owners) {
    const everything = ['providers,modelroutes,apikeys', '--all', '-n', owner];
    await plane.mustKubectl(['wait', ...everything, '--for=condition=Ready', '--timeout=20s']);
    keys[owner] = await readSecret(owner, 'bot-key', 'apiKey');
    secretValues.push(keys[owner]);
  }
}, clusterWaitMs);

afterAll(async () => {
  await installation?.stop();
  await wall.close();
  await thief.close();
}, 60_000);

describe.each(callers)('for %s', (caller) => {
  test('every gateway lists exactly its visible models, and finds the same one by one', async () => {
    const seen = models
      .filter(([, , , seers]) => seers.some((name) => name === caller))
      .map(([model]) => model);
    const own = caller === 'team-a' || caller === 'team-b' ? [sameName] : [];
    const wanted = [...seen, ...own].sort();
    for (const gateway of installation.gateways) {
      expect((await listedBy(gateway, caller)).sort()).toEqual(wanted);
      const unknown = await get(gateway, '/v1/models/not/there', caller);
      expect(unknown.status).toBe(404);
      for (const [model] of models) {
        const found = await get(gateway, `/v1/models/${model}`, caller);
        if (wanted.includes(model)) expect([model, found.status]).toEqual([model, 200]);
        else expect(tellings(found, model)).toEqual(tellings(unknown, 'not/there'));
      }
    }
  });

  test('a call to a model of another tenant gets the error of an unknown model; permitted calls use the credential of the owner', async () => {
    for (const path of ['/v1/chat/completions', '/v1/completions']) {
      for (const [model, owner, , , mayCall] of models) {
        const [gateway] = installation.gateways;
        const before = wall.calls.length;
        const answer = await call(gateway, path, caller, model);
        const calls = wall.calls.slice(before);
        if (mayCall.some((name) => name === caller)) {
          expect([model, answer.status]).toEqual([model, 200]);
          expect(calls.map(credentialIn)).toEqual([credentials[owner]]);
          continue;
        }
        const unknown = await call(gateway, path, caller, 'not/there');
        expect(unknown.status).toBe(caller === 'nobody' ? 401 : 404);
        expect(tellings(answer, model)).toEqual(tellings(unknown, 'not/there'));
        expect(calls).toEqual([]);
      }
    }
  });
});

test('a model name in two tenants means each tenant’s own model', async () => {
  for (const gateway of installation.gateways) {
    for (const caller of ['team-a', 'team-b']) {
      const before = wall.calls.length;
      expect((await call(gateway, '/v1/chat/completions', caller, sameName)).status).toBe(200);
      expect(wall.calls.slice(before).map(credentialIn)).toEqual([credentials[caller]]);
    }
  }
});

/** What a Provider of a tenant has wrong, the reason that `kubectl get` shows, and words of `kubectl describe`. */
const mistakes: readonly (readonly [
  string,
  { secret?: object; url?: string; in?: string },
  string,
  RegExp,
])[] = [
  [
    'unshared',
    { secret: { labels: {} } },
    'SecretNotOptedIn',
    /kubectl -n team-a label secret unshared penstock\.dev\/provider-credential=true/,
  ],
  [
    'refused',
    { secret: { labels: { 'penstock.dev/provider-credential': 'false' } } },
    'SecretNotOptedIn',
    /lacks the label penstock\.dev/,
  ],
  [
    'unbound',
    { secret: { annotations: {} } },
    'HostNotAllowed',
    /has no annotation penstock\.dev\/allowed-hosts/s,
  ],
  [
    'elsewhere',
    { secret: { annotations: { 'penstock.dev/allowed-hosts': 'api.upstream.test' } } },
    'HostNotAllowed',
    /does not list/,
  ],
  [
    'anywhere',
    { secret: { annotations: { 'penstock.dev/allowed-hosts': '*' } } },
    'HostNotAllowed',
    /does not list/,
  ],
  ['typed', { secret: { type: 'kubernetes.io/basic-auth' } }, 'SecretTypeNotAllowed', /basic-auth/],
  ['absent', {}, 'SecretNotFound', /does not exist in namespace team-a/],
  [
    'private',
    { url: 'http://10.20.3.4:8000' },
    'EndpointNotAllowed',
    /10\.20\.3\.4 is a private address.*egress\.allow.*team-a/s,
  ],
  ['shared-space', { url: 'http://100.64.0.1' }, 'EndpointNotAllowed', /100\.64\.0\.1/],
  [
    'metadata',
    { url: 'http://169.254.169.254' },
    'EndpointNotAllowed',
    /metadata address, which can never be opened/,
  ],
  [
    'loopback',
    { url: 'http://127.0.0.1:9', in: 'team-c' },
    'EndpointNotAllowed',
    /127\.0\.0\.1.*no TenantPolicy opens it to namespace team-c/s,
  ],
  ['loopback-6', { url: 'http://[::1]:9', in: 'team-a' }, 'EndpointNotAllowed', /::1/],
  [
    'inside',
    { url: 'http://openai.team-b.svc:80', in: 'team-c' },
    'EndpointNotAllowed',
    /cluster-internal name/,
  ],
];

test('refused hosts and addresses show in columns and conditions, and the advice of kubectl describe works', async () => {
  const { apply, awaitCondition, plane } = installation;
  await apply(
    ...mistakes.flatMap(([name, { secret, url = wall.url, in: namespace = 'team-a' }]) => {
      const { labels, annotations, type }: { labels?: object; annotations?: object; type?: string } =
        secret ?? {};
      const shared = credentialSecret(namespace, name, url, secretValue(name)) as SecretObject;
      const changed = {
        ...shared,
        ...(type === undefined
          ? {}
          : {
              type,
              stringData: {
                ...shared.stringData,
                username: secretValue('user'),
                password: secretValue('password'),
              },
            }),
        metadata: { ...shared.metadata, ...(labels && { labels }), ...(annotations && { annotations }) },
      };
      return [
        ...(name === 'absent' ? [] : [changed]),
        provider(namespace, name, url, name),
        modelRoute(namespace, name, [name]),
      ];
    }),
  );
  for (const [name, { in: namespace = 'team-a' }, reason, words] of mistakes) {
    await awaitCondition(`provider/${name}`, 'Ready=false', namespace);
    const columns = await columnsOf(plane, `provider/${name}`, namespace);
    expect(columns).toMatch(new RegExp(`^${name} +OpenAICompatible +\\w+ +False +Unknown +\\d .*${reason} `));
    const said = await describedBy(plane, `provider/${name}`, namespace);
    expect(said).toMatch(new RegExp(`Reason: +${reason}\\n +Status: +False\\n +Type: +ResolvedRefs`));
    expect(said).toMatch(words);
    await awaitCondition(`modelroute/${name}`, 'Ready=false', namespace);
    const [gateway] = installation.gateways;
    if (namespace === 'team-a')
      expect((await call(gateway, '/v1/chat/completions', 'team-a', name)).status).toBe(503);
  }
  const sent = JSON.stringify([...wall.calls, ...thief.calls].map(({ headers }) => headers));
  for (const [name] of mistakes) expect(sent).not.toContain(`sk-of-${name}-`);

  // The way out, word by word.
  const advice = await describedBy(plane, 'provider/unshared', 'team-a');
  const command = /kubectl (-n team-a label secret \S+ \S+=true)/.exec(advice)?.[1];
  await plane.mustKubectl(command?.split(' ') ?? []);
  await awaitCondition('provider/unshared', 'Ready', 'team-a');
  await awaitCondition('modelroute/unshared', 'Ready', 'team-a');
  const before = wall.calls.length;
  for (const gateway of installation.gateways) {
    expect((await call(gateway, '/v1/chat/completions', 'team-a', 'unshared')).status).toBe(200);
  }
  expect(wall.calls.slice(before).every((one) => credentialIn(one).startsWith('sk-of-unshared-'))).toBe(true);
}, 60_000);

test('a reference to another tenant’s object gets the same message whether the object exists or not', async () => {
  const { apply, awaitCondition, plane } = installation;
  const pointing = (name: string, at: string) =>
    modelRoute('team-b', name, [], {
      model: name,
      targets: [{ name: 'main', providerRef: { name: at, namespace: 'team-a' }, upstreamModel: 'm' }],
    });
  await apply(
    credentialSecret('team-a', 'treasure', wall.url, secretValue('treasure')),
    provider('team-a', 'hoard', wall.url, 'treasure'),
    modelRoute('team-a', 'jewel', ['hoard'], { model: 'crown' }),
    // There, and not there.
    pointing('points-there', 'hoard'),
    pointing('points-nowhere', 'fiction'),
    // A Secret of its neighbour by its name alone, and one that nobody has.
    provider('team-b', 'takes-there', wall.url, 'treasure'),
    provider('team-b', 'takes-nowhere', wall.url, 'fiction'),
    // An id that another tenant has too is free.
    modelRoute('team-b', 'crown', ['openai']),
  );
  await awaitCondition('modelroute/jewel', 'Ready', 'team-a');
  await awaitCondition('modelroute/crown', 'Ready', 'team-b');
  for (const [kind, verb, named, reason, events] of [
    ['ModelRoute', 'points', 'hoard', 'RefNotPermitted', 2],
    ['Provider', 'takes', 'treasure', 'SecretNotFound', 1],
  ] as const) {
    const reported = async (name: string) => {
      await awaitCondition(`${kind}/${name}`, 'ResolvedRefs=false', 'team-b');
      await awaitCondition(`${kind}/${name}`, 'Ready=false', 'team-b');
      const status = await plane.mustKubectl(['get', kind, name, '-n', 'team-b', '-o', 'jsonpath={.status}']);
      return {
        status: status.replaceAll(/"lastTransitionTime":"[^"]*"/g, ''),
        events: await eventsOf(plane, { kind, namespace: 'team-b', name }, reason),
      };
    };
    const there = JSON.stringify(await reported(`${verb}-there`));
    const nowhere = await reported(`${verb}-nowhere`);
    expect(JSON.parse(there.replaceAll(named, 'fiction'))).toEqual(nowhere);
    expect(nowhere.status).toContain('fiction');
    expect(nowhere.events.map(({ note }) => note)).toEqual(
      Array(events).fill(expect.stringContaining('fiction')),
    );
  }
  // All that team-b can read of itself says nothing of a model, a Secret or an address of team-a.
  const own = await plane.mustKubectl([
    'get',
    'providers,modelroutes,apikeys,events',
    '-n',
    'team-b',
    '-o',
    'json',
  ]);
  for (const word of ['jewel', 'a/own', 'a/hidden', 'team-a/bot', credentials['team-a'] ?? ''])
    expect(own).not.toContain(word);
  const [gateway] = installation.gateways;
  const before = wall.calls.length;
  expect((await call(gateway, '/v1/chat/completions', 'team-b', 'crown')).status).toBe(200);
  expect(wall.calls.slice(before).map(credentialIn)).toEqual([credentials['team-b']]);
  for (const model of ['points-there', 'points-nowhere']) {
    expect((await call(gateway, '/v1/chat/completions', 'team-b', model)).status).toBe(404);
  }
});

test('sharing by a namespace label follows the label, for routes and Providers', async () => {
  const { apply, awaitCondition, gateways, plane } = installation;
  await apply(
    credentialSecret('platform', 'shared', wall.url, secretValue('shared')),
    provider('platform', 'shared', wall.url, 'shared', {
      allowedNamespaces: { from: 'Selector', selector: { matchLabels: { ring: 'inner' } } },
    }),
    modelRoute('platform', 'inner', ['shared'], {
      model: 'penstock/inner',
      allowedNamespaces: { from: 'Selector', selector: { matchLabels: { ring: 'inner' } } },
    }),
    modelRoute('team-b', 'borrows', [], {
      targets: [{ name: 'main', providerRef: { name: 'shared', namespace: 'platform' }, upstreamModel: 'm' }],
    }),
  );
  await awaitCondition('modelroute/inner', 'Ready', 'platform');
  await awaitCondition('modelroute/borrows', 'Ready=false', 'team-b');
  expect(await describedBy(plane, 'modelroute/borrows', 'team-b')).toContain(
    'does not allow namespace team-b',
  );
  for (const gateway of gateways) expect(await listedBy(gateway, 'team-b')).not.toContain('penstock/inner');

  await plane.mustKubectl(['label', 'namespace', 'team-b', 'ring=inner']);
  await awaitCondition('modelroute/borrows', 'Ready', 'team-b');
  for (const gateway of gateways) {
    for (const model of ['penstock/inner', 'borrows']) {
      expect(await listedBy(gateway, 'team-b')).toContain(model);
      expect((await call(gateway, '/v1/chat/completions', 'team-b', model)).status).toBe(200);
    }
  }

  await plane.mustKubectl(['label', 'namespace', 'team-b', 'ring-']);
  await awaitCondition('modelroute/borrows', 'Ready=false', 'team-b');
  for (const gateway of gateways) {
    for (const model of ['penstock/inner', 'borrows']) {
      await until(async () => (await call(gateway, '/v1/chat/completions', 'team-b', model)).status === 404);
      expect(await listedBy(gateway, 'team-b')).not.toContain(model);
    }
    expect((await call(gateway, '/v1/chat/completions', 'platform', 'penstock/inner')).status).toBe(200);
  }
});

test.each([
  [
    'the prefix of the service',
    { model: 'penstock/mine' },
    'ReservedPrefix',
    /ids that begin with "penstock\/" are for platform namespaces/,
  ],
  ['the prefix in other letters', { model: 'PenStock/mine' }, 'ReservedPrefix', /for platform namespaces/],
  [
    'visibility Public',
    { visibility: 'Public', ...all },
    'NotPermitted',
    /spec\.visibility Public and spec\.allowedNamespaces\.from All may only be used in platform namespaces/,
  ],
  ['allowedNamespaces All', all, 'NotPermitted', /spec\.allowedNamespaces\.from All/],
  ['allowedNamespaces Selector', gold, 'NotPermitted', /spec\.allowedNamespaces\.from Selector/],
] as const)(
  'a tenant that asks for %s is refused, with a condition that says so',
  async (what, spec, reason, words) => {
    const { apply, awaitCondition, gateways, plane } = installation;
    const name = what.toLowerCase().replaceAll(' ', '-');
    await apply(modelRoute('team-a', name, ['openai'], spec));
    await awaitCondition(`modelroute/${name}`, 'Accepted=false', 'team-a');
    expect(await columnsOf(plane, `modelroute/${name}`, 'team-a')).toMatch(new RegExp(`False .*${reason}`));
    expect(await describedBy(plane, `modelroute/${name}`, 'team-a')).toMatch(words);
    const model = 'model' in spec ? spec.model : name;
    for (const gateway of gateways) {
      for (const caller of owners)
        expect((await call(gateway, '/v1/chat/completions', caller, model)).status).toBe(404);
    }
  },
);

test('an editor of a Provider cannot redirect its credential, not even for a moment', async () => {
  const { apply, awaitCondition, gateways, plane } = installation;
  const value = secretValue('edited');
  await apply(
    credentialSecret('team-a', 'edited', wall.url, value),
    provider('team-a', 'edited', wall.url, 'edited'),
    modelRoute('team-a', 'edited', ['edited']),
  );
  await awaitCondition('modelroute/edited', 'Ready', 'team-a');
  const traffic = startTraffic(gateways, keys['team-a'] ?? '', 'edited');
  const path = '/apis/penstock.dev/v1alpha1/namespaces/team-a/providers/edited';
  await mergePatch(plane.client, path, { spec: { baseURL: `${thief.url}/v1` } });
  await awaitCondition('provider/edited', 'ResolvedRefs=false', 'team-a');
  expect(await describedBy(plane, 'provider/edited', 'team-a')).toContain('HostNotAllowed');
  // And by way of a header.
  const headers = [{ name: 'x-key', valueFrom: { secretKeyRef: { name: 'edited', key: 'main' } } }];
  await mergePatch(plane.client, path, { spec: { headers, auth: { type: 'None', keys: null } } });
  await awaitCondition('provider/edited', 'Accepted', 'team-a');
  await awaitCondition('provider/edited', 'ResolvedRefs=false', 'team-a');
  // Back at the right host, its own Secret is taken back.
  await mergePatch(plane.client, path, { spec: { baseURL: `${wall.url}/v1` } });
  await awaitCondition('provider/edited', 'Ready', 'team-a');
  for (const gateway of gateways) {
    expect((await call(gateway, '/v1/chat/completions', 'team-a', 'edited')).status).toBe(200);
    expect(wall.calls.at(-1)?.headers['x-key']).toBe(value);
  }
  await plane.mustKubectl([
    'annotate',
    'secret',
    'edited',
    '-n',
    'team-a',
    '--overwrite',
    'penstock.dev/allowed-hosts=api.upstream.test',
  ]);
  await awaitCondition('provider/edited', 'Ready=false', 'team-a');
  for (const gateway of gateways)
    await until(async () => (await call(gateway, '/v1/chat/completions', 'team-a', 'edited')).status === 503);
  expect((await traffic.stop()).asked).toBeGreaterThan(0);
  expect([...thief.calls, ...thief.listings]).toEqual([]);
  expect(thief.connections().opened).toBe(0);
});

test('values of Secrets and issued keys are only in their Secrets and in the shards with credentials', async () => {
  const { apply, gateways, operators, plane } = installation;
  // Also where they are not in order.
  keys.mistyped = `${keys['team-a']}x`;
  await apply(
    credentialSecret('team-a', 'broken', wall.url, secretValue('broken\nin-two')),
    provider('team-a', 'broken', wall.url, 'broken'),
  );
  await installation.awaitCondition('provider/broken', 'Ready=false', 'team-a');
  for (const gateway of gateways) {
    await call(gateway, '/v1/chat/completions', 'team-a', 'a/own');
    expect((await get(gateway, '/v1/models', 'mistyped')).status).toBe(401);
  }
  const token = await readSecret(tableNamespace, 'penstock-current', 'exchangeToken');
  const shards = await readShards();
  await plane.audit();
  const texts: Record<string, string> = {
    'the audit log': await readFile(plane.auditFile, 'utf8'),
    'objects and their statuses': await plane.mustKubectl([
      'get',
      'providers,modelroutes,apikeys,pods,leases',
      '-A',
      '-o',
      'json',
      '--show-managed-fields',
    ]),
    events: await plane.mustKubectl(['get', 'events', '-A', '-o', 'json']),
    'the manifest': await readSecret(tableNamespace, 'penstock-current', 'manifest'),
  };
  for (const { name, process, metricsUrl } of [...operators, ...gateways]) {
    texts[`what ${name} wrote`] = process.stdout() + process.stderr();
    texts[`metrics of ${name}`] = await (await fetch(`${metricsUrl}/metrics`)).text();
  }
  for (const { name, text } of shards.filter(({ kind }) => kind !== 'credentials'))
    texts[`shard ${name}`] = text;
  for (const [place, text] of Object.entries(texts))
    expect([place, text.length > 100]).toEqual([place, true]);

  const hunted = new Map([...secretValues, token].map((value, index) => [`secret ${index}`, value]));
  expect(findLeaks(hunted, texts)).toEqual([]);
  // What is hunted can be found: those in use are in the shards that may hold them. Those that are not shared are not even there.
  const inShards = shards
    .filter(({ kind }) => kind === 'credentials')
    .map(({ text }) => text)
    .join('\n');
  for (const owner of owners) expect(inShards).toContain(credentials[owner]);
  for (const name of ['refused', 'unbound', 'typed', 'private', 'broken'])
    expect(inShards).not.toContain(`sk-of-${name}-`);
  for (const owner of owners) expect(inShards).not.toContain(keys[owner]);
});

interface SecretObject {
  readonly metadata: object;
  readonly stringData: object;
}

interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

type Gateway = Installation['gateways'][number];

async function get(gateway: Gateway, path: string, caller: string): Promise<Seen> {
  return seen(await fetch(`${gateway.url}${path}`, { headers: authorization(caller) }));
}

async function call(
  gateway: Gateway | undefined,
  path: string,
  caller: string,
  model: string,
): Promise<Seen> {
  if (gateway === undefined) throw new Error('there is no gateway');
  const body = path.endsWith('/chat/completions')
    ? { messages: [{ role: 'user', content: 'hello' }] }
    : { prompt: 'hello' };
  return seen(
    await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization(caller) },
      body: JSON.stringify({ model, ...body }),
    }),
  );
}

function authorization(caller: string): Record<string, string> {
  return caller === 'nobody' ? {} : { authorization: `Bearer ${keys[caller]}` };
}

async function seen(response: Response): Promise<Seen> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
  };
}

/** All that a caller could tell two refusals apart by, the name it sent itself left out. */
function tellings({ status, headers, text }: Seen, model: string): Seen {
  const { date, 'x-request-id': _, 'request-id': __, 'content-length': ___, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(model, '<model>').replaceAll(/req_\w+/g, 'req_…') };
}

const listSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

async function listedBy(gateway: Gateway, caller: string): Promise<string[]> {
  const { status, text } = await get(gateway, '/v1/models', caller);
  expect(status).toBe(200);
  return listSchema.parse(JSON.parse(text)).data.map(({ id }) => id);
}

function credentialIn({ headers }: Call): string {
  return headers.authorization?.replace('Bearer ', '') ?? '';
}

async function readSecret(namespace: string, name: string, key: string): Promise<string> {
  const said = await installation.plane.mustKubectl([
    'get',
    'secret',
    name,
    '-n',
    namespace,
    '-o',
    `jsonpath={.data.${key}}`,
  ]);
  return Buffer.from(said, 'base64').toString();
}

const shardsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), labels: z.object({ 'penstock.dev/shard': z.string() }) }),
      data: z.object({ shard: z.string() }),
    }),
  ),
});

/** Unpacked; also those that no table names any more. */
async function readShards(): Promise<{ kind: string; name: string; text: string }[]> {
  const said = await installation.plane.mustKubectl([
    'get',
    'secrets',
    '-n',
    tableNamespace,
    '-l',
    'penstock.dev/shard',
    '-o',
    'json',
  ]);
  return shardsSchema.parse(JSON.parse(said)).items.map(({ metadata: { name, labels }, data }) => ({
    kind: labels['penstock.dev/shard'],
    name,
    text: zstdDecompressSync(Buffer.from(data.shard, 'base64')).toString(),
  }));
}
