// What becomes of a key over its life? Rotated while it is used: nobody is refused within the overlap, neither who holds the
// old key nor who reads the Secret in the very moment, whenever the operator dies. Deleted: replaced. Kept: taken up again.

import { zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { mergePatch, readObject } from '../../../core/kube/patch.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type ApiProxy, type Passing, startApiProxy } from '../../cluster/api-proxy.ts';
import { serviceAccountToken } from '../../cluster/identities.ts';
import { runs, some } from '../../support/runs.ts';
import { askGateway, askUntil } from './ask.ts';
import { namespace, type OperatorProcess, tableNamespace, useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { readManifest } from './read-manifest.ts';
import { eventsOf } from './reported.ts';

const installation = useInstallation({
  operators: 0,
  gateways: runs(2),
  namespaces: ['team-a'],
  // What belonged to an ApiKey that is deleted is collected.
  plane: { hasControllers: true },
});
let simulator: Simulator;
let proxy: ApiProxy;
let operator: OperatorProcess;
/** What happens around each write to a Secret of a tenant. */
let around: (when: 'before' | 'after', passing: Passing) => Promise<void> = async () => {};

const isKeyWrite = ({ method, path }: Passing): boolean =>
  method !== 'GET' && path.startsWith('/api/v1/namespaces/team-a/secrets');

beforeAll(async () => {
  const { apply, gatewaysAreReady, plane } = installation();
  simulator = await startSimulator();
  proxy = await startApiProxy(plane, {
    before: async (passing) => (isKeyWrite(passing) ? around('before', passing) : undefined),
    after: async (passing) => (isKeyWrite(passing) ? around('after', passing) : undefined),
  });
  await startOperator();
  await gatewaysAreReady();
  await apply(
    credentialSecret('team-a', 'sim', simulator.url, 'sk-one'),
    provider('team-a', 'sim', simulator.url, 'sim'),
    modelRoute('team-a', 'm', ['sim']),
  );
}, 60_000);
afterAll(async () => {
  await operator?.process.stop();
  await proxy?.close();
  await simulator?.close();
});

/** The container of one and the same pod, started again each time: its identity, and so its lease, is the same. */
async function startOperator(): Promise<void> {
  const { plane, startOperator: start } = installation();
  const token = await serviceAccountToken(plane, namespace, 'penstock-operator');
  operator = await start({
    PENSTOCK_POD_NAME: 'penstock-operator-phoenix',
    KUBECONFIG: await proxy.kubeconfig('phoenix', token),
  });
}

const secretSchema = z.object({
  metadata: z.object({
    uid: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
    ownerReferences: z.array(z.object({ kind: z.string(), uid: z.string() })).default([]),
  }),
  data: z
    .record(z.string(), z.string())
    .default({})
    .transform((data) =>
      Object.fromEntries(
        Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
      ),
    ),
});

async function readKeySecret(name: string) {
  const path = objectPath(secrets, { namespace: 'team-a', name: `${name}-key` });
  return secretSchema.parse(await readObject(installation().plane.client, path));
}

async function readKey(name: string): Promise<string> {
  return (await readKeySecret(name)).data.apiKey ?? '';
}

function patchKey(name: string, spec: object) {
  const path = `/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/${name}`;
  return mergePatch(installation().plane.client, path, { spec });
}

/** Applied and in use; gives the key. */
async function issue(name: string, spec: object = {}): Promise<string> {
  const { apply, awaitCondition } = installation();
  await apply(issuedApiKey('team-a', name, spec));
  await awaitCondition(`apikey/${name}`, 'Ready', 'team-a', 40);
  return readKey(name);
}

function awaitOn(ref: string, jsonPath: string, timeout = '40s') {
  return installation().plane.mustKubectl([
    'wait',
    ref,
    '-n',
    'team-a',
    `--for=jsonpath=${jsonPath}`,
    `--timeout=${timeout}`,
  ]);
}

const awaitVersion = (name: string, id: number) =>
  awaitOn(`apikey/${name}`, `{.status.versions[0].id}=${id}`);

interface Ended {
  readonly asked: number;
  readonly bad: readonly { readonly what: string; readonly atMs: number }[];
}

interface Client {
  stop(): Promise<Ended>;
}

/** Between two requests: a steady caller, not a load. */
const pauseMs = 100;

/** Asks every gateway in turn, again and again, each time with the key that it is given then. */
function startClient(keyOf: () => string | Promise<string>): Client {
  let isOver = false;
  let asked = 0;
  const bad: Ended['bad'][number][] = [];
  const asking = (async () => {
    while (!isOver) {
      for (const gateway of installation().gateways) {
        const { status, text } = await askGateway(gateway, await keyOf(), 'm');
        asked += 1;
        if (status !== 200) {
          bad.push({ what: `${gateway.name}: ${status} ${text.slice(0, 200)}`, atMs: Date.now() });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  })();
  return {
    async stop() {
      isOver = true;
      await asking;
      return { asked, bad };
    },
  };
}

/** One that holds the key it once read, and one that reads the Secret for every request. */
function startClients(name: string, held: string): Client {
  const clients = [startClient(() => held), startClient(() => readKey(name))];
  return {
    async stop() {
      const ends = await Promise.all(clients.map((client) => client.stop()));
      return {
        asked: ends.reduce((sum, end) => sum + end.asked, 0),
        bad: ends.flatMap((end) => end.bad),
      };
    },
  };
}

/** The statuses that occur. */
const works = async (key: string): Promise<number[]> => {
  const said = await Promise.all(installation().gateways.map((gateway) => askGateway(gateway, key, 'm')));
  return [...new Set(said.map(({ status }) => status))];
};

const refusedEverywhere = (key: string) =>
  Promise.all(
    installation().gateways.map((gateway) => askUntil(gateway, key, 'm', ({ status }) => status === 401)),
  );

test('a rotation by trigger and one by interval, under traffic: both keys work in the overlap, then the old one is rejected', async () => {
  const { plane } = installation();
  const [first, timed] = await Promise.all([
    issue('triggered', { rotation: { overlap: '6s' } }),
    issue('timed', { rotation: { interval: '1h', overlap: '59m' } }),
  ]);
  const holder = startClient(() => first);
  const clients = [startClient(() => readKey('triggered')), startClients('timed', timed)];
  const startedMs = performance.now();
  await patchKey('triggered', { rotation: { trigger: 'now' } });
  await awaitOn('secret/triggered-key', '{.data.previousApiKey}');
  const promotedMs = performance.now() - startedMs;
  const { data, metadata } = await readKeySecret('triggered');
  const notAfterMs = Date.parse(metadata.annotations['penstock.dev/previous-not-after'] ?? '');
  expect(data).toEqual({ apiKey: expect.any(String), previousApiKey: first, baseURL: expect.any(String) });
  expect(data.apiKey).not.toBe(first);

  // An hour has passed, says the one place that knows.
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const annotated = `penstock.dev/issued-at=${hourAgo}`;
  await plane.mustKubectl(['annotate', 'secret', 'timed-key', '-n', 'team-a', '--overwrite', annotated]);
  await awaitOn('secret/timed-key', '{.data.previousApiKey}');

  await refusedEverywhere(first);
  const lateMs = Date.now() - notAfterMs;
  expect(lateMs).toBeGreaterThanOrEqual(0);
  const held = await holder.stop();
  const ends = await Promise.all(clients.map((client) => client.stop()));
  expect(await works(data.apiKey ?? '')).toEqual([200]);
  expect(await works(timed)).toEqual([200]);

  const asked = [held, ...ends].reduce((sum, end) => sum + end.asked, 0);
  const bad = [...held.bad.filter(({ atMs }) => atMs < notAfterMs), ...ends.flatMap((end) => end.bad)];
  console.log(
    `two rotations: ${bad.length} of ${asked} requests refused; trigger to new key in ${Math.round(promotedMs)} ms; ` +
      `the old key's 401 ${lateMs} ms after its end`,
  );
  expect(bad).toEqual([]);
  expect(asked).toBeGreaterThan(20);

  await awaitVersion('triggered', 2);
  const bot = { kind: 'ApiKey', namespace: 'team-a', name: 'triggered' };
  expect(await eventsOf(plane, bot, 'KeyRotated')).toContainEqual(
    expect.objectContaining({ type: 'Normal', note: expect.stringContaining('Secret triggered-key') }),
  );
  // An overlap of nothing ends what is left of it, and with it the last trace.
  await patchKey('timed', { rotation: { overlap: '0s' } });
  await refusedEverywhere(timed);
  await eventsOf(plane, { ...bot, name: 'timed' }, 'KeyRetired');
  expect(Object.keys((await readKeySecret('timed')).data).sort()).toEqual(['apiKey', 'baseURL']);
}, 120_000);

/** Before and after each of two writes; `npm test` kills after each alone: that is before the next one. */
const killedAt = some([1, 2, 3, 4], 2, 1);

test('the operator is killed before and after each write of a rotation: no request is rejected, and one key remains', async () => {
  const moments: string[] = [];
  let asked = 0;
  for (const killAt of killedAt) {
    const name = `killed-${killAt}`;
    const first = await issue(name, { rotation: { overlap: '1h', trigger: 'first' } });
    const clients = startClients(name, first);
    let step = 0;
    const dead = Promise.withResolvers<void>();
    around = async (when, { method, path }) => {
      if (!path.endsWith(`/${name}-key`) || ++step !== killAt) return;
      moments.push(`${when} ${method} ${step > 2 ? 'promote' : 'stage'}`);
      operator.process.signal('SIGKILL');
      await operator.process.exit;
      dead.resolve();
    };
    await patchKey(name, { rotation: { trigger: 'second' } });
    await dead.promise;
    await startOperator();
    await awaitVersion(name, 2);
    const end = await clients.stop();
    asked += end.asked;
    expect(end.bad).toEqual([]);
    const { data } = await readKeySecret(name);
    expect(data).toEqual({ apiKey: expect.any(String), previousApiKey: first, baseURL: expect.any(String) });
    expect(await works(first)).toEqual([200]);
    expect(await works(data.apiKey ?? '')).toEqual([200]);
  }
  around = async () => {};
  console.log(`killed ${moments.length} times (${moments.join(', ')}): 0 of ${asked} requests refused`);
  expect(moments).toHaveLength(killedAt.length);
}, 180_000);

test('a deleted Secret is replaced at once: the old key stops, with an event', async () => {
  const { plane } = installation();
  const old = await issue('lost', { secret: { labels: { app: 'ci' } } });
  const { metadata } = await readKeySecret('lost');
  const startedMs = performance.now();
  await plane.mustKubectl(['delete', 'secret', 'lost-key', '-n', 'team-a']);
  await refusedEverywhere(old);
  const refusedMs = Math.round(performance.now() - startedMs);
  await awaitVersion('lost', 2);
  const next = await readKeySecret('lost');
  expect(next.metadata.uid).not.toBe(metadata.uid);
  expect(next.data.apiKey).not.toBe(old);
  expect(await works(next.data.apiKey ?? '')).toEqual([200]);
  const bot = { kind: 'ApiKey', namespace: 'team-a', name: 'lost' };
  expect(await eventsOf(plane, bot, 'KeyReplaced')).toContainEqual(
    expect.objectContaining({ type: 'Warning', reason: 'KeyReplaced' }),
  );
  console.log(`Secret deleted to 401 on every gateway: ${refusedMs} ms`);

  // And what the spec says of the Secret is brought to it, beside what others have put there.
  await plane.mustKubectl(['label', 'secret', 'lost-key', '-n', 'team-a', 'theirs=1']);
  await patchKey('lost', { secret: { labels: { app: null, team: 'a' } } });
  await awaitOn('secret/lost-key', '{.metadata.labels.team}=a');
  const { labels } = (await readKeySecret('lost')).metadata;
  expect(labels).toEqual({ 'penstock.dev/api-key': 'lost', team: 'a', theirs: '1' });
}, 60_000);

test('a value written by hand into the Secret of a key stays, and the status says the remedy', async () => {
  const { plane } = installation();
  const old = await issue('changed', { rotation: { trigger: 'one' } });
  const value = JSON.stringify({ stringData: { apiKey: 'psk_mine' } });
  await plane.mustKubectl(['patch', 'secret', 'changed-key', '-n', 'team-a', '-p', value]);
  await refusedEverywhere(old);
  await patchKey('changed', { rotation: { trigger: 'two' } });
  await awaitOn('apikey/changed', '{.status.conditions[?(@.type=="Issued")].reason}=KeyMalformed');
  const status = await plane.mustKubectl([
    'get',
    'apikey',
    'changed',
    '-n',
    'team-a',
    '-o',
    'jsonpath={.status}',
  ]);
  expect(status).toContain('delete the Secret to get a new key');
  expect((await readKeySecret('changed')).data.apiKey).toBe('psk_mine');
}, 60_000);

test('retain: the Secret outlives its ApiKey without a working key; an ApiKey of that name adopts it', async () => {
  const { plane } = installation();
  const [kept, gone] = await Promise.all([issue('kept'), issue('gone')]);
  expect((await readKeySecret('kept')).metadata.ownerReferences).toHaveLength(1);
  await patchKey('kept', { secret: { retain: true } });
  await vi.waitFor(async () => expect((await readKeySecret('kept')).metadata.ownerReferences).toEqual([]), {
    timeout: 20_000,
    interval: 100,
  });
  await plane.mustKubectl(['delete', 'apikey', 'kept', 'gone', '-n', 'team-a']);
  await refusedEverywhere(kept);
  await refusedEverywhere(gone);
  await plane.mustKubectl(['wait', '--for=delete', 'secret/gone-key', '-n', 'team-a', '--timeout=40s']);

  expect(await issue('kept')).toBe(kept);
  expect((await readKeySecret('kept')).metadata.ownerReferences).toHaveLength(1);
  expect(await works(kept)).toEqual([200]);
  expect(await issue('gone')).not.toBe(gone);
  expect(await works(gone)).toEqual([401]);
}, 90_000);

test('a deleted namespace leaves nothing: no object, no working key, no credential in the table', async () => {
  const { apply, awaitCondition, gateways, plane } = installation();
  const name = 'team-going';
  const credential = 'sk-of-a-team-that-goes';
  await apply(
    namespaceOf(name),
    credentialSecret(name, 'sim', simulator.url, credential),
    provider(name, 'sim', simulator.url, 'sim'),
    modelRoute(name, 'm', ['sim']),
    issuedApiKey(name, 'bot'),
    importedApiKey(name, 'imported'),
  );
  for (const ref of ['modelroute/m', 'apikey/bot', 'apikey/imported'])
    await awaitCondition(ref, 'Ready', name);
  const { data } = secretSchema.parse(
    await readObject(plane.client, objectPath(secrets, { namespace: name, name: 'bot-key' })),
  );
  const keys = [data.apiKey ?? '', importedKey(name, 'imported')];
  for (const key of keys) expect(await works(key)).toEqual([200]);
  expect(await tableText()).toContain(credential);

  const startedMs = performance.now();
  const deleting = plane.mustKubectl(['delete', 'namespace', name, '--timeout=40s']);
  for (const key of keys) await refusedEverywhere(key);
  const refusedMs = performance.now() - startedMs;
  // Nobody holds it up: there are no finalizers of ours.
  await deleting;
  const goneMs = performance.now() - startedMs;
  await vi.waitFor(async () => expect(await tableText()).not.toContain(name), {
    timeout: 20_000,
    interval: 100,
  });
  expect(await tableText()).not.toContain(credential);
  const left = ['get', 'all,secrets,configmaps,events.events.k8s.io,rolebindings', '-n', name, '-o', 'name'];
  expect(await plane.mustKubectl(left)).toBe('');
  // Made again, it begins with nothing of what was there.
  await apply(namespaceOf(name), modelRoute(name, 'm', ['sim']), issuedApiKey(name, 'bot'));
  await awaitCondition('apikey/bot', 'Ready', name);
  await awaitCondition('modelroute/m', 'ResolvedRefs=false', name);
  for (const key of keys) expect(await works(key)).toEqual([401]);
  console.log(
    `a namespace deleted: its keys were refused by ${gateways.length} gateways after ${Math.round(refusedMs)} ms, ` +
      `all of it was gone after ${Math.round(goneMs)} ms`,
  );
}, 120_000);

/** Everything that the table in use holds, as text: the pointer, and the shards that it names. */
async function tableText(): Promise<string> {
  const { plane } = installation();
  const get = async (name: string) =>
    secretDataSchema.parse(
      await readObject(plane.client, objectPath(secrets, { namespace: tableNamespace, name })),
    ).data;
  const manifest = await readManifest(plane);
  const texts = await Promise.all(
    manifest.shards.map(async ({ name }) =>
      zstdDecompressSync(Buffer.from((await get(name)).shard ?? '', 'base64')).toString(),
    ),
  );
  return [JSON.stringify(manifest), ...texts].join('\n');
}

const secretDataSchema = z.object({ data: z.record(z.string(), z.string()) });
