// Do statuses, events and issued keys stand up to a real API server?

import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../core/clock.ts';
import type { CredentialState, UpstreamHealth } from '../../../core/contract/exchange.ts';
import type { KubeClient, KubeRequest } from '../../../core/kube/client.ts';
import { objectPath } from '../../../core/kube/paths.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import { createKeyIssuer } from '../../../operator/keys/issue-key.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { isWellFormedKey } from '../../../operator/resources/key-material.ts';
import { providerStatusSchema } from '../../../operator/resources/provider.ts';
import { indexCredentials } from '../../../operator/status/credentials-of.ts';
import { createEventRecorder, type EventFact } from '../../../operator/status/events.ts';
import { indexHealth } from '../../../operator/status/health-of.ts';
import { refOf, resourceOf } from '../../../operator/status/object-ref.ts';
import { createStatusPublisher } from '../../../operator/status/publish-status.ts';
import type { RawObject, SecretRecord } from '../../../operator/watch/snapshot.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { installCrds } from '../../cluster/install.ts';
import {
  change,
  createNamespace,
  create as createStored,
  read as readStored,
  remove,
} from '../../cluster/objects.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { kstatusOf } from '../../support/kstatus.ts';
import { apiKey, provider, route, secret, snapshot, target } from '../make.ts';
import { fleet, heard, look, NOW_MS, runs, written } from './status-support.ts';

const plane = useControlPlane();

beforeAll(async () => {
  await installCrds(plane());
});

/** A namespace of its own for each test. */
async function inNamespace(name: string): Promise<string> {
  await createNamespace(plane().client, name);
  return name;
}

const create = (object: RawObject) => createStored(plane().client, object);
const read = (object: RawObject) => readStored(plane().client, object);

/** By hand, on the ApiKey `bot`. */
async function setDisabled(namespace: string, disabled: boolean): Promise<void> {
  await change(plane().client, apiKey({}, { namespace }), { spec: { disabled } });
}

/** The client of the admin, with what was written over it. */
function counted(): { client: KubeClient; writes: KubeRequest[] } {
  const writes: KubeRequest[] = [];
  const { client } = plane();
  return {
    writes,
    client: {
      ...client,
      call(request) {
        if (request.method !== 'GET') writes.push(request);
        return client.call(request);
      },
    },
  };
}

function publisher() {
  const { client, writes } = counted();
  const events = createEventRecorder({
    client,
    clock: systemClock,
    random: Math.random,
    instance: 'operator-0',
  });
  return { client, writes, events, statuses: createStatusPublisher({ client, clock: systemClock, events }) };
}

function judge(object: RawObject, secretRecords: readonly SecretRecord[] = []): Verdict {
  const of = (kind: string) => (object.kind === kind ? [object] : []);
  const { verdicts } = createCompiler()(
    snapshot({
      providers: of('Provider'),
      modelRoutes: of('ModelRoute'),
      apiKeys: of('ApiKey'),
      secrets: secretRecords,
    }),
    Date.now(),
  );
  const [verdict] = verdicts;
  if (verdict === undefined) throw new Error('no verdict');
  return verdict;
}

const facts = (object: RawObject, verdict = judge(object)) => ({
  object,
  verdict,
  since: 7,
  pods: fleet(runs(7), runs(7)),
});

describe('a status', () => {
  test('is read back as written, and another run writes nothing', async () => {
    const namespace = await inNamespace('status-round');
    const { statuses, events, writes } = publisher();
    const objects = [
      provider({}, { namespace, name: 'shared' }),
      provider({}, { namespace, name: 'unlent' }),
      route({}, { namespace }),
      apiKey({ expiresAt: '2027-01-01T00:00:00Z' }, { namespace, name: 'good' }),
      route({ targets: [target({ parameters: { messages: [] } })] }, { namespace, name: 'bad' }),
    ];
    const readings: string[] = [];
    for (const manifest of objects) {
      const shared = manifest.metadata.name === 'shared' ? [secret({ namespace })] : [];
      const object = await create(manifest);
      const verdict = judge(object, shared);
      expect(kstatusOf(object)).toBe('InProgress');
      expect(await statuses.publish(facts(object, verdict))).toMatchObject({ did: 'wrote' });
      // Before the watch has brought it.
      expect(await statuses.publish(facts(object, verdict))).toMatchObject({ did: 'nothing' });
      const back = await read(object);
      readings.push(`${back.metadata.name} ${kstatusOf(back)}`);
      expect(back.status).toEqual(
        JSON.parse(JSON.stringify(written(look(object, verdict, { nowMs: timeIn(back) })))),
      );
      // After it, and by a new leader.
      expect(await statuses.publish(facts(back, verdict))).toMatchObject({ did: 'nothing' });
      expect(await publisher().statuses.publish({ ...facts(back, verdict), since: undefined })).toMatchObject(
        { did: 'nothing' },
      );
    }
    await events.close();
    expect(readings).toEqual([
      'shared Current',
      'unlent InProgress',
      'chat InProgress',
      'good Current',
      'bad Failed',
    ]);
    expect(writes.filter(({ method }) => method === 'PATCH')).toHaveLength(objects.length);
  });

  test('ends a kubectl wait for the present generation, and not earlier', async () => {
    const namespace = await inNamespace('status-wait');
    const { statuses, events } = publisher();
    const object = await create(apiKey({}, { namespace }));
    const args = ['--for=condition=Programmed', 'apikey.penstock.dev/bot', '-n', namespace];
    const early = await plane().kubectl(['wait', ...args, '--timeout=0s']);
    expect(early.code).not.toBe(0);
    const waiting = plane().kubectl(['wait', ...args, '--timeout=20s']);
    expect(await statuses.publish({ ...facts(object), pods: fleet(runs(7), runs(6)) })).toMatchObject({
      did: 'nothing',
    });
    await statuses.publish(facts(object));
    expect((await waiting).code).toBe(0);

    await setDisabled(namespace, true);
    const edited = await read(object);
    expect(edited.metadata.generation).toBe(2);
    // kubectl takes a condition of an older generation for none.
    const stale = await plane().kubectl(['wait', ...args, '--timeout=1s']);
    expect(stale.code).not.toBe(0);
    await statuses.publish({ ...facts(edited), since: 8, pods: fleet(runs(8)) });
    expect((await plane().kubectl(['wait', ...args, '--timeout=20s'])).code).toBe(0);
    const table = await plane().mustKubectl(['get', 'akey', '-n', namespace, '-o', 'wide']);
    expect(table).toMatch(/True .*DisabledBySpec/);
    await events.close();
  });

  test('leaves the usage to its own manager, and removes its own obsolete fields', async () => {
    const namespace = await inNamespace('status-usage');
    const { statuses, events, client } = publisher();
    const object = await create(apiKey({ disabled: true }, { namespace }));
    await statuses.publish(facts(object));
    const usage = { spend: '41.237', lastUsedAt: '2026-06-01T00:00:00Z' };
    await client.call({
      method: 'PATCH',
      path: objectPath(resourceOf('ApiKey'), { namespace, name: 'bot' }, 'status'),
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: 'penstock-usage' },
      body: {
        apiVersion: 'penstock.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: 'bot', namespace },
        status: { usage },
      },
    });
    await setDisabled(namespace, false);
    const before = await read(object);
    await statuses.publish({ ...facts(before), since: 8, pods: fleet(runs(8)) });
    const after = await read(object);
    expect(after.status).toMatchObject({ usage, observedGeneration: 2 });
    expect(conditionTypes(before)).toContain('Disabled');
    expect(conditionTypes(after)).toEqual(['Accepted', 'Issued', 'Programmed', 'Ready']);
    await events.close();
  });

  test('with troubled pods is read back as written, and they are removed again', async () => {
    const namespace = await inNamespace('status-troubles');
    const { statuses, events } = publisher();
    const object = await create(provider({}, { namespace, name: 'shared' }));
    const verdict = judge(object, [secret({ namespace })]);
    if (verdict.kind !== 'Provider') throw new Error('it is a Provider');
    const healthWith = (...entries: Omit<UpstreamHealth, 'provider'>[]) => {
      const health = entries.map((entry) => ({ ...entry, provider: `${namespace}/shared` }));
      return indexHealth(...heard([runs(7, { health })]))(verdict);
    };
    const untilMs = systemClock.wallMs() + 5_000;
    const failing = healthWith({ state: 'open', untilMs }, { state: 'rejected', key: 'main' });
    expect(await statuses.publish({ ...facts(object, verdict), health: failing })).toMatchObject({
      did: 'wrote',
    });
    const back = await read(object);
    const { health } = providerStatusSchema.parse(back.status);
    expect(health?.troubles).toEqual([
      { reason: 'CircuitOpen', podCount: 1, pods: [expect.objectContaining({ name: 'a' })] },
      {
        key: 'main',
        reason: 'Invalid',
        podCount: 1,
        pods: [{ name: 'a', sinceTime: expect.any(String) }],
      },
    ]);
    expect(await publisher().statuses.publish({ ...facts(back, verdict), health: failing })).toMatchObject({
      did: 'nothing',
    });
    // An edit is another upstream: what it is now is reported at once.
    const edited = { ...verdict, generation: (verdict.generation ?? 0) + 1 };
    await statuses.publish({ ...facts(back, edited), health: healthWith() });
    expect((await read(object)).status).not.toHaveProperty('health.troubles');
    await events.close();
  });

  test('has the reports of pods about exchanged credentials, and an event follows a refusal alone', async () => {
    const namespace = 'platform';
    await inNamespace(namespace);
    const { statuses, events } = publisher();
    const spec = {
      type: 'Bedrock',
      baseURL: 'https://bedrock-runtime.us-east-1.amazonaws.com',
      auth: { type: 'AWS' },
    };
    const object = await create(provider(spec, { namespace, name: 'bedrock' }));
    const verdict = judge(object);
    if (verdict.kind !== 'Provider') throw new Error('it is a Provider');
    const shownOf = async (line: Omit<CredentialState, 'provider'>) => {
      const report = runs(7, { credentials: [{ provider: 'platform/bedrock', ...line }] });
      const credentials = indexCredentials(...heard([report]))(verdict);
      await statuses.publish({ ...facts(await read(object), verdict), credentials });
      await events.idle();
      const path = '{.status.state} {.status.conditions[?(@.type=="CredentialsValid")].reason}';
      return await plane().mustKubectl([
        'get',
        'mprov',
        'bedrock',
        '-n',
        namespace,
        '-o',
        `jsonpath=${path}`,
      ]);
    };
    expect(await shownOf({ state: 'valid', identity: 'arn:aws:sts::1:assumed-role/a/b' })).toBe(
      'Serving CredentialsExchanged',
    );
    expect(await shownOf({ state: 'failed', message: 'sts answered 403 (AccessDenied).' })).toBe(
      'Failing CredentialsRefused',
    );
    const described = await plane().mustKubectl(['describe', 'mprov', 'bedrock', '-n', namespace]);
    expect(described).toMatch(/Warning\s+CredentialsRefused\s.*sts answered 403 \(AccessDenied\)/);
    expect(described).not.toMatch(/Normal\s+CredentialsExchanged/);
    await events.close();
  });

  test('of a deleted object is not written, and a new object of that name is not touched', async () => {
    const namespace = await inNamespace('status-gone');
    const { statuses, events } = publisher();
    const manifest = apiKey({}, { namespace });
    const object = await create(manifest);
    await remove(plane().client, manifest);
    expect(await statuses.publish(facts(object))).toEqual({ did: 'gone' });
    await create(manifest);
    await expect(publisher().statuses.publish(facts(object))).rejects.toMatchObject({ status: 409 });
    expect(conditionTypes(await read(manifest))).toEqual(['Ready']);
    expect(kstatusOf(await read(manifest))).toBe('InProgress');
    await events.close();
  });
});

test('is written again before the watch has delivered the first', async () => {
  const namespace = await inNamespace('status-twice');
  const { statuses, events } = publisher();
  const object = await create(apiKey({}, { namespace }));
  await statuses.publish(facts(object));
  expect(await statuses.publish({ ...facts(object), since: 8, pods: fleet(runs(8)) })).toEqual({
    did: 'wrote',
  });
  expect((await read(object)).status).toMatchObject({ programmed: { tableGeneration: 8 } });
  await events.close();
});

test('waits 5 s for lagging pods, names them, and names more after 30 s; another form starts again', async () => {
  const namespace = await inNamespace('status-lag');
  const clock = makeFakeClock(NOW_MS);
  const { client, events } = publisher();
  const statuses = createStatusPublisher({ client, clock, events });
  const object = await create(apiKey({}, { namespace }));
  const lagging = { ...facts(object), pods: fleet(runs(7), runs(6)) };
  expect(await statuses.publish(lagging)).toEqual({ did: 'nothing', afterMs: 5_000 });
  clock.advance(3_000);
  expect(await statuses.publish(lagging)).toEqual({ did: 'nothing', afterMs: 2_000 });
  const other = { ...lagging, since: 8 };
  expect(await statuses.publish(other)).toEqual({ did: 'nothing', afterMs: 5_000 });
  clock.advance(5_000);
  expect(await statuses.publish(other)).toEqual({ did: 'wrote', afterMs: 25_000 });
  clock.advance(10_000);
  expect(await statuses.publish(other)).toEqual({ did: 'nothing', afterMs: 15_000 });
  clock.advance(15_000);
  // At 10 min from its first word on it is no longer in flight.
  expect(await statuses.publish(other)).toEqual({ did: 'wrote', afterMs: 575_000 });
  const reported = await plane().mustKubectl(['get', 'akey', 'bot', '-n', namespace, '-o', 'wide']);
  expect(reported).toMatch(/Pending +False .* Pending/);
  expect(JSON.stringify((await read(object)).status)).toContain('pod b runs table generation 6');
  clock.advance(60_000);
  const back = await read(object);
  expect(await statuses.publish({ ...other, object: back })).toEqual({ did: 'nothing', afterMs: 515_000 });
  expect(kstatusOf(back)).toBe('InProgress');
  clock.advance(515_000);
  expect(await statuses.publish({ ...other, object: back })).toMatchObject({ did: 'wrote' });
  expect(kstatusOf(await read(object))).toBe('Failed');
  statuses.forget(refOf('ApiKey', object));
  await events.close();
});

describe('events', () => {
  test('of a change are shown in kubectl describe and kubectl events', async () => {
    const namespace = await inNamespace('events-seen');
    const { statuses, events } = publisher();
    const object = await create(provider({}, { namespace }));
    await statuses.publish(facts(object));
    await events.idle();
    const described = await plane().mustKubectl(['describe', 'mprov', 'openai', '-n', namespace]);
    expect(described).toMatch(/Warning\s+SecretNotFound\s+\S+\s+penstock.dev\/operator/);
    expect(described).not.toContain('NotProgrammed  ');
    const listed = await plane().mustKubectl([
      'events',
      '-n',
      namespace,
      '--for',
      'provider.penstock.dev/openai',
    ]);
    expect(listed).toContain('SecretNotFound');
    await events.close();
  });

  test('that repeat are counted in one series, and a different event is separate', async () => {
    const namespace = await inNamespace('events-series');
    const { events } = publisher();
    const ref = refOf('ApiKey', await create(apiKey({}, { namespace })));
    const fact: EventFact = {
      type: 'Warning',
      reason: 'DigestConflict',
      action: 'Compile',
      note: 'two of one',
    };
    for (let count = 0; count < 3; count++) events.record(ref, fact);
    events.record(ref, { ...fact, note: `${'€'.repeat(1_000)}` });
    await events.idle();
    const { items } = await list(namespace);
    const counts = items.map(({ note, series }) => [note.slice(0, 10), series?.count]);
    expect(counts).toHaveLength(2);
    expect(Object.fromEntries(counts)).toEqual({ 'two of one': 3, '€€€€€€€€€€': undefined });
    expect(items.every(({ note }) => Buffer.byteLength(note) <= 1_024)).toBe(true);
    await events.close();
  });

  test('beyond 25 at once for one object are dropped; another object has its own limit', async () => {
    const namespace = await inNamespace('events-budget');
    const { events } = publisher();
    const object = await create(apiKey({}, { namespace }));
    const ref = refOf('ApiKey', object);
    const fact = (note: string): EventFact => ({
      type: 'Normal',
      reason: 'Programmed',
      action: 'Publish',
      note,
    });
    for (let count = 0; count < 40; count++) events.record(ref, fact(`number ${count}`));
    events.record({ ...ref, name: 'other', uid: 'u-2' }, fact('of another'));
    await events.idle();
    expect(events.stats()).toEqual({ written: 26, dropped: 15, failed: 0 });
    expect((await list(namespace)).items).toHaveLength(26);
    await events.close();
  });

  test('that cannot be written disturb nothing', async () => {
    const { events } = publisher();
    const ref = { kind: 'ApiKey', namespace: 'no-such-namespace', name: 'bot' } as const;
    events.record(ref, { type: 'Normal', reason: 'Programmed', action: 'Publish', note: 'x' });
    await events.idle();
    expect(events.stats()).toEqual({ written: 0, dropped: 0, failed: 1 });
    await events.close();
  });
});

describe('the key of an ApiKey', () => {
  const issuer = (client: KubeClient) =>
    createKeyIssuer({
      client,
      keyPrefix: 'psk_',
      metadataPrefixes: [],
      baseUrl: 'https://models.example/v1',
      randomBytes,
      wallMs: systemClock.wallMs,
    });
  /** No watch has brought a Secret. */
  const unseen = { secret: undefined, needsSecret: true, isOut: () => false };
  const issuable = (namespace: string, spec: object = {}, name = 'bot') =>
    apiKey({ imports: undefined, ...spec }, { namespace, name });

  test('is written to its own Secret, once, and deleted with it', async () => {
    const namespace = await inNamespace('issue-once');
    const { client, writes } = counted();
    const keys = issuer(client);
    const spec = { secret: { key: 'TOKEN', labels: { app: 'ci' }, annotations: { note: 'mine' } } };
    const object = await create(issuable(namespace, spec));
    const both = await Promise.all([keys.tend(object, unseen), keys.tend(object, unseen)]);
    expect(both.map(({ type }) => type)).toEqual(['created', 'nothing']);
    const first = await readSecret(namespace, 'bot-key');
    expect(first).toMatchObject({
      type: 'Opaque',
      metadata: {
        labels: { app: 'ci', [ISSUED_SECRET_LABEL]: 'bot' },
        annotations: { note: 'mine', 'penstock.dev/key-version': '1' },
        ownerReferences: [{ kind: 'ApiKey', name: 'bot', uid: object.metadata.uid, controller: true }],
      },
    });
    expect(first.metadata.ownerReferences?.[0]).not.toHaveProperty('blockOwnerDeletion');
    expect(Object.keys(first.data)).toEqual(['TOKEN', 'baseURL']);
    expect(isWellFormedKey('psk_', text(first, 'TOKEN'))).toBe(true);
    expect(text(first, 'baseURL')).toBe('https://models.example/v1');

    // The watch has not brought it yet: the server keeps the first.
    expect(await keys.tend(object, unseen)).toEqual({ type: 'exists' });
    expect((await readSecret(namespace, 'bot-key')).data).toEqual(first.data);
    expect(writes).toHaveLength(2);

    const record = secretRecord(namespace, first);
    const compiled = keyVerdict(object, [record]);
    expect(compiled).toMatchObject({ needsSecret: false, isInTable: true });

    await plane().mustKubectl(['delete', 'akey', 'bot', '-n', namespace]);
    await plane().mustKubectl(['wait', '--for=delete', 'secret/bot-key', '-n', namespace, '--timeout=20s']);
  });

  test('never replaces a Secret that existed', async () => {
    const namespace = await inNamespace('issue-taken');
    await createStored(plane().client, {
      ...secretNamed(namespace, 'bot-key'),
      stringData: { own: 'thing' },
    });
    const object = await create(issuable(namespace));
    const { client } = counted();
    expect(await issuer(client).tend(object, unseen)).toEqual({ type: 'exists' });
    const there = await readSecret(namespace, 'bot-key');
    expect(text(there, 'own')).toBe('thing');
    expect(keyVerdict(object, [secretRecord(namespace, there)]).conditions).toContainEqual(
      expect.objectContaining({ type: 'Issued', reason: 'SecretTaken' }),
    );
  });

  test('is not made for an ApiKey that is disabled, imported, refused or being deleted', async () => {
    const { client, writes } = counted();
    const keys = issuer(client);
    for (const object of [
      issuable('team-a', { disabled: true }),
      apiKey({}, { uid: 'u' }),
      issuable('team-a', { limits: 7 }),
      apiKey({ imports: undefined }, { uid: 'u', deletionTimestamp: '2026-06-01T00:00:00Z' }),
      apiKey({ imports: undefined }),
    ]) {
      expect(await keys.tend(object, unseen)).toEqual({ type: 'nothing' });
    }
    const plain = apiKey({ imports: undefined }, { uid: 'u' });
    expect(await keys.tend(plain, { ...unseen, needsSecret: false })).toEqual({ type: 'nothing' });
    expect(writes).toEqual([]);
  });

  test('that the server refuses is reported with the reason, without the key', async () => {
    const namespace = await inNamespace('issue-refused');
    const object = await create(issuable(namespace));
    // A namespace being deleted takes nothing new.
    const anchor = { metadata: { namespace, name: 'anchor', finalizers: ['example.dev/anchor'] } };
    await createStored(plane().client, { apiVersion: 'v1', kind: 'ConfigMap', ...anchor });
    await plane().mustKubectl(['delete', 'namespace', namespace, '--wait=false']);
    const { client } = counted();
    const result = await issuer(client).tend(object, unseen);
    expect(result).toMatchObject({ type: 'refused', message: expect.stringContaining('being terminated') });
    expect(JSON.stringify(result)).not.toContain('psk_');
  });
});

function keyVerdict(object: RawObject, secretRecords: readonly SecretRecord[] = []) {
  const verdict = judge(object, secretRecords);
  if (verdict.kind !== 'ApiKey') throw new Error('not an ApiKey');
  return verdict;
}

const secretNamed = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
});

const storedSecretSchema = z.looseObject({
  type: z.string(),
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()).optional(),
    ownerReferences: z.array(z.looseObject({})).optional(),
  }),
  data: z.record(z.string(), z.string()),
});
type StoredSecret = z.infer<typeof storedSecretSchema>;

async function readSecret(namespace: string, name: string): Promise<StoredSecret> {
  return storedSecretSchema.parse(await readStored(plane().client, secretNamed(namespace, name)));
}

function text({ data }: StoredSecret, key: string): string {
  return Buffer.from(data[key] ?? '', 'base64').toString();
}

function secretRecord(namespace: string, stored: StoredSecret): SecretRecord {
  return secret({
    namespace,
    name: 'bot-key',
    labels: stored.metadata.labels ?? {},
    data: Object.fromEntries(Object.keys(stored.data).map((key) => [key, text(stored, key)])),
  });
}

const eventListSchema = z.object({
  items: z.array(z.object({ note: z.string(), series: z.object({ count: z.number() }).optional() })),
});

async function list(namespace: string): Promise<z.infer<typeof eventListSchema>> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  return eventListSchema.parse(await plane().client.call({ method: 'GET', path }));
}

function conditionTypes(object: RawObject): string[] {
  const { conditions } = object.status as { conditions: readonly { type: string }[] };
  return conditions.map(({ type }) => type);
}

/** The time at which the status of a new object was written. */
function timeIn(object: RawObject): number {
  const { conditions } = object.status as { conditions: readonly { lastTransitionTime: string }[] };
  return Date.parse(conditions[0]?.lastTransitionTime ?? '');
}
