// Lists, watches and writes on a real API server that is killed, frozen, compacted and overloaded.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../core/clock.ts';
import { isConflict, isNotFound, type KubeClient, KubeError } from '../../../core/kube/client.ts';
import { listAll, listPages } from '../../../core/kube/list.ts';
import { keyOf } from '../../../core/kube/object.ts';
import {
  apply,
  createObject,
  deleteObject,
  jsonPatch,
  mergePatch,
  readObject,
  replaceObject,
} from '../../../core/kube/patch.ts';
import { collectionPath, objectPath } from '../../../core/kube/paths.ts';
import { openServiceAccountClient } from '../../../core/kube/service-account.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { serviceAccountToken, writeServiceAccountFolder } from '../../cluster/identities.ts';
import { configMaps, createConfigMap, createNamespace, openAdmin, useEnds } from './real-client.ts';
import { startWatched } from './watched.ts';

const plane = useControlPlane({
  hasOwnEtcd: true,
  hasControllers: false,
  // Two calls at once for everybody but the admin, who is exempt: anybody else meets 429 soon.
  apiserverFlags: ['--enable-priority-and-fairness=false', '--max-requests-inflight=2'],
});
const onEnd = useEnds();

async function open(): Promise<KubeClient> {
  const client = await openAdmin(plane());
  onEnd(() => client.close());
  return client;
}

async function startReal(
  client: KubeClient,
  namespace: string,
  more: { idleMs?: number; metadataOnly?: boolean } = {},
) {
  const watched = startWatched({
    client,
    path: collectionPath(configMaps, namespace),
    // Every namespace is given one by the controllers, if they run.
    query: { fieldSelector: 'metadata.name!=kube-root-ca.crt' },
    random: Math.random,
    ...more,
  });
  onEnd(() => watched.reflector.close());
  await watched.reflector.synced;
  // Acceptance gives no event; without it a test would cut what is not there yet.
  while (watched.reflector.stats().watches === 0) await new Promise((resolve) => setImmediate(resolve));
  return watched;
}

describe('calls', () => {
  test('five hundred in a row share a few connections', async () => {
    const client = await open();
    let sockets = 0;
    const count = () => {
      sockets += 1;
    };
    subscribe('net.client.socket', count);
    onEnd(() => unsubscribe('net.client.socket', count));
    for (let call = 0; call < 500; call += 1)
      await client.call({ method: 'GET', path: '/api/v1/namespaces/default' });
    expect(sockets).toBeGreaterThanOrEqual(1);
    // A connection that comes back to the pool a moment late costs one more; without a pool there would be one for each call.
    expect(sockets).toBeLessThanOrEqual(50);
  });

  test('write objects in every way, and conflict with each other', async () => {
    const client = await open();
    const namespace = await createNamespace(client, 'writes');
    const collection = collectionPath(configMaps, namespace);
    const path = objectPath(configMaps, { namespace, name: 'one' });
    const made = await createObject(client, collection, { metadata: { name: 'one' }, data: { a: '1' } });
    expect(keyOf(made)).toBe('writes/one');
    expect(await createObject(client, collection, { metadata: { name: 'one' } }).catch(isConflict)).toBe(
      true,
    );
    const merged = await mergePatch(client, path, { data: { b: '2' } });
    expect(merged.data).toEqual({ a: '1', b: '2' });
    expect(await replaceObject(client, path, made).catch(isConflict)).toBe(true);
    const replaced = await replaceObject(client, path, { ...merged, data: { c: '3' } });
    expect(replaced.data).toEqual({ c: '3' });
    const patched = await jsonPatch(client, path, [{ op: 'add', path: '/data/d', value: '4' }]);
    expect(patched.data).toEqual({ c: '3', d: '4' });
    const own = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { c: '5' } };
    const byOther = apply(client, path, own, { fieldManager: 'other' });
    expect(await byOther.catch(isConflict)).toBe(true);
    const applied = await apply(client, path, own, { fieldManager: 'other', force: true });
    expect(applied.data).toEqual({ c: '5', d: '4' });
    const stale = { uid: made.metadata.uid ?? '', resourceVersion: made.metadata.resourceVersion ?? '' };
    expect(await deleteObject(client, path, stale).catch(isConflict)).toBe(true);
    await deleteObject(client, path, { uid: stale.uid });
    expect(await readObject(client, path).catch(isNotFound)).toBe(true);
  });
});

describe('twelve hundred objects', () => {
  test('arrive in pages, with metadata alone if wanted, and are watched', async () => {
    const client = await open();
    const namespace = await createNamespace(client, 'many');
    const names = Array.from({ length: 1_200 }, (_, index) => `map-${String(index).padStart(4, '0')}`);
    await Promise.all(names.map((name) => createConfigMap(client, namespace, name)));
    const path = collectionPath(configMaps, namespace);
    const pages: number[] = [];
    const result = await listPages({ client, path, onPage: (items) => void pages.push(items.length) });
    expect(pages).toEqual([500, 500, 200]);
    expect(result.objects).toBe(1_200);
    const { items } = await listAll({ client, path, metadataOnly: true, limit: 1_000 });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(items.every((item) => item.data === undefined && item.metadata.managedFields === undefined)).toBe(
      true,
    );
    const watched = await startReal(client, namespace, { metadataOnly: true });
    expect(watched.reflector.store.size).toBe(1_200);
    await createConfigMap(client, namespace, 'new');
    await deleteObject(client, objectPath(configMaps, { namespace, name: 'map-0000' }));
    await watched.until(({ reported }) => reported.includes('deleted many/map-0000 seen'));
    expect(watched.reflector.store.size).toBe(1_200);
    expect(watched.troubles).toEqual([]);
  });

  test('are listed from the start after the continuation token has expired', async () => {
    const client = await open();
    const namespace = await createNamespace(client, 'compacted');
    for (const name of ['a', 'b', 'c']) await createConfigMap(client, namespace, name);
    const path = collectionPath(configMaps, namespace);
    const indexes: number[] = [];
    let isSpoilt = false;
    // The token of a page names the revision; one that was compacted long ago is refused with 410.
    const spoiling: KubeClient = {
      ...client,
      call(request) {
        const position = request.query?.continue;
        if (typeof position !== 'string' || isSpoilt) return client.call(request);
        isSpoilt = true;
        const decoded = z
          .record(z.string(), z.unknown())
          .parse(JSON.parse(Buffer.from(position, 'base64').toString()));
        const old = Buffer.from(JSON.stringify({ ...decoded, rv: 1 })).toString('base64url');
        return compact().then(() => client.call({ ...request, query: { ...request.query, continue: old } }));
      },
    };
    await listPages({
      client: spoiling,
      path,
      limit: 2,
      onPage: (_items, index) => void indexes.push(index),
    });
    expect(isSpoilt).toBe(true);
    expect(indexes).toEqual([0, 0, 1]);
  });
});

describe('a watch', () => {
  test('continues after its server is killed and started again, with all events in between', async () => {
    const client = await open();
    const namespace = await createNamespace(client, 'killed');
    await createConfigMap(client, namespace, 'before');
    const watched = await startReal(client, namespace);
    await plane().kill();
    await watched.until(({ troubles }) => troubles.some(({ reason }) => reason === 'Unreachable'));
    expect([...watched.reflector.store.keys()]).toEqual(['killed/before']);
    await plane().restart();
    const other = await open();
    await createConfigMap(other, namespace, 'after');
    await deleteObject(other, objectPath(configMaps, { namespace, name: 'before' }));
    await watched.until(({ reflector }) => [...reflector.store.keys()].join() === 'killed/after');
  }, 60_000);

  test('continues after its server was frozen for longer than its limit of silence', async () => {
    const client = await open();
    const namespace = await createNamespace(client, 'frozen');
    const watched = await startReal(client, namespace, { idleMs: 1_500 });
    plane().freeze();
    await watched.until(({ troubles }) => troubles.some(({ reason }) => reason === 'Idle'));
    plane().thaw();
    await createConfigMap(client, namespace, 'after');
    await watched.until(({ reflector }) => reflector.store.has('frozen/after'));
    expect(watched.reflector.stats().lists).toBe(1);
  }, 60_000);

  test('with a compacted version lists again and reports the differences', async () => {
    const client = await open();
    const namespace = await createNamespace(client, 'expired');
    for (const name of ['stays', 'goes']) await createConfigMap(client, namespace, name);
    const link = makeLink(client);
    const watched = await startReal(link.client, namespace);
    link.cut();
    await watched.until(({ troubles }) => troubles.length > 0);
    await deleteObject(client, objectPath(configMaps, { namespace, name: 'goes' }));
    await createConfigMap(client, namespace, 'comes');
    await compact();
    // What the server itself remembers of the past goes with it.
    await plane().restart();
    const known = watched.reported.length;
    link.mend();
    await watched.until(
      ({ reflector }) => reflector.stats().lists === 2 && reflector.store.has('expired/comes'),
    );
    expect(watched.troubles.map(({ reason }) => reason)).toContain('Expired');
    expect(watched.reported.slice(known).map((text) => text.replace(/ \d+$/, ''))).toEqual([
      'upserted expired/comes',
      'deleted expired/goes absent-after-relist',
      'listed',
    ]);
  }, 60_000);
});

test('an overloaded server says how long to wait, and a watch succeeds in the end', async () => {
  const admin = await open();
  const namespace = await createNamespace(admin, 'overloaded');
  await createObject(admin, `/api/v1/namespaces/${namespace}/serviceaccounts`, {
    metadata: { name: 'many' },
  });
  // Unlike `admin`, this role does not come together out of others, which takes a controller.
  await createObject(admin, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'many' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'many' }],
  });
  const token = await serviceAccountToken(plane(), namespace, 'many');
  const folder = await writeServiceAccountFolder(plane(), 'many', { token, namespace });
  const { hostname, port } = new URL(plane().url);
  const client = openServiceAccountClient({ folder, host: hostname, port: Number(port) });
  onEnd(() => client.close());
  let refusedFor: number | undefined;
  while (refusedFor === undefined) {
    const calls = Array.from({ length: 100 }, () =>
      client.call({ method: 'GET', path: '/api/v1/configmaps' }).catch((error: unknown) => error),
    );
    for (const outcome of await Promise.all(calls)) {
      if (outcome instanceof KubeError && outcome.status === 429) refusedFor = outcome.retryAfterMs;
    }
  }
  expect(refusedFor).toBe(1_000);
  const watched = await startReal(client, namespace);
  await createConfigMap(admin, namespace, 'one');
  await watched.until(({ reflector }) => reflector.store.has('overloaded/one'));
}, 60_000);

describe('a service account', () => {
  test('whose token was replaced is accepted again: at once after a refusal, else after a minute', async () => {
    const admin = await open();
    const namespace = await createNamespace(admin, 'rotated');
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const users: string[] = [];
    for (const name of ['first', 'second']) await createObject(admin, path, { metadata: { name } });
    const write = async (token: string) =>
      writeServiceAccountFolder(plane(), 'rotated', { token, namespace });
    const tokens = await Promise.all(
      ['first', 'second'].map((name) => serviceAccountToken(plane(), namespace, name)),
    );
    const folder = await write('not-a-token');
    const { hostname, port } = new URL(plane().url);
    let nowMs = 0;
    const clock = { ...systemClock, now: () => nowMs };
    const client = openServiceAccountClient({ folder, host: hostname, port: Number(port), clock });
    onEnd(() => client.close());
    const ask = async () => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
      const said = await client.call({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body,
      });
      users.push(whoSchema.parse(said).status.userInfo.username.split(':').at(-1) ?? '');
    };
    await expect(ask()).rejects.toMatchObject({ status: 401, reason: 'Unauthorized' });
    await write(tokens[0] ?? '');
    await ask();
    await write(tokens[1] ?? '');
    await ask();
    nowMs += 60_000;
    await ask();
    expect(users).toEqual(['first', 'first', 'second']);
  });
});

const whoSchema = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

/** Everything up to now is history that etcd does not know any more. */
async function compact(): Promise<void> {
  const url = plane().etcd?.url ?? '';
  const post = async (path: string, body: object): Promise<unknown> =>
    (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).json();
  const { header } = z
    .object({ header: z.object({ revision: z.string() }) })
    .parse(await post('/v3/kv/range', { key: Buffer.from('x').toString('base64') }));
  await post('/v3/kv/compaction', { revision: header.revision, physical: true });
}

/** A way to the server that a test can cut: watches end, and none begins. */
function makeLink(client: KubeClient) {
  let isCut = false;
  const streams = new Set<() => void>();
  return {
    client: {
      ...client,
      async stream(request: Parameters<KubeClient['stream']>[0]) {
        if (isCut) throw new KubeError(0, 'Unreachable', 'the link is cut');
        const stream = await client.stream(request);
        streams.add(stream.close);
        return stream;
      },
    },
    cut() {
      isCut = true;
      for (const close of streams) close();
    },
    mend() {
      isCut = false;
    },
  };
}
