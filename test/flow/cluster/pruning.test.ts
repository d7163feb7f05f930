// Does a Provider go together with its ModelRoute, as each tool deletes them? The admission policy refuses a Provider in use by its status,
// which a running operator writes. The tools themselves do not run: their deletions are sent in their order, with their options.
//
// Argo CD (gitops-engine, sync_context.go): prunes a wave at once, in the foreground, waves from the last to the first. Flux (fluxcd/pkg,
// ssa/manager_delete.go): prunes one after the other, kinds in the reverse of the alphabet, and goes on after a refusal. Both come again.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isNotFound, KubeError } from '../../../core/kube/client.ts';
import { isRecord } from '../../../core/kube/object.ts';
import { apply, readObject } from '../../../core/kube/patch.ts';
import { helm, mustHelm } from '../../charts/helm.ts';
import { until } from '../../support/until.ts';
import { useInstallation } from './installation.ts';
import { modelRoute, provider } from './manifests.ts';

const installation = useInstallation({
  operators: 1,
  gateways: 1,
  namespaces: ['team-a'],
  // A deletion in the foreground ends by the garbage collector.
  plane: { hasControllers: true },
});

type Plural = 'providers' | 'modelroutes';
type Propagation = 'Foreground' | 'Background';
const refusal =
  /is used by 1 ModelRoute\. Remove it from spec\.targets of these ModelRoutes first, or allow this: kubectl annotate/;

const pathOf = (plural: Plural, name: string) =>
  `/apis/penstock.dev/v1alpha1/namespaces/team-a/${plural}/${name}`;

const pairOf = (name: string, annotations: object = {}) => {
  const upstream = provider('team-a', name, 'https://models.example', name, { auth: { type: 'None' } });
  return [
    { ...upstream, metadata: { namespace: 'team-a', name, annotations } },
    modelRoute('team-a', name, [name]),
  ] as const;
};

/** Server-side applied by that manager, and counted by the operator. */
async function applied(name: string, fieldManager: string): Promise<void> {
  const { client } = installation().plane;
  const [upstream, route] = pairOf(name);
  await apply(client, pathOf('providers', name), upstream, { fieldManager });
  await apply(client, pathOf('modelroutes', name), route, { fieldManager });
  await isCounted(name);
}

async function isCounted(name: string, routes = 1): Promise<void> {
  await until(async () => {
    const { status } = await readObject(installation().plane.client, pathOf('providers', name));
    return isRecord(status) && status.attachedRoutes === routes;
  });
}

/** Undefined: the API server took it, or it had gone before. Else what it said against it. */
async function refusalOf(plural: Plural, name: string, propagationPolicy: Propagation) {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy };
  try {
    await installation().plane.client.call({ method: 'DELETE', path: pathOf(plural, name), body });
    return undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (error instanceof KubeError && error.status === 422) return error.message;
    throw error;
  }
}

async function isGone(plural: Plural, name: string): Promise<true> {
  return until(async () => {
    try {
      await readObject(installation().plane.client, pathOf(plural, name));
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  });
}

/** The tool comes again; gives what it was refused until then. */
async function comesAgain(name: string, propagation: Propagation): Promise<string[]> {
  const refusals: string[] = [];
  await until(async () => {
    const refused = await refusalOf('providers', name, propagation);
    if (refused !== undefined) refusals.push(refused);
    return refused === undefined;
  });
  await isGone('providers', name);
  return refusals;
}

test('Argo CD without waves: the ModelRoute goes, and the retry of the sync prunes the Provider', async () => {
  await applied('argo', 'argocd-controller');
  const [ofRoute, ofProvider] = await Promise.all([
    refusalOf('modelroutes', 'argo', 'Foreground'),
    refusalOf('providers', 'argo', 'Foreground'),
  ]);
  expect(ofRoute).toBeUndefined();
  if (ofProvider !== undefined) expect(ofProvider).toMatch(refusal);
  await isGone('modelroutes', 'argo');
  for (const said of await comesAgain('argo', 'Foreground')) expect(said).toMatch(refusal);
});

test('Argo CD with waves: once the status of the Provider follows, its wave is pruned without a refusal', async () => {
  await applied('waves', 'argocd-controller');
  expect(await refusalOf('modelroutes', 'waves', 'Foreground')).toBeUndefined();
  await isGone('modelroutes', 'waves');
  const goneMs = performance.now();
  await isCounted('waves', 0);
  console.log(`the status followed after ${Math.round(performance.now() - goneMs)} ms; Argo CD waits 2000`);
  expect(await refusalOf('providers', 'waves', 'Foreground')).toBeUndefined();
  await isGone('providers', 'waves');
});

test('Flux asks for the Provider first and is refused; its next reconciliation prunes it', async () => {
  await applied('flux', 'kustomize-controller');
  expect(await refusalOf('providers', 'flux', 'Background')).toMatch(refusal);
  expect(await refusalOf('modelroutes', 'flux', 'Background')).toBeUndefined();
  await isGone('modelroutes', 'flux');
  for (const said of await comesAgain('flux', 'Background')) expect(said).toMatch(refusal);
});

test('kubectl delete -f of one file, given twice, deletes both', async () => {
  const { plane } = installation();
  const stdin = pairOf('file')
    .map((object) => JSON.stringify(object))
    .join('\n---\n');
  await plane.mustKubectl(['apply', '-f', '-'], { stdin });
  await isCounted('file');
  const remove = () => plane.kubectl(['delete', '--ignore-not-found', '-f', '-'], { stdin });
  const first = await remove();
  expect(first.code).toBe(1);
  expect(first.stderr.replaceAll(/\s+/g, ' ')).toMatch(refusal);
  await isGone('modelroutes', 'file');
  await until(async () => (await remove()).code === 0);
  await isGone('providers', 'file');
});

test.each([
  ['given twice deletes both', {}],
  ['deletes both at once where the Provider is annotated', { 'penstock.dev/deletion-protection': 'false' }],
])('helm uninstall of a chart with both %s', async (_, annotations) => {
  const { plane } = installation();
  const name = Object.keys(annotations).length === 0 ? 'twice' : 'once';
  const chart = join(plane.folder, `chart-${name}`);
  await mkdir(join(chart, 'templates'), { recursive: true });
  await writeFile(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: models\nversion: 0.1.0\n');
  const objects = pairOf(name, annotations).map((object) => JSON.stringify(object));
  await writeFile(join(chart, 'templates/models.yaml'), objects.join('\n---\n'));
  await mustHelm(plane, ['install', name, chart, '-n', 'team-a']);
  await isCounted(name);
  const uninstall = () => helm(plane, ['uninstall', name, '-n', 'team-a']);
  const first = await uninstall();
  if (name === 'once') expect(first).toMatchObject({ code: 0 });
  // The status may follow between the two deletions of one run, where Helm takes long.
  else if (first.code !== 0) await until(async () => (await uninstall()).code === 0);
  await isGone('modelroutes', name);
  await isGone('providers', name);
});
