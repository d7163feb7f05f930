// Does the operator see what is in the cluster, and only that, whatever happens between it and the API server?

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { INSTANCE_LABEL, SHARD_LABEL } from '../../../core/contract/manifest.ts';
import { KubeError, type KubeRequest } from '../../../core/kube/client.ts';
import type { ClusterOptions } from '../../../operator/watch/cluster.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import type { Urgency } from '../../../operator/watch/urgency.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { createGatewayPod } from '../../cluster/gateway-pods.ts';
import { apiKey, provider, route } from '../make.ts';
import { breakable, RELEASE_NAMESPACE, TABLE_NAMESPACE, type Watched, watchCluster } from './stage.ts';

const plane = useControlPlane({ hasControllers: false });
const open: (() => Promise<void>)[] = [];
let count = 0;
/** A namespace of its own for each test. */
let team = '';

beforeAll(async () => {
  await plane().mustKubectl(['apply', '-f', 'crds']);
  await plane().mustKubectl(['wait', '--for=condition=Established', '--timeout=30s', '-f', 'crds']);
  for (const name of [RELEASE_NAMESPACE, TABLE_NAMESPACE]) await makeNamespace(name);
});

beforeEach(async () => {
  count += 1;
  team = `team-${count}`;
  await makeNamespace(team);
});

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

afterAll(async () => {
  expect(open).toEqual([]);
});

async function watch(options: Partial<ClusterOptions> = {}, client = plane().client): Promise<Watched> {
  const watched = await watchCluster(client, options);
  open.push(watched.close);
  return watched;
}

async function post(path: string, body: unknown): Promise<void> {
  await plane().client.call({ method: 'POST', path, body });
}

async function patch(path: string, body: unknown): Promise<void> {
  const contentType = 'application/merge-patch+json';
  await plane().client.call({ method: 'PATCH', path, body, contentType });
}

async function remove(path: string): Promise<void> {
  await plane().client.call({ method: 'DELETE', path });
}

async function makeNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
  await post('/api/v1/namespaces', { metadata: { name, labels } });
}

const plurals = { Provider: 'providers', ModelRoute: 'modelroutes', ApiKey: 'apikeys' } as const;
type Kind = keyof typeof plurals;

function pathOf(kind: Kind, name = '', namespace = team): string {
  const collection = `/apis/penstock.dev/v1alpha1/namespaces/${namespace}/${plurals[kind]}`;
  return name === '' ? collection : `${collection}/${name}`;
}

async function create(object: RawObject, namespace = team): Promise<void> {
  const kind = object.kind;
  if (kind !== 'Provider' && kind !== 'ModelRoute' && kind !== 'ApiKey') throw new Error(`no kind: ${kind}`);
  await post(pathOf(kind, '', namespace), { ...object, metadata: { ...object.metadata, namespace } });
}

interface SecretOptions {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly value?: string;
  readonly namespace?: string;
}
const secretPath = (name: string, namespace = team) => `/api/v1/namespaces/${namespace}/secrets/${name}`;

async function createSecret(name: string, options: SecretOptions = {}): Promise<void> {
  const { labels = {}, annotations = {}, value = 'sk-1', namespace = team } = options;
  const metadata = { name, labels, annotations };
  await post(`/api/v1/namespaces/${namespace}/secrets`, { metadata, stringData: { key: value } });
}

const shared = { 'penstock.dev/provider-credential': 'true' };
const issuedFor = (name: string) => ({ 'penstock.dev/api-key': name });

function keyOf({ cluster }: Watched, name: string, namespace = team): RawObject | undefined {
  return cluster
    .snapshot()
    .apiKeys.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

function secretOf({ cluster }: Watched, name: string, namespace = team) {
  return cluster.snapshot().secrets.find((secret) => secret.namespace === namespace && secret.name === name);
}

/** After it has been seen, all that was written to ApiKeys before has been seen too. */
async function seenUpToNow(watched: Watched): Promise<void> {
  count += 1;
  const name = `mark-${count}`;
  await create(apiKey({}, { name }));
  await watched.until(() => keyOf(watched, name) !== undefined);
}

test('the operator uses the TenantPolicies of its own values and of users, not those of another release', async () => {
  const path = '/apis/penstock.dev/v1alpha1/tenantpolicies';
  const labelsOf = (instance: string) => ({
    'app.kubernetes.io/name': 'penstock',
    'app.kubernetes.io/component': 'tenant-policies',
    'app.kubernetes.io/instance': instance,
  });
  const labels = { 'by-people': {}, 'of-ours': labelsOf('penstock'), 'of-others': labelsOf('other') };
  const spec = { namespaces: { selector: {} }, egress: { allow: ['10.20.0.0/16'] } };
  const [apiVersion, kind] = ['penstock.dev/v1alpha1', 'TenantPolicy'];
  for (const [name, own] of Object.entries(labels))
    await post(path, { apiVersion, kind, metadata: { name, labels: own }, spec });
  const { cluster } = await watch();
  const names = cluster.snapshot().policies?.map(({ object }) => object.metadata.name);
  expect(names).toEqual(['by-people', 'of-ours']);
  for (const name of Object.keys(labels)) await remove(`${path}/${name}`);
});

describe('the snapshot', () => {
  test('has our objects, Secrets and namespaces as they are when the operator starts', async () => {
    await create(provider());
    await create(route());
    await create(apiKey());
    await createSecret('openai', {
      labels: shared,
      annotations: { 'penstock.dev/allowed-hosts': 'h.example' },
    });
    const { cluster } = await watch();
    expect(cluster.hasSynced()).toBe(true);
    const snapshot = cluster.snapshot();
    const mine = (list: readonly RawObject[]) =>
      list.filter(({ metadata }) => metadata.namespace === team).map(({ kind, spec }) => [kind, spec]);
    expect(mine(snapshot.providers)).toEqual([['Provider', expect.objectContaining({ type: 'OpenAI' })]]);
    expect(mine(snapshot.modelRoutes)).toEqual([['ModelRoute', expect.objectContaining({ model: 'chat' })]]);
    expect(mine(snapshot.apiKeys)).toEqual([['ApiKey', expect.objectContaining(apiKey().spec)]]);
    expect(snapshot.secrets.filter(({ namespace }) => namespace === team)).toEqual([
      {
        namespace: team,
        name: 'openai',
        labels: shared,
        annotations: { 'penstock.dev/allowed-hosts': 'h.example' },
        type: 'Opaque',
        data: { key: 'sk-1' },
      },
    ]);
    expect(snapshot.namespaces).toContainEqual({
      name: team,
      labels: { 'kubernetes.io/metadata.name': team },
    });
    expect(cluster.snapshot()).toBe(snapshot);
  });

  test('follows what is created, changed and deleted', async () => {
    const watched = await watch();
    await create(apiKey());
    await watched.until(() => keyOf(watched, 'bot') !== undefined);
    await patch(pathOf('ApiKey', 'bot'), { spec: { owner: { name: 'Ann' } } });
    await watched.until(() => JSON.stringify(keyOf(watched, 'bot')?.spec).includes('Ann'));
    await remove(pathOf('ApiKey', 'bot'));
    await watched.until(() => keyOf(watched, 'bot') === undefined);
  });

  test('does not change with a written status, which is reported separately', async () => {
    await create(apiKey());
    const watched = await watch();
    const before = keyOf(watched, 'bot');
    watched.takeChanges();
    const status = { keyHint: 'psk_…abcd', observedGeneration: 1 };
    await patch(`${pathOf('ApiKey', 'bot')}/status`, { status });
    await seenUpToNow(watched);
    expect(keyOf(watched, 'bot')).toBe(before);
    expect(before?.status).toBeUndefined();
    // And the mark.
    expect(watched.takeChanges()).toEqual([
      { type: 'status', kind: 'ApiKey', key: `${team}/bot` },
      { type: 'resources', urgency: 'bulk' },
    ]);
    const latest = watched.cluster.object('ApiKey', team, 'bot');
    expect(latest?.status).toMatchObject(status);
    expect(latest?.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(latest?.spec).toBe(before?.spec);
  });

  test('keeps an object while others change, and replaces it after a change of spec, labels or annotations', async () => {
    await create(apiKey());
    await create(apiKey({ imports: [{ sha256: 'c'.repeat(64) }] }, { name: 'other' }));
    const watched = await watch();
    const [bot, other] = [keyOf(watched, 'bot'), keyOf(watched, 'other')];
    for (const change of [
      { metadata: { labels: { tier: 'gold' } } },
      { metadata: { annotations: { note: 'x' } } },
      { spec: { owner: { name: 'Ann' } } },
    ]) {
      const before = keyOf(watched, 'bot');
      await patch(pathOf('ApiKey', 'bot'), change);
      await watched.until(() => keyOf(watched, 'bot') !== before);
    }
    expect(keyOf(watched, 'bot')).not.toBe(bot);
    expect(keyOf(watched, 'other')).toBe(other);
  });

  test('replaces an object that was deleted and created again unseen', async () => {
    const connection = breakable(plane().client);
    await create(apiKey());
    const watched = await watch({}, connection);
    const before = keyOf(watched, 'bot');
    connection.cut();
    await remove(pathOf('ApiKey', 'bot'));
    await create(apiKey({ imports: [{ sha256: 'd'.repeat(64) }] }));
    connection.mend();
    await watched.until(() => JSON.stringify(keyOf(watched, 'bot')?.spec).includes('ddd'));
    expect(keyOf(watched, 'bot')).not.toBe(before);
    expect(watched.cluster.wasSeenDeleted('ApiKey', `${team}/bot`)).toBe(false);
  });

  test('has the labels of namespaces, and no other change of them counts', async () => {
    const watched = await watch();
    const find = () => watched.cluster.snapshot().namespaces.find(({ name }) => name === team);
    const before = find();
    await patch(`/api/v1/namespaces/${team}`, { metadata: { annotations: { note: 'x' } } });
    await patch(`/api/v1/namespaces/${RELEASE_NAMESPACE}`, { metadata: { labels: { mark: team } } });
    const release = () =>
      watched.cluster.snapshot().namespaces.find(({ name }) => name === RELEASE_NAMESPACE);
    await watched.until(() => release()?.labels.mark === team);
    expect(find()).toBe(before);
    await patch(`/api/v1/namespaces/${team}`, { metadata: { labels: { tier: 'gold' } } });
    await watched.until(() => find()?.labels.tier === 'gold');
  });
});

describe('ConfigMaps', () => {
  const mapPath = (name: string) => `/api/v1/namespaces/${team}/configmaps/${name}`;
  const createMap = (name: string, data: Record<string, string>) =>
    post(`/api/v1/namespaces/${team}/configmaps`, { metadata: { name }, data });
  const withCa = (name: string, meta = {}) => provider({ tls: { caRef: { name } } }, meta);
  const ofTeam = ({ cluster }: Watched) => {
    const { providers, configMaps } = cluster.snapshot();
    return {
      providers: providers.filter(({ metadata }) => metadata.namespace === team),
      configMaps: configMaps.filter(({ namespace }) => namespace === team),
    };
  };
  const dataIn = (watched: Watched, name: string) =>
    ofTeam(watched).configMaps.find((map) => map.name === name)?.data;

  /** A client that writes down which ConfigMaps were read, and can hold these readings up. */
  function listening() {
    const { client } = plane();
    const read: string[] = [];
    const watchedAs = new Set<string | undefined>();
    const gate = { isOpen: Promise.resolve() };
    const note = ({ path, accept }: KubeRequest): boolean => {
      if (!path.includes('configmaps')) return false;
      if (path.endsWith('/configmaps')) watchedAs.add(accept);
      else read.push(path);
      return !path.endsWith('/configmaps');
    };
    return {
      read,
      watchedAs,
      gate,
      client: {
        ...client,
        async call(request: KubeRequest) {
          if (note(request)) await gate.isOpen;
          return client.call(request);
        },
        stream(request: KubeRequest) {
          note(request);
          return client.stream(request);
        },
      },
    };
  }

  test.each(['the whole cluster', 'the namespaces'])(
    'of %s: one that a Provider names is there from the first snapshot on, followed, and let go; no other is read',
    async (scope) => {
      await createMap('internal-ca', { 'ca.crt': 'one' });
      await createMap('other', { 'ca.crt': 'never read' });
      await create(withCa('internal-ca'));
      const { client, read, watchedAs } = listening();
      const tenantNamespaces = scope === 'the namespaces' ? [team] : [];
      const watched = await watch({ tenantNamespaces }, client);
      expect(ofTeam(watched)).toMatchObject({
        providers: [{}],
        configMaps: [{ name: 'internal-ca', data: { 'ca.crt': 'one' } }],
      });

      const before = watched.cluster.snapshot();
      watched.takeChanges();
      await patch(mapPath('internal-ca'), { data: { 'ca.crt': 'two' } });
      await watched.until(() => dataIn(watched, 'internal-ca')?.['ca.crt'] === 'two');
      expect(watched.takeChanges()).toContainEqual({ type: 'resources', urgency: 'revocation' });
      // What did not change keeps its identity.
      expect(watched.cluster.snapshot().providers).toBe(before.providers);

      // Labels are none of our business, and a reading that shows no other data is no change.
      await patch(mapPath('internal-ca'), { metadata: { labels: { touched: 'yes' } } });
      await remove(mapPath('internal-ca'));
      await watched.until(() => dataIn(watched, 'internal-ca') === undefined);
      await createMap('internal-ca', { 'ca.crt': 'three' });
      await watched.until(() => dataIn(watched, 'internal-ca')?.['ca.crt'] === 'three');

      await patch(pathOf('Provider', 'openai'), { spec: { tls: null } });
      await watched.until(() => dataIn(watched, 'internal-ca') === undefined);
      expect(new Set(read)).toEqual(new Set([mapPath('internal-ca')]));
      expect(watchedAs.size).toBeGreaterThan(0);
      for (const accept of watchedAs) expect(accept).toContain('PartialObjectMetadata');
    },
  );

  test('a Provider that names another one keeps its state until that one is read', async () => {
    await createMap('first-ca', { 'ca.crt': 'one' });
    await createMap('second-ca', { 'ca.crt': 'two' });
    await create(withCa('first-ca'));
    const { client, gate } = listening();
    const watched = await watch({}, client);
    const mayRead = Promise.withResolvers<void>();
    gate.isOpen = mayRead.promise;
    await patch(pathOf('Provider', 'openai'), { spec: { tls: { caRef: { name: 'second-ca' } } } });
    await create(withCa('second-ca', { name: 'newcomer' }));
    await seenUpToNow(watched);
    await watched.until(() => watched.cluster.object('Provider', team, 'newcomer') !== undefined);
    expect(ofTeam(watched)).toMatchObject({
      providers: [{ metadata: { name: 'openai' }, spec: { tls: { caRef: { name: 'first-ca' } } } }],
      configMaps: [],
    });
    mayRead.resolve();
    await watched.until(() => dataIn(watched, 'second-ca') !== undefined);
    expect(ofTeam(watched).providers.map(({ spec }) => spec)).toEqual([
      expect.objectContaining({
        tls: expect.objectContaining({ caRef: expect.objectContaining({ name: 'second-ca' }) }),
      }),
      expect.objectContaining({
        tls: expect.objectContaining({ caRef: expect.objectContaining({ name: 'second-ca' }) }),
      }),
    ]);
  });

  test('an unreadable one is reported, keeps its last content, and is read as soon as possible', async () => {
    await createMap('internal-ca', { 'ca.crt': 'one' });
    await create(withCa('internal-ca'));
    const { client } = listening();
    let failure: KubeError | undefined;
    const failing = {
      ...client,
      call(request: KubeRequest) {
        if (failure !== undefined && request.path === mapPath('internal-ca')) return Promise.reject(failure);
        return client.call(request);
      },
    };
    const watched = await watch({}, failing);
    failure = new KubeError(500, 'InternalError', 'GET configmaps: etcd is away');
    await patch(mapPath('internal-ca'), { data: { 'ca.crt': 'two' } });
    await vi.waitFor(() =>
      expect(watched.troubles).toContainEqual(expect.objectContaining({ watch: 'ConfigMap' })),
    );
    expect(dataIn(watched, 'internal-ca')).toEqual({ 'ca.crt': 'one' });
    failure = undefined;
    await watched.until(() => dataIn(watched, 'internal-ca')?.['ca.crt'] === 'two');

    // Without the right to read it, nobody waits for it for ever.
    failure = new KubeError(403, 'Forbidden', 'configmaps is forbidden');
    const second = await watch({}, failing);
    expect(ofTeam(second)).toMatchObject({ providers: [{}], configMaps: [] });
    failure = undefined;
    await second.until(() => dataIn(second, 'internal-ca')?.['ca.crt'] === 'two');
  });
});

describe('Secrets', () => {
  test('of an unshared one no value, label or annotation is in memory', async () => {
    await createSecret('private', {
      labels: { 'penstock.dev/provider-credential': 'no', marker: 'label-value' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"cHJpdmF0ZQ=="}' },
      value: 'private-value',
    });
    const watched = await watch();
    expect(secretOf(watched, 'private')).toEqual({
      namespace: team,
      name: 'private',
      labels: {},
      annotations: {},
      type: 'Opaque',
      data: {},
    });
  });

  test('the API server is asked for the values of labelled Secrets only', async () => {
    const requests: KubeRequest[] = [];
    const { client } = plane();
    const watched = await watch(
      {},
      {
        ...client,
        call(request) {
          requests.push(request);
          return client.call(request);
        },
        stream(request) {
          requests.push(request);
          return client.stream(request);
        },
      },
    );
    await seenUpToNow(watched);
    const wholeSecrets = requests.filter(
      ({ path, accept = '' }) => path === '/api/v1/secrets' && !accept.includes('as=PartialObjectMetadata'),
    );
    const selectors = new Set(wholeSecrets.map(({ query }) => query?.labelSelector));
    expect([...selectors].sort()).toEqual([
      'penstock.dev/api-key,penstock.dev/provider-credential!=true',
      'penstock.dev/provider-credential=true',
    ]);
  });

  test('a Secret whose label is added and removed repeatedly is never missing, and ends in its last state', async () => {
    await createSecret('flip', { labels: shared });
    const watched = await watch();
    let wasMissing = false;
    const look = watched.until(() => {
      wasMissing ||= secretOf(watched, 'flip') === undefined;
      return false;
    });
    void look;
    const forms: Record<string, string | null>[] = [
      { 'penstock.dev/provider-credential': null, 'penstock.dev/api-key': 'bot' },
      { 'penstock.dev/provider-credential': 'true', 'penstock.dev/api-key': 'bot' },
      { 'penstock.dev/provider-credential': null, 'penstock.dev/api-key': null },
      { 'penstock.dev/provider-credential': 'true', 'penstock.dev/api-key': null },
    ];
    for (let turn = 0; turn < 80; turn += 1) {
      const data = { key: Buffer.from(`value-${turn}`).toString('base64') };
      const labels = forms[turn % forms.length];
      await patch(secretPath('flip'), { metadata: { labels }, data });
    }
    await watched.until(() => secretOf(watched, 'flip')?.data.key === 'value-79');
    expect(secretOf(watched, 'flip')?.labels).toEqual(shared);
    expect(wasMissing).toBe(false);
  });

  test('one that is shared, changed, withdrawn and deleted is reported each time, as a revocation after it was in use', async () => {
    await createSecret('openai');
    const watched = await watch();
    watched.takeChanges();
    const step = async (change: () => Promise<void>, holds: () => boolean) => {
      await change();
      await watched.until(holds);
      return watched.takeChanges();
    };
    const value = () => secretOf(watched, 'openai')?.data.key;
    const revocation = [{ type: 'resources', urgency: 'revocation' }];
    expect(
      await step(
        () => patch(secretPath('openai'), { metadata: { labels: shared } }),
        () => value() === 'sk-1',
      ),
    ).toEqual([{ type: 'resources', urgency: 'edit' }]);
    expect(
      await step(
        () => patch(secretPath('openai'), { data: { key: Buffer.from('sk-2').toString('base64') } }),
        () => value() === 'sk-2',
      ),
    ).toEqual(revocation);
    expect(
      await step(
        () =>
          patch(secretPath('openai'), { metadata: { labels: { 'penstock.dev/provider-credential': null } } }),
        () => value() === undefined,
      ),
    ).toEqual(revocation);
    expect(secretOf(watched, 'openai')).toBeDefined();
    await remove(secretPath('openai'));
    await watched.until(() => secretOf(watched, 'openai') === undefined);
  });

  test('of an issued one the key is known', async () => {
    await createSecret('bot-key', { labels: issuedFor('bot'), value: 'psk_1' });
    const watched = await watch();
    expect(secretOf(watched, 'bot-key')?.data).toEqual({ key: 'psk_1' });
  });
});

describe('changes', () => {
  const key = apiKey({ expiresAt: '2090-01-01T00:00:00Z' });

  test.each<[string, Urgency, (path: string) => Promise<void>]>([
    ['disabled', 'revocation', (path) => patch(path, { spec: { disabled: true } })],
    ['ended earlier', 'revocation', (path) => patch(path, { spec: { expiresAt: '2080-01-01T00:00:00Z' } })],
    ['deleted', 'revocation', (path) => remove(path)],
    ['ended later', 'bulk', (path) => patch(path, { spec: { expiresAt: '2095-01-01T00:00:00Z' } })],
    ['labelled', 'bulk', (path) => patch(path, { metadata: { labels: { tier: 'gold' } } })],
  ])('an ApiKey that is %s is a change of urgency %s', async (_, urgency, change) => {
    await create(key);
    const watched = await watch();
    const before = keyOf(watched, 'bot');
    watched.takeChanges();
    await change(pathOf('ApiKey', 'bot'));
    await watched.until(() => keyOf(watched, 'bot') !== before);
    expect(watched.takeChanges()).toEqual([{ type: 'resources', urgency }]);
  });

  test('nothing is reported before everything was read, and then one change of each type', async () => {
    await create(key);
    const watched = await watch();
    const [resources, pods, pointer, ...later] = watched.takeChanges();
    expect([resources, pods, pointer]).toEqual([
      { type: 'resources', urgency: 'edit' },
      { type: 'pods' },
      { type: 'pointer' },
    ]);
    // That the watch of pods is open is reported on its own, where it opens behind all the rest.
    expect(later.every(({ type }) => type === 'pods')).toBe(true);
  });
});

describe('deletions', () => {
  const id = () => `${team}/bot`;

  test('a reported one is known, until the object exists again', async () => {
    await create(apiKey());
    const watched = await watch();
    expect(watched.cluster.wasSeenDeleted('ApiKey', id())).toBe(false);
    await remove(pathOf('ApiKey', 'bot'));
    await watched.until(() => keyOf(watched, 'bot') === undefined);
    expect(watched.cluster.wasSeenDeleted('ApiKey', id())).toBe(true);
    expect(watched.cluster.wasSeenDeleted('Provider', id())).toBe(false);
    await create(apiKey());
    await watched.until(() => keyOf(watched, 'bot') !== undefined);
    expect(watched.cluster.wasSeenDeleted('ApiKey', id())).toBe(false);
  });

  test('one that has started counts, and is reported as a revocation', async () => {
    await create(apiKey({}, { finalizers: ['example.com/hold'] }));
    const watched = await watch();
    watched.takeChanges();
    await remove(pathOf('ApiKey', 'bot'));
    await watched.until(() => keyOf(watched, 'bot')?.metadata.deletionTimestamp !== undefined);
    expect(watched.takeChanges()).toEqual([{ type: 'resources', urgency: 'revocation' }]);
    expect(watched.cluster.wasSeenDeleted('ApiKey', id())).toBe(true);
    await patch(pathOf('ApiKey', 'bot'), { metadata: { finalizers: null } });
  });

  test('changes during a lost connection arrive once it is back', async () => {
    const connection = breakable(plane().client);
    await create(apiKey());
    const watched = await watch({}, connection);
    connection.cut();
    await remove(pathOf('ApiKey', 'bot'));
    connection.mend();
    await watched.until(() => keyOf(watched, 'bot') === undefined);
    // The watch goes on where it was, so the deletion comes as an event.
    expect(watched.cluster.wasSeenDeleted('ApiKey', id())).toBe(true);
    expect(watched.troubles.length).toBeGreaterThan(0);
  });

  // The watch cannot go on where it was, and the next list lacks the object: that is all that is known.
  test('an object missing in a later list does not count as deleted', async () => {
    const connection = breakable(plane().client);
    await create(apiKey());
    await create(apiKey({ imports: [{ sha256: 'e'.repeat(64) }] }, { name: 'stays' }));
    const watched = await watch({}, connection);
    const stays = keyOf(watched, 'stays');
    connection.cut();
    await remove(pathOf('ApiKey', 'bot'));
    await create(apiKey({ imports: [{ sha256: 'f'.repeat(64) }] }, { name: 'later' }));
    connection.mendTooLate();
    await watched.until(() => keyOf(watched, 'bot') === undefined && keyOf(watched, 'later') !== undefined);
    expect(watched.cluster.wasSeenDeleted('ApiKey', id())).toBe(false);
    expect(keyOf(watched, 'stays')).toBe(stays);
  });
});

describe('tenant namespaces', () => {
  test('with a list of them, no other namespace is read', async () => {
    const other = `${team}-other`;
    const outside = `${team}-outside`;
    for (const name of [other, outside]) await makeNamespace(name);
    for (const namespace of [team, other, outside]) {
      await create(apiKey(), namespace);
      await createSecret('openai', { namespace, labels: shared });
      await createSecret('private', { namespace });
    }
    const watched = await watch({ tenantNamespaces: [team, other] });
    const { apiKeys, secrets, namespaces } = watched.cluster.snapshot();
    const places = (list: readonly { namespace: string }[]) => list.map(({ namespace }) => namespace).sort();
    expect(places(apiKeys.map(({ metadata }) => metadata))).toEqual([team, other]);
    expect(places(secrets)).toEqual([team, team, other, other]);
    expect(namespaces.map(({ name }) => name).sort()).toEqual([team, other]);

    await create(apiKey({}, { name: 'late' }), outside);
    await create(apiKey({}, { name: 'late' }), other);
    await watched.until(() => keyOf(watched, 'late', other) !== undefined);
    expect(keyOf(watched, 'late', outside)).toBeUndefined();
    await patch(`/api/v1/namespaces/${other}`, { metadata: { labels: { tier: 'gold' } } });
    await watched.until(() =>
      watched.cluster.snapshot().namespaces.some(({ labels }) => labels.tier === 'gold'),
    );
  });
});

describe('gateways and their table', () => {
  test('a pod counts while it is ready and not terminating', async () => {
    const namespace = `${team}-release`;
    await makeNamespace(namespace);
    const watched = await watch({ namespace });
    const pods = () => watched.cluster.readyGatewayPods();
    const options = { namespace, internalPort: 9091, labels: { app: 'gateway' } };
    const [second, first] = [
      await createGatewayPod(plane(), { ...options, name: 'gateway-b' }),
      await createGatewayPod(plane(), { ...options, name: 'gateway-a' }),
    ];
    const stranger = await createGatewayPod(plane(), { ...options, name: 'other', labels: { app: 'x' } });
    for (const pod of [stranger, second, first]) await pod.setReady(true);
    await watched.until(() => pods().length === 2);
    expect(pods()).toEqual([
      { uid: expect.any(String), name: 'gateway-a', ip: first.ip, port: 9091 },
      { uid: expect.any(String), name: 'gateway-b', ip: second.ip, port: 9091 },
    ]);
    watched.takeChanges();
    await first.setReady(false);
    await watched.until(() => pods().length === 1);
    expect(watched.takeChanges()).toEqual([{ type: 'pods' }]);
    await second.startDeletion();
    await watched.until(() => pods().length === 0);
    for (const pod of [first, second, stranger]) await pod.remove();
  });

  test('while the watch of pods is broken, the list of pods counts as unknown', async () => {
    const connection = breakable(plane().client);
    const watched = await watch({}, connection);
    connection.cut();
    await watched.until(() => !watched.cluster.areGatewayPodsKnown());
    connection.mend();
    await watched.until(watched.cluster.areGatewayPodsKnown);
  });

  test('a change of the pointer is reported, but no heartbeat', async () => {
    const watched = await watch();
    const path = secretPath('penstock-current', TABLE_NAMESPACE);
    const encode = (text: string) => Buffer.from(text).toString('base64');
    expect(watched.cluster.pointer()).toBeUndefined();
    watched.takeChanges();
    await createSecret('another', { namespace: TABLE_NAMESPACE });
    await post(`/api/v1/namespaces/${TABLE_NAMESPACE}/secrets`, {
      metadata: { name: 'penstock-current', annotations: { note: 'x' } },
      data: { manifest: encode('{}'), heartbeat: encode('1') },
    });
    await watched.until(() => watched.cluster.pointer() !== undefined);
    expect(watched.cluster.pointer()).toEqual({
      uid: expect.any(String),
      resourceVersion: expect.stringMatching(/^\d+$/),
      annotations: { note: 'x' },
      data: { manifest: '{}', heartbeat: '1' },
    });
    await patch(path, { data: { heartbeat: encode('2') } });
    await patch(path, { data: { manifest: encode('{"format":1}') } });
    await watched.until(() => watched.cluster.pointer()?.data.manifest !== '{}');
    expect(watched.cluster.pointer()?.data.heartbeat).toBe('2');
    const reported = () => watched.takeChanges().filter(({ type }) => type === 'pointer').length;
    expect(reported()).toBe(2);
    await remove(path);
    await watched.until(() => watched.cluster.pointer() === undefined);
    expect(reported()).toBe(1);
  });

  test("the operator's own writes are no change of the resources", async () => {
    const watched = await watch();
    watched.takeChanges();
    const labels = { [INSTANCE_LABEL]: 'penstock', [SHARD_LABEL]: 'keys' };
    await createSecret('penstock-k-01-a', { namespace: TABLE_NAMESPACE, labels });
    await remove(secretPath('penstock-k-01-a', TABLE_NAMESPACE));
    await createSecret('of-a-user', {});
    const seen = () => watched.cluster.snapshot().secrets.map(({ name }) => name);
    await watched.until(() => seen().includes('of-a-user'));
    expect(seen()).not.toContain('penstock-k-01-a');
    expect(watched.takeChanges().filter(({ type }) => type === 'resources').length).toBe(1);
  });

  test('deleted shards are noticed', async () => {
    const shard = (instance: string) => ({ [INSTANCE_LABEL]: instance, [SHARD_LABEL]: 'keys' });
    const place = { namespace: TABLE_NAMESPACE };
    await createSecret('penstock-k-00-a', { ...place, labels: shard('penstock') });
    await createSecret('penstock-k-00-b', { ...place, labels: shard('penstock') });
    await createSecret('blue-k-00-a', { ...place, labels: shard('blue') });
    await createSecret('no-shard', { ...place, labels: { [INSTANCE_LABEL]: 'penstock' } });
    const watched = await watch();
    // Reported first, were they reported at all: those of another installation, and what is no shard.
    for (const name of ['blue-k-00-a', 'no-shard', 'penstock-k-00-a']) {
      await remove(secretPath(name, TABLE_NAMESPACE));
    }
    expect(await firstShardsGone(watched)).toEqual(['penstock-k-00-a']);
  });

  test('a shard that was deleted and created again during a broken watch is noticed', async () => {
    const labels = { [INSTANCE_LABEL]: 'penstock', [SHARD_LABEL]: 'keys' };
    const place = { namespace: TABLE_NAMESPACE, labels };
    for (const name of ['penstock-k-02-a', 'penstock-k-02-b']) await createSecret(name, place);
    const connection = breakable(plane().client);
    const watched = await watch({}, connection);
    connection.cut();
    await remove(secretPath('penstock-k-02-b', TABLE_NAMESPACE));
    await createSecret('penstock-k-02-b', place);
    connection.mendTooLate();
    expect(await firstShardsGone(watched)).toEqual(['penstock-k-02-b']);
  });

  async function firstShardsGone(watched: Watched): Promise<string[]> {
    const gone: string[] = [];
    await watched.until(() => {
      gone.push(
        ...watched.takeChanges().flatMap((change) => (change.type === 'shard-gone' ? [change.name] : [])),
      );
      return gone.length > 0;
    });
    return gone;
  }
});

test('metrics show the silence of each watch', async () => {
  const { cluster } = await watch({ tenantNamespaces: [team, RELEASE_NAMESPACE] });
  const idle = cluster.watchIdle();
  expect(idle.map(({ watch }) => watch)).toEqual([
    ...['Provider', 'ModelRoute', 'ApiKey', 'Namespace', 'TenantPolicy'],
    ...['Secret', 'CredentialSecret', 'IssuedSecret', 'ConfigMap', 'Pod', 'Pointer', 'Shard'],
  ]);
  for (const { idleMs } of idle) expect(idleMs).toBeLessThan(60_000);
});
