// A tenant revokes a key by deleting its ApiKey. Another tenant has imported the same digest, which it read in Git: does the key work
// for anybody but the tenant whose it was? Not after the deletion, not under the next operator, not after a backup was restored.

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { askGateway, askUntil } from './ask.ts';
import { useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { useSimulator } from './simulator.ts';

const installation = useInstallation({ operators: 2, gateways: 1 });
const simulator = useSimulator();

const key = importedKey('team-b', 'bot');
const sha256 = createHash('sha256').update(key).digest('hex');
const ownKey = importedApiKey('team-b', 'bot');
const thief = issuedApiKey('team-a', 'thief', { imports: [{ sha256 }] });
const pointer = ['secret', 'penstock-current', '-n', 'penstock-tables'];

/** Each tenant has a route of the same id at a Provider of its own; its upstream's model says whose it was. */
function tenant(name: string): object[] {
  return [
    namespaceOf(name),
    credentialSecret(name, 'sim', simulator().url, `sk-${name}`),
    provider(name, 'sim', simulator().url, 'sim'),
    modelRoute(name, 'chat', ['sim'], {
      targets: [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel: `model-of-${name}` }],
    }),
  ];
}

async function ask(): Promise<{ status: number; model: string | undefined }> {
  const [gateway] = installation().gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  const { status, model } = await askGateway(gateway, key, 'chat');
  return { status, model };
}
const answersFrom = async (model: string) => {
  const [gateway] = installation().gateways;
  if (gateway !== undefined) await askUntil(gateway, key, 'chat', (said) => said.model === model);
};
const isRefused = async () => {
  const [gateway] = installation().gateways;
  if (gateway !== undefined) await askUntil(gateway, key, 'chat', ({ status }) => status === 401);
};
/** The operator has judged all that was changed before: what it publishes next is in use. */
async function settle(name: string): Promise<void> {
  const { apply, awaitCondition } = installation();
  await apply(importedApiKey('team-a', name));
  await awaitCondition(`apikey/${name}`, 'Programmed', 'team-a');
}
async function acceptedOfThief(): Promise<string> {
  return await installation().plane.mustKubectl([
    'get',
    'apikey/thief',
    '-n',
    'team-a',
    '-o',
    'jsonpath={.status.conditions[?(@.type=="Accepted")]}',
  ]);
}
const remove = (name: string) =>
  installation().plane.mustKubectl(['delete', 'apikey', name, '-n', 'team-b', '--wait=false']);

test('a key that its tenant deleted is 401, though another tenant has imported its digest', async () => {
  const { apply, awaitCondition } = installation();
  await apply(...tenant('team-a'), ...tenant('team-b'), ownKey);
  await awaitCondition('apikey/bot', 'Programmed', 'team-b');
  await answersFrom('model-of-team-b');
  await apply(thief);
  await until(async () => (await acceptedOfThief()).includes('DigestConflict'));
  expect(await ask()).toEqual({ status: 200, model: 'model-of-team-b' });

  await remove('bot');
  await isRefused();
  await until(async () => (await acceptedOfThief()).includes('belonged to an ApiKey of another namespace'));
  expect(await acceptedOfThief()).toContain(
    'this namespace cannot use it until a year after its end; import the SHA-256',
  );
  await settle('one');
  expect((await ask()).status).toBe(401);
}, 60_000);

test('it is still 401 under new operators that read only the cluster', async () => {
  const { operators, startOperator } = installation();
  await Promise.all(
    operators.map(async ({ process }) => {
      process.signal('SIGKILL');
      await process.exit;
    }),
  );
  await startOperator();
  await settle('two');
  expect((await ask()).status).toBe(401);
}, 60_000);

test('applied again by its own tenant, also under another name, it is 200', async () => {
  const { apply } = installation();
  await apply(ownKey);
  await answersFrom('model-of-team-b');
  await remove('bot');
  await isRefused();
  await apply(issuedApiKey('team-b', 'renamed', { imports: [{ sha256 }] }));
  await answersFrom('model-of-team-b');
  expect(await acceptedOfThief()).toContain('DigestConflict');
}, 60_000);

test('restored from a backup it works for its own tenant: with another UID and no status, though team-a asked first', async () => {
  const { apply, awaitCondition, plane } = installation();
  const text = await plane.mustKubectl(['get', 'apikey/renamed', '-n', 'team-b', '-o', 'json']);
  const { apiVersion, kind, metadata, spec } = JSON.parse(text) as Record<string, object>;
  await remove('renamed');
  await isRefused();
  await settle('three');
  expect((await ask()).status).toBe(401);
  const { labels, annotations } = (metadata ?? {}) as { labels?: object; annotations?: object };
  await apply({
    apiVersion,
    kind,
    metadata: { name: 'renamed', namespace: 'team-b', labels, annotations },
    spec,
  });
  await awaitCondition('apikey/renamed', 'Programmed', 'team-b');
  expect(await ask()).toEqual({ status: 200, model: 'model-of-team-b' });
}, 60_000);

test('released by the platform with an annotation, which acts once, it works for the other tenant', async () => {
  const { plane } = installation();
  await remove('renamed');
  await isRefused();
  await plane.mustKubectl(['annotate', ...pointer, `penstock.dev/release-key=${sha256}`]);
  await answersFrom('model-of-team-a');
  await until(async () => {
    const annotations = await plane.mustKubectl([
      'get',
      ...pointer,
      '-o',
      'jsonpath={.metadata.annotations}',
    ]);
    return !annotations.includes('release-key');
  });
}, 60_000);
