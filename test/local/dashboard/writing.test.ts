// What is changed in the dashboard of local mode is in the manifests, and is live as if it had been written there by hand.

import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { openFolderCluster } from '../../../local/dashboard/cluster.ts';
import { writeText } from '../../../local/dashboard/edit-text.ts';
import { openObjects } from '../../../local/dashboard/objects.ts';
import { replaceFile } from '../../../local/dashboard/write-file.ts';
import { createManifestReader } from '../../../local/manifest-reader.ts';
import { noManifests } from '../../../local/manifests.ts';
import { until } from '../../support/until.ts';
import { ask, type LocalRig, makeFolders } from '../rig.ts';
import { conditionOf, group, type Person, readAll, settled, signIn, startDashboardRig } from './person.ts';

const keys = `${group}/namespaces/default/apikeys`;
const providers = `${group}/namespaces/default/providers`;
const secrets = '/api/v1/namespaces/default/secrets';

let rig: LocalRig;
let person: Person;

beforeAll(async () => {
  rig = await startDashboardRig();
  person = await signIn(rig);
}, 30_000);
afterAll(() => rig?.close());

const read = (name: string): Promise<string> => readFile(join(rig.manifests, name), 'utf8');

function importedKey(name: string, key: string, more: object = {}) {
  const sha256 = createHash('sha256').update(key).digest('hex');
  return { metadata: { name }, spec: { imports: [{ sha256, hint: `psk_…${key.slice(-4)}` }], ...more } };
}

describe('what is in the manifests', () => {
  test('is shown as Kubernetes shows it, with the conditions of the operator', async () => {
    const { status, body } = await person.kube('GET', `${group}/providers`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'ProviderList', apiVersion: 'penstock.dev/v1alpha1' });
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual(['down', 'first', 'second']);
    const [down] = body.items;
    expect(down?.metadata).toMatchObject({ namespace: 'default', generation: 1, uid: expect.any(String) });
    expect(down?.status.conditions.map(({ type, status: is }) => `${type} ${is}`)).toEqual([
      'Accepted True',
      'ResolvedRefs True',
      'Healthy Unknown',
      'Programmed True',
      'Ready True',
    ]);
  });

  test('comes in pages, and by label', async () => {
    const first = await person.kube('GET', `${group}/providers?limit=2`);
    expect(first.body.items).toHaveLength(2);
    const rest = await person.kube(
      'GET',
      `${group}/providers?limit=2&continue=${first.body.metadata.continue}`,
    );
    expect(rest.body.items.map(({ metadata }) => metadata.name)).toEqual(['second']);
    expect(rest.body.metadata.continue).toBeUndefined();
    const labelled = await person.kube('GET', `${group}/providers?labelSelector=team%3Dnone`);
    expect(labelled.body.items).toEqual([]);
  });

  test('and a missing object is not found, with the error of an API server', async () => {
    expect(await person.kube('GET', `${keys}/nobody`)).toEqual({
      status: 404,
      body: {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'apikeys.penstock.dev "nobody" not found',
        reason: 'NotFound',
        details: { name: 'nobody', group: 'penstock.dev', kind: 'apikeys' },
        code: 404,
      },
    });
  });
});

test('catalog and plan are the gateway’s', async () => {
  const question = { namespace: 'default', apiKey: 'quickstart' };
  const catalog = await person.ask('POST', '/api/ledger/v1/catalog', question);
  expect([catalog.status, catalog.body.models]).toMatchObject([
    200,
    [{ id: 'penstock/failover' }, { id: 'penstock/small' }],
  ]);
  const plan = await person.ask('POST', '/api/ledger/v1/plan', {
    ...question,
    model: 'penstock/failover',
    dialect: 'chat',
  });
  expect([plan.status, plan.body.targets]).toMatchObject([200, [{ order: 1 }, { order: 2 }]]);
});

test('a connection is tested in this process, as by a gateway of a cluster', async () => {
  const path = '/api/ledger/v1/connection-check';
  const saved = await person.ask('POST', path, { namespace: 'default', provider: 'first' });
  expect([saved.status, saved.body]).toMatchObject([200, { outcome: 'works', models: expect.any(Array) }]);
  const tenant = { namespace: 'team-a', type: 'Ollama', baseURL: 'http://localhost:11434/v1' };
  const closed = await person.ask('POST', path, tenant);
  expect([closed.status, closed.body]).toMatchObject([
    200,
    { outcome: 'fails', message: expect.stringMatching(/^localhost:11434: not allowed/) },
  ]);
});

test('a provider that its namespace may not reach is refused, and the message names the one that may', async () => {
  const { status, body } = await person.kube('POST', `${group}/namespaces/team-a/providers`, {
    metadata: { name: 'ollama' },
    spec: { type: 'Ollama', baseURL: 'http://127.0.0.1:11434/v1', auth: { type: 'None' } },
  });
  expect([status, body.message]).toEqual([
    400,
    expect.stringMatching(
      /^Nothing was written: .*127\.0\.0\.1.* In local mode only the namespace default reaches this machine: add it there\.$/,
    ),
  ]);
});

describe('a new key', () => {
  const key = `psk_${'a'.repeat(43)}0000`;

  test('gets its own file, reaches watchers, and is used at once', async () => {
    const gone = new AbortController();
    const events = person.watch('?kind=apikeys&namespace=default', gone.signal)[Symbol.asyncIterator]();
    expect((await events.next()).value?.event).toBe('reset');
    const made = await person.kube('POST', keys, importedKey('watched', key));
    expect(made.status).toBe(201);
    expect(made.body.metadata).toMatchObject({ name: 'watched', namespace: 'default', generation: 1 });
    const added = (await events.next()).value;
    expect(added?.data).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'watched' } } });
    for (let isLive = false; !isLive; ) {
      const { object } = (await events.next()).value?.data ?? {};
      isLive = object !== undefined && conditionOf(object, 'Programmed')?.status === 'True';
    }
    gone.abort();
    expect(await read('apikey-watched.yaml')).toBe(
      [
        'apiVersion: penstock.dev/v1alpha1',
        'kind: ApiKey',
        'metadata:',
        '  name: watched',
        '  namespace: default',
        'spec:',
        '  imports:',
        `    - sha256: ${createHash('sha256').update(key).digest('hex')}`,
        '      hint: psk_…0000',
        '',
      ].join('\n'),
    );
    expect(await ask(rig.url, key, 'penstock/small')).toMatchObject({ status: 200 });
  });

  test('is not made twice', async () => {
    const before = await readAll(rig);
    const { status, body } = await person.kube('POST', keys, importedKey('watched', key));
    expect([status, body.reason]).toEqual([409, 'AlreadyExists']);
    expect(body.message).toBe('apikeys.penstock.dev "watched" already exists');
    expect(await readAll(rig)).toEqual(before);
  });

  test('of another namespace gets another file under the same name', async () => {
    const path = `${group}/namespaces/team-a/apikeys`;
    const { status } = await person.kube('POST', path, importedKey('watched', `psk_${'b'.repeat(43)}0000`));
    expect(status).toBe(201);
    expect(await read('apikey-watched-team-a.yaml')).toContain('namespace: team-a');
    const { body } = await person.ask('GET', '/api/namespaces');
    expect(body.namespaces).toEqual(['default', 'team-a']);
  });

  test('shows in the spend, and its budget too', async () => {
    const budgets = [{ period: 'Month', limit: '5.00' }];
    await person.kube('PATCH', `${keys}/watched`, { spec: { budgets } });
    const rows = await until(async () => {
      const { body } = await person.ask('GET', '/api/ledger/v1/sums?by=apiKey');
      return Array.isArray(body.rows) && body.rows.length > 0 && body.rows;
    });
    expect(rows).toMatchObject([{ apiKey: 'default/watched', requests: 1 }]);
    const reported = await person.ask('GET', '/api/ledger/v1/budgets');
    expect(reported.body.budgets).toMatchObject([
      { apiKey: 'default/watched', period: 'Month', limitUsd: '5' },
    ]);
  });

  test('that is deleted takes its file with it, and is refused', async () => {
    expect(await person.kube('DELETE', `${keys}/watched`)).toMatchObject({
      status: 200,
      body: { status: 'Success', details: { name: 'watched', kind: 'apikeys' } },
    });
    expect(await readdir(rig.manifests)).not.toContain('apikey-watched.yaml');
    expect((await person.kube('GET', `${keys}/watched`)).status).toBe(404);
    await until(async () => (await ask(rig.url, key, 'penstock/small')).status === 401);
  });
});

describe('a change', () => {
  test('is one line in the file, and all comments stay', async () => {
    const before = await read('key.yaml');
    const changed = await person.kube('PATCH', `${keys}/quickstart`, { spec: { disabled: true } });
    expect(changed.body.metadata.generation).toBe(2);
    expect(await read('key.yaml')).toBe(before.replace(/\n$/, '\n  disabled: true\n'));
    const { status } = await settled(person, `${keys}/quickstart`);
    expect(status.conditions.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'True',
      reason: 'DisabledBySpec',
    });
    expect((await rig.ask('penstock/small')).status).toBe(401);
    await person.kube('PATCH', `${keys}/quickstart`, { spec: { disabled: null } });
    expect(await read('key.yaml')).toBe(before);
    await settled(person, `${keys}/quickstart`);
    expect((await rig.ask('penstock/small')).status).toBe(200);
  });

  test('in one of several documents leaves the others as they are', async () => {
    const before = await read('provider.yaml');
    const { body } = await person.kube('GET', `${providers}/second`);
    const spec = { ...(body.spec as object), displayName: 'Another name' };
    const { status } = await person.kube('PUT', `${providers}/second`, { ...body, spec });
    expect(status).toBe(200);
    expect(await read('provider.yaml')).toBe(
      before.replace('displayName: The second simulated provider', 'displayName: Another name'),
    );
  });

  test('of an object that was changed since is a conflict', async () => {
    const { body } = await person.kube('GET', `${providers}/first`);
    await rig.edit('provider.yaml', 'The first simulated provider', 'By hand');
    const before = await readAll(rig);
    const spec = { ...(body.spec as object), displayName: 'In the dashboard' };
    const answer = await person.kube('PUT', `${providers}/first`, { ...body, spec });
    expect([answer.status, answer.body.reason]).toEqual([409, 'Conflict']);
    expect(answer.body.message).toBe(
      'Operation cannot be fulfilled on providers.penstock.dev "first": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(await readAll(rig)).toEqual(before);
  });

  test.each([
    [{ spec: { baseURL: 'ftp://example.com' } }, 'spec.baseURL'],
    [{ spec: { displayNam: 'x' } }, 'spec.displayNam'],
    [{ spec: { type: 'OpenAI' } }, 'spec.type'],
    [{ metadata: { labels: { a: 1 } } }, 'metadata.labels.a'],
    [{ sepc: {} }, 'sepc'],
  ])('that is wrong names its field and leaves the file unchanged: %j', async (patch, field) => {
    const before = await readAll(rig);
    const { status, body } = await person.kube('PATCH', `${providers}/down`, patch);
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.message).toMatch(/^Provider\.penstock\.dev "down" is invalid: /);
    expect(body.details).toMatchObject({
      kind: 'Provider',
      causes: [{ reason: 'FieldValueInvalid', field }],
    });
    expect(await readAll(rig)).toEqual(before);
  });

  test('as a dry run is checked, and not written', async () => {
    const before = await readAll(rig);
    const tried = await person.kube('PATCH', `${providers}/down?dryRun=All`, {
      spec: { displayName: 'Tried' },
    });
    expect(tried).toMatchObject({ status: 200, body: { spec: { displayName: 'Tried' } } });
    const made = await person.kube('POST', `${keys}?dryRun=All`, importedKey('tried', 'psk_tried'));
    expect(made.status).toBe(201);
    const wrong = await person.kube('POST', `${keys}?dryRun=All`, { metadata: { name: 'No' }, spec: {} });
    expect(wrong.status).toBe(422);
    expect((await person.kube('DELETE', `${providers}/down?dryRun=All`)).status).toBe(200);
    expect(await readAll(rig)).toEqual(before);
  });

  test('is refused if it would change another object', async () => {
    const before = await readAll(rig);
    const { body } = await person.kube('GET', `${providers}/down`);
    const renamed = { ...body, metadata: { ...body.metadata, name: 'up' } };
    expect((await person.kube('PUT', `${providers}/down`, renamed)).status).toBe(400);
    const moved = { metadata: { name: 'x', namespace: 'other' }, spec: {} };
    expect((await person.kube('POST', keys, moved)).status).toBe(400);
    const { resourceVersion: _, ...metadata } = body.metadata;
    expect((await person.kube('PUT', `${providers}/down`, { ...body, metadata })).status).toBe(422);
    expect(await readAll(rig)).toEqual(before);
  });
});

describe('an own upstream', () => {
  const value = 'sk-of-somebody-0123456789';

  test('is created in three steps, and its Secret is readable by the user only', async () => {
    const made = await person.kube('POST', secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'mine',
        labels: { 'penstock.dev/provider-credential': 'true' },
        annotations: { 'penstock.dev/allowed-hosts': new URL(rig.upstream.url).host },
      },
      stringData: { apiKey: value },
    });
    expect(made.status).toBe(201);
    expect(JSON.stringify(made.body)).not.toContain(value);
    const { mode } = await stat(join(rig.manifests, 'secret-mine.yaml'));
    expect((mode & 0o777).toString(8)).toBe('600');
    expect(await rig.next(/Secret/)).toMatch(/secret-mine\.yaml\. Keep it out of Git\.$/);
    await person.kube('POST', providers, {
      metadata: { name: 'mine' },
      spec: {
        type: 'OpenAICompatible',
        baseURL: `${rig.upstream.url}/v1`,
        apis: ['ChatCompletions'],
        auth: { keys: [{ name: 'main', secretRef: { name: 'mine', key: 'apiKey' } }] },
      },
    });
    const routes = `${group}/namespaces/default/modelroutes`;
    const route = await person.kube('POST', routes, {
      metadata: { name: 'mine' },
      spec: {
        model: 'mine/small',
        targets: [{ name: 'main', providerRef: { name: 'mine' }, upstreamModel: 'sim-small' }],
      },
    });
    expect(route.status).toBe(201);
    await settled(person, `${routes}/mine`);
    expect((await rig.ask('mine/small')).status).toBe(200);
    expect(rig.printed.join('\n')).not.toContain(value);
  });

  test('a Secret is never replaced, neither from a manifest nor with an issued key', async () => {
    const before = await readAll(rig);
    for (const name of ['mine', 'simulator-keys', 'quickstart-key']) {
      const { status, body } = await person.kube('POST', secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
        stringData: {},
      });
      expect([name, status, body.message]).toEqual([name, 409, `secrets "${name}" already exists`]);
    }
    expect(await readAll(rig)).toEqual(before);
  });

  test('a Secret that is wrong is refused without its value', async () => {
    const { status, body } = await person.kube('POST', secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'wrong' },
      data: { apiKey: value },
    });
    expect(status).toBe(422);
    expect(body.details).toMatchObject({ causes: [{ field: 'data.apiKey' }] });
    expect(JSON.stringify(body)).not.toContain(value);
  });
});

describe('a file that cannot be read, as in the middle of an edit', () => {
  test('takes none of its objects away, and nothing is written to it', async () => {
    const path = `${group}/namespaces/default/modelroutes`;
    const known = await person.kube('GET', `${path}/small`);
    await rig.edit('routes.yaml', 'spec:', 'spec: {');
    await rig.next(/^problem .*routes\.yaml/);
    const before = await readAll(rig);
    const { body } = await person.kube('GET', `${group}/modelroutes`);
    expect(body.items.map(({ metadata }) => metadata.name)).toContain('small');
    const changed = await person.kube('PATCH', `${path}/small`, { spec: { displayName: 'x' } });
    expect(changed).toMatchObject({
      status: 400,
      body: { message: 'routes.yaml cannot be read. Fix the file first.' },
    });
    const again = await person.kube('POST', path, {
      metadata: { name: 'small' },
      spec: { model: 'x', targets: [{ name: 'main', providerRef: { name: 'first' }, upstreamModel: 'x' }] },
    });
    expect(again.status).toBe(409);
    expect(await readAll(rig)).toEqual(before);
    await rig.edit('routes.yaml', 'spec: {', 'spec:');
    await rig.next(/^(Live|Repaired)/);
    const mended = await person.kube('GET', `${path}/small`);
    expect(mended.body.metadata).toEqual(known.body.metadata);
  });
});

test('an edit by hand between reading and writing is a conflict, and stays', async () => {
  const folders = await makeFolders();
  const text = (displayName: string) =>
    writeText({
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { name: 'one' },
      spec: { displayName },
    });
  try {
    await folders.write('one.yaml', text('before'));
    const objects = openObjects(noManifests, () => 0);
    const reader = createManifestReader(folders.manifests, systemClock);
    const cluster = openFolderCluster({
      objects,
      refresh: async () => void objects.take(await reader.now()),
      foresee: async () => [],
      isIssued: () => false,
      async replace(file, before, after) {
        await folders.write('one.yaml', text('by hand'));
        await replaceFile(join(folders.manifests, file), before, after);
      },
      create: async () => {},
    });
    const body = { spec: { displayName: 'by program' } };
    const answer = await cluster.call({ method: 'PATCH', path: `${keys}/one`, body });
    expect(answer).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on apikeys.penstock.dev "one": the file has changed. Reload the page and try again',
      },
    });
    expect(await readFile(join(folders.manifests, 'one.yaml'), 'utf8')).toBe(text('by hand'));
    expect(await readdir(folders.manifests)).toEqual(['one.yaml']);
  } finally {
    await folders.remove();
  }
});
