// Can the storage of the ledger be changed by `helm upgrade`, and does its claim stay through all of it? From a chart whose StatefulSet
// made the claim, and back to it.

import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from '../architecture/project.ts';
import { CHART, helm, mustHelm, RELEASE_NAMESPACE, type Values } from '../charts/helm.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { run } from '../cluster/run.ts';

/** The last commit whose chart has the ledger as a StatefulSet. */
const previousCommit = 'a0b3b862';
const where = ['-n', RELEASE_NAMESPACE];
const claimName = 'data-penstock-ledger-0';

const plane = useControlPlane();
let previousChart: string;

beforeAll(async () => {
  const folder = join(plane().folder, 'previous-chart');
  const packed = await run('sh', [
    '-c',
    `mkdir ${folder} && git -C ${root} archive ${previousCommit} charts/penstock | tar -x -C ${folder}`,
  ]);
  expect([packed.code, packed.stderr]).toEqual([0, '']);
  previousChart = join(folder, 'charts/penstock');
});

const claimSchema = z.object({
  metadata: z.looseObject({ uid: z.string(), deletionTimestamp: z.string().optional() }),
  spec: z.looseObject({ resources: z.object({ requests: z.object({ storage: z.string() }) }) }),
});
const setSchema = z.object({
  spec: z.object({
    volumeClaimTemplates: z.tuple([z.looseObject({ metadata: z.looseObject({}), spec: z.looseObject({}) })]),
  }),
});

async function get(kind: string, name: string): Promise<unknown> {
  return JSON.parse(await plane().mustKubectl(['get', kind, name, ...where, '-o', 'json']));
}

async function claim() {
  const { metadata, spec } = claimSchema.parse(await get('pvc', claimName));
  return {
    uid: metadata.uid,
    isGoing: metadata.deletionTimestamp !== undefined,
    size: spec.resources.requests.storage,
  };
}

/** `kind/name` of what runs the ledger, and the claim that its pods mount. */
async function workload(): Promise<{ readonly names: string; readonly mounts: string }> {
  const selector = ['-l', 'app.kubernetes.io/component=ledger'];
  const names = await plane().mustKubectl(['get', 'deployment,sts', ...where, ...selector, '-o', 'name']);
  const path = '{.items[*].spec.template.spec.volumes[*].persistentVolumeClaim.claimName}';
  const mounts = await plane().mustKubectl([
    'get',
    'deployment,sts',
    ...where,
    ...selector,
    '-o',
    `jsonpath=${path}`,
  ]);
  return { names: names.trim(), mounts };
}

const upgrade = (values: Values) =>
  helm(plane(), ['upgrade', 'penstock', CHART, ...where, '--reset-values', '--no-hooks'], values);
async function mustUpgrade(values: Values): Promise<void> {
  const { code, stderr } = await upgrade(values);
  expect([code, stderr]).toEqual([0, '']);
}

/** As the controller of StatefulSets and the binder of volumes would, which do not run here. */
async function makeClaim(): Promise<void> {
  const [{ metadata, spec }] = setSchema.parse(await get('statefulset', 'penstock-ledger')).spec
    .volumeClaimTemplates;
  const storage = '10Gi';
  const objects = [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'grows' },
      provisioner: 'test.penstock.dev/none',
      allowVolumeExpansion: true,
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'ledger' },
      spec: {
        capacity: { storage },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'grows',
        hostPath: { path: '/nowhere' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...metadata, name: claimName, namespace: RELEASE_NAMESPACE },
      spec: { ...spec, storageClassName: 'grows', volumeName: 'ledger' },
    },
  ];
  for (const object of objects)
    await plane().mustKubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) });
  const bound = { status: { phase: 'Bound', capacity: { storage }, accessModes: ['ReadWriteOnce'] } };
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify(bound)];
  await plane().mustKubectl(['patch', 'pvc', claimName, ...where, ...patch]);
}

test('an upgrade from a StatefulSet keeps its claim, each value changes, and a rollback finds the claim again', async () => {
  await mustHelm(plane(), ['install', 'penstock', previousChart, ...where, '--create-namespace'], {});
  await makeClaim();
  const { uid } = await claim();
  const stays = async (size = '10Gi') => expect(await claim()).toEqual({ uid, isGoing: false, size });
  const isDeployment = async (mounts: string) =>
    expect(await workload()).toEqual({ names: 'deployment.apps/penstock-ledger', mounts });

  await mustUpgrade({});
  await isDeployment(claimName);
  await stays();

  await mustUpgrade({ ledger: { persistence: { enabled: false } } });
  await isDeployment('');
  await mustUpgrade({ ledger: { postgres: { secretName: 'pg' } } });
  await isDeployment('');
  await stays();
  await mustUpgrade({});
  await isDeployment(claimName);

  // Not Helm's: the error holds the command, which is run as it is.
  const refused = await upgrade({ ledger: { persistence: { size: '20Gi' } } });
  const [, command = ''] = /Hand it over, and upgrade again: (.*)$/m.exec(refused.stderr) ?? [];
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`the claim ${claimName} has 10Gi`),
  ]);
  for (const one of command.split(' && ')) {
    const [kubectl, ...words] = one.split(' ');
    expect(kubectl).toBe('kubectl');
    await plane().mustKubectl(words);
  }
  await mustUpgrade({ ledger: { persistence: { size: '20Gi' } } });
  await stays('20Gi');
  await isDeployment(claimName);
  await mustUpgrade({ ledger: { postgres: { secretName: 'pg' } } });
  await stays('20Gi');

  await mustHelm(plane(), ['rollback', 'penstock', '1', ...where]);
  expect((await workload()).names).toBe('statefulset.apps/penstock-ledger');
  await stays('20Gi');
  await mustUpgrade({ ledger: { persistence: { size: '20Gi' } } });
  await isDeployment(claimName);
  await mustHelm(plane(), ['uninstall', 'penstock', ...where]);
  await plane().mustKubectl(['wait', '--for=delete', 'namespace/penstock-tables', '--timeout=60s']);
  await stays('20Gi');
  await mustHelm(plane(), ['install', 'penstock', CHART, ...where, '--no-hooks'], {
    ledger: { persistence: { size: '20Gi' } },
  });
  await isDeployment(claimName);
  await stays('20Gi');
});
