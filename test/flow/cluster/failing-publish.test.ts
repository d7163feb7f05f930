// What if the table cannot be written, or was damaged by hand? Nothing is said to be everywhere that is not; what was taken
// away stops working all the same; and any leader repairs what was damaged.

import { expect, test } from 'vitest';
import { z } from 'zod';
import { createObject, mergePatch } from '../../../core/kube/patch.ts';
import { collectionPath, secrets } from '../../../core/kube/paths.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import { askGateway, askUntil } from './ask.ts';
import { tableNamespace, useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { readManifest } from './read-manifest.ts';
import { columnsOf } from './reported.ts';
import { useSimulator } from './simulator.ts';

const installation = useInstallation({ operators: 1, gateways: runs(2), losesRights: true });
const simulator = useSimulator();

const group = '/apis/penstock.dev/v1alpha1/namespaces/platform';
const key = importedKey('platform', 'bot');
/** So many that none is alone in its shard, which would be left out with it. */
const others = ['one', 'two', ...Array.from({ length: 60 }, (_, index) => `more-${index}`)];

let prepared: Promise<void> | undefined;
/** The first caller does it. */
function prepare(): Promise<void> {
  prepared ??= (async () => {
    const { apply, plane } = installation();
    await apply(
      namespaceOf('platform'),
      credentialSecret('platform', 'sim', simulator().url, 'sk-one'),
      provider('platform', 'sim', simulator().url, 'sim'),
      modelRoute('platform', 'm', ['sim']),
      ...['bot', ...others].map((name) => importedApiKey('platform', name)),
    );
    for (const kind of ['modelroutes', 'apikeys']) {
      const wait = ['wait', kind, '--all', '-n', 'platform', '--for=condition=Programmed', '--timeout=20s'];
      await plane.mustKubectl(wait);
    }
  })();
  return prepared;
}

async function changeTo(upstreamModel: string): Promise<void> {
  const targets = [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel }];
  await mergePatch(installation().plane.client, `${group}/modelroutes/m`, { spec: { targets } });
}

async function disable(name: string, disabled = true): Promise<void> {
  await mergePatch(installation().plane.client, `${group}/apikeys/${name}`, { spec: { disabled } });
}

/** The API server learns of a quota some moments later. */
async function untilFull(): Promise<void> {
  const { client } = installation().plane;
  const probe = { apiVersion: 'v1', kind: 'Secret', metadata: { generateName: 'probe-' } };
  const path = collectionPath(secrets, tableNamespace);
  await until(() =>
    client.call({ method: 'POST', path, query: { dryRun: 'All' }, body: probe }).then(
      () => false,
      () => true,
    ),
  );
}

/** As a user would ask: has it been said of the form that is there now? */
async function isProgrammed(ref: string): Promise<boolean> {
  const wait = ['wait', ref, '-n', 'platform', '--for=condition=Programmed', '--timeout=1s'];
  return (await installation().plane.kubectl(wait)).code === 0;
}

test('while the pointer cannot be written, no change is Programmed, and afterwards all arrive', async () => {
  const { apply, awaitCondition, gateways, plane, rendered } = installation();
  await prepare();
  const binding = rendered.find(
    ({ kind, metadata }) =>
      kind === 'RoleBinding' && metadata.namespace === tableNamespace && metadata.name.includes('operator'),
  );
  if (binding === undefined) throw new Error('the chart binds the operator in the table namespace');
  await plane.mustKubectl(['delete', 'rolebinding', binding.metadata.name, '-n', tableNamespace]);
  try {
    await changeTo('while-refused');
    await disable('one');
    // Said once the wait is no passing one; until then nothing is.
    const pending = ['wait', '-n', 'platform', '--timeout=20s', '--for=condition=Programmed=False'];
    await plane.mustKubectl([...pending, 'modelroute/m', 'apikey/one']);
    expect(await isProgrammed('modelroute/m')).toBe(false);
    expect(await isProgrammed('apikey/one')).toBe(false);
    expect(await columnsOf(plane, 'modelroute/m', 'platform')).toContain('Pending');
    for (const gateway of gateways) expect((await askGateway(gateway, key, 'm')).model).toBe('m');
  } finally {
    await apply({ ...binding });
  }
  await awaitCondition('modelroute/m', 'Programmed', 'platform', 60);
  await awaitCondition('apikey/one', 'Programmed', 'platform', 60);
  for (const gateway of gateways) {
    expect((await askGateway(gateway, key, 'm')).model).toBe('while-refused');
    expect((await askGateway(gateway, importedKey('platform', 'one'), 'm')).status).toBe(401);
  }
}, 120_000);

test('while no shard can be written, a disabled key still stops, through the pointer', async () => {
  const { apply, awaitCondition, gateways, plane } = installation();
  await prepare();
  const quota = { namespace: tableNamespace, name: 'full' };
  const hard = { 'count/secrets': '1' };
  await apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: quota, spec: { hard } });
  // The controller that counts does not run here; its word is all that the API server goes by.
  const status = JSON.stringify({ status: { hard, used: hard } });
  const patch = [
    'patch',
    'resourcequota',
    'full',
    '-n',
    tableNamespace,
    '--subresource=status',
    '--type=merge',
  ];
  await plane.mustKubectl([...patch, '-p', status]);
  try {
    await untilFull();
    await disable('two');
    const two = importedKey('platform', 'two');
    for (const gateway of gateways) await askUntil(gateway, two, 'm', (said) => said.status === 401);
    expect((await askGateway(gateways[0] ?? { url: '' }, key, 'm')).status).toBe(200);
    expect(await isProgrammed('apikey/two')).toBe(false);
    // Given back before its shard could be written: nothing stays behind that refuses it.
    await disable('two', false);
    for (const gateway of gateways) await askUntil(gateway, two, 'm', (said) => said.status === 200);
    await disable('two');
    for (const gateway of gateways) await askUntil(gateway, two, 'm', (said) => said.status === 401);
  } finally {
    await plane.mustKubectl(['delete', 'resourcequota', 'full', '-n', tableNamespace]);
  }
  await awaitCondition('apikey/two', 'Programmed', 'platform', 60);
}, 120_000);

test('a shard that was damaged by hand is repaired by the present leader, before the next change', async () => {
  const { awaitCondition, gateways, operators, plane, startGateway } = installation();
  await prepare();
  const { shards } = await readManifest(plane);
  const name = shards.find(({ kind }) => kind === 'routes')?.name ?? '';
  const shard = z
    .looseObject({ metadata: z.object({ labels: z.record(z.string(), z.string()) }), type: z.string() })
    .parse(JSON.parse(await plane.mustKubectl(['get', 'secret', name, '-n', tableNamespace, '-o', 'json'])));
  // Held still at the same time: it would have mended the gap before anything else could be put there.
  const [operator] = operators;
  operator?.process.signal('SIGSTOP');
  await plane.mustKubectl(['delete', 'secret', name, '-n', tableNamespace]);
  await createObject(plane.client, collectionPath(secrets, tableNamespace), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: tableNamespace, name, labels: shard.metadata.labels },
    type: shard.type,
    immutable: true,
    data: { shard: 'AAAA' },
  });
  operator?.process.signal('SIGCONT');
  const late = await startGateway();
  await late.process.answering(`${late.metricsUrl}/readyz`);
  expect((await askGateway(late, key, 'm')).status).toBe(200);
  await changeTo('after-the-damage');
  await awaitCondition('modelroute/m', 'Programmed', 'platform');
  for (const gateway of gateways) {
    expect((await askGateway(gateway, key, 'm')).model).toBe('after-the-damage');
  }
}, 120_000);
