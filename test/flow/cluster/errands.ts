// What do accounts of an installation do that no process of the tests does all the time? A tenant's people look at their objects
// and change them, the Job of the demo applies what it has, and the Pod of `helm test` asks.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubeClient } from '../../../core/kube/client.ts';
import { listAll } from '../../../core/kube/list.ts';
import {
  createObject,
  deleteObject,
  mergePatch,
  readObject,
  replaceObject,
} from '../../../core/kube/patch.ts';
import { collectionPath, objectPath, type Resource } from '../../../core/kube/paths.ts';
import { openServiceAccountClient } from '../../../core/kube/service-account.ts';
import { demoObjects, policyObjects } from '../../charts/parts.ts';
import {
  serverEnvironment,
  serviceAccountToken,
  writeServiceAccountFolder,
} from '../../cluster/identities.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import { demoNamespace, type ServiceAccount } from './accounts.ts';
import { type Installation, namespace } from './installation.ts';
import { importedApiKey, modelRoute, provider } from './manifests.ts';

const applyObjects = fileURLToPath(new URL('../../../deploy/jobs/apply-objects/main.ts', import.meta.url));
const helmTest = fileURLToPath(new URL('../../../deploy/jobs/helm-test/main.ts', import.meta.url));

/** What the Job of the demo would do in its Pod. */
export async function startDemoJob(installation: Installation): Promise<RunningProcess> {
  const { plane, rendered } = installation;
  const objectsFile = join(plane.folder, 'demo-objects.json');
  await writeFile(objectsFile, JSON.stringify(demoObjects(rendered)));
  return startProcess(applyObjects, {
    env: {
      ...serverEnvironment(plane),
      PENSTOCK_OBJECTS: objectsFile,
      PENSTOCK_SERVICE_ACCOUNT_DIR: await accountFolder(installation, {
        namespace: demoNamespace,
        name: 'penstock-demo',
      }),
    },
  });
}

/** What the Job of TenantPolicies would do in its Pod; one of an earlier one, which the values no longer name, goes. */
export async function startPoliciesJob(installation: Installation): Promise<RunningProcess> {
  const { apply, plane, rendered } = installation;
  const name = 'penstock-tenant-policies';
  const labels = {
    'app.kubernetes.io/name': 'penstock',
    'app.kubernetes.io/instance': 'penstock',
    'app.kubernetes.io/component': 'tenant-policies',
  };
  await apply({
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'TenantPolicy',
    metadata: { name: 'penstock-tenant-gone', labels },
    spec: { namespaces: { names: ['gone'] } },
  });
  const objectsFile = join(plane.folder, 'policies.json');
  await writeFile(objectsFile, JSON.stringify(policyObjects(rendered)));
  return startProcess(applyObjects, {
    env: {
      ...serverEnvironment(plane),
      PENSTOCK_OBJECTS: objectsFile,
      PENSTOCK_LABELS: Object.entries(labels)
        .map(([label, value]) => `${label}=${value}`)
        .join(),
      PENSTOCK_SERVICE_ACCOUNT_DIR: await accountFolder(installation, { namespace, name }),
    },
  });
}

/** What the Pod of `helm test` would do, with a model whose provider no name leads to here. @param env beside what the chart gives. */
export async function startHelmTest(
  installation: Installation,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningProcess> {
  const { apply, gateways, plane } = installation;
  const account = { namespace, name: 'penstock-test' };
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...account },
    spec: { serviceAccountName: account.name, containers: [{ name: 'test', image: 'none' }] },
  });
  const [gateway] = gateways;
  return startProcess(helmTest, {
    env: {
      ...serverEnvironment(plane),
      PENSTOCK_SERVICE_ACCOUNT_DIR: await accountFolder(installation, account),
      PENSTOCK_BASE_URL: `${gateway?.url}/v1`,
      PENSTOCK_METRICS_URL: `${gateway?.metricsUrl}/metrics`,
      PENSTOCK_POD: `${namespace}/penstock-test`,
      PENSTOCK_KEY_SECRET: `${demoNamespace}/demo-key`,
      PENSTOCK_MODEL: 'demo',
      PENSTOCK_PATIENCE_MS: '0',
      ...env,
    },
  });
}

/** As a Pod of that account would have it; the caller closes it. */
export async function clientOf(installation: Installation, account: ServiceAccount): Promise<KubeClient> {
  return openServiceAccountClient({
    folder: await accountFolder(installation, account),
    host: '127.0.0.1',
    port: Number(new URL(installation.plane.url).port),
  });
}

/** As it is mounted into a Pod of that account. */
async function accountFolder({ plane }: Installation, account: ServiceAccount): Promise<string> {
  const token = await serviceAccountToken(plane, account.namespace, account.name);
  return writeServiceAccountFolder(plane, account.name, { token, namespace: account.namespace });
}

const ofOurGroup = { group: 'penstock.dev', version: 'v1alpha1' };
const kinds: readonly (Resource & { make(name: string): object })[] = [
  {
    ...ofOurGroup,
    plural: 'providers',
    make: (name) => provider('team-a', name, 'https://models.example', 'private'),
  },
  { ...ofOurGroup, plural: 'modelroutes', make: (name) => modelRoute('team-a', name, ['sim']) },
  { ...ofOurGroup, plural: 'apikeys', make: (name) => importedApiKey('team-a', name) },
];

/** In `team-a`, where there is one of each kind at least. */
export async function lookAtAll(client: KubeClient): Promise<void> {
  for (const kind of kinds) {
    const path = collectionPath(kind, 'team-a');
    const { items } = await listAll({ client, path });
    await readObject(client, objectPath(kind, { namespace: 'team-a', name: items[0]?.metadata.name ?? '' }));
    const watching = await client.stream({ method: 'GET', path, query: { watch: true } });
    watching.close();
  }
}

/** One of each kind made, replaced, patched and deleted; and one more, deleted with all that have its label. */
export async function changeAll(client: KubeClient): Promise<void> {
  for (const { make, ...kind } of kinds) {
    const path = collectionPath(kind, 'team-a');
    for (const name of tenantNames) await createObject(client, path, make(name));
    await changeOne(client, kind);
    await client.call({ method: 'DELETE', path, query: { labelSelector: 'made-by=tenant' } });
    await deleteObject(client, objectPath(kind, { namespace: 'team-a', name: 'of-tenant-too' }));
  }
}

/** The same, but each deleted by its name; and a Secret for them, which stays: its maker may not even see it. */
export async function changeOneByOne(client: KubeClient): Promise<void> {
  for (const { make, ...kind } of kinds) {
    for (const name of tenantNames) await createObject(client, collectionPath(kind, 'team-a'), make(name));
    await changeOne(client, kind);
    for (const name of tenantNames)
      await deleteObject(client, objectPath(kind, { namespace: 'team-a', name }));
  }
  await createObject(client, '/api/v1/namespaces/team-a/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { generateName: 'of-tenant-' },
  });
}

const tenantNames = ['of-tenant', 'of-tenant-too'];

async function changeOne(client: KubeClient, kind: Resource): Promise<void> {
  const one = objectPath(kind, { namespace: 'team-a', name: 'of-tenant' });
  await mergePatch(client, one, { metadata: { labels: { 'made-by': 'tenant' } } });
  await replaceObject(client, one, await readObject(client, one));
}
