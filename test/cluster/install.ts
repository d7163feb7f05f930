// How do our kinds and our chart come onto a control plane? As a user would bring them: kubectl and helm.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { isNotFound } from '../../core/kube/client.ts';
import { parseRendered } from '../charts/helm.ts';
import { until } from '../support/until.ts';
import type { ControlPlane } from './control-plane.ts';
import { writeKubeconfig } from './identities.ts';
import { apply } from './objects.ts';
import { run } from './run.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const renderedSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
/** One object of a rendered chart. */
export type RenderedObject = z.infer<typeof renderedSchema>;

export interface ChartOptions {
  readonly release: string;
  /** Made when it is missing. */
  readonly namespace: string;
  /** As a values file would hold them. */
  readonly values?: unknown;
  /** Its folder; default: the one of this checkout. */
  readonly chart?: string | undefined;
}

/** Applies crds/*.yaml and waits until they are served. */
export async function installCrds(plane: ControlPlane): Promise<void> {
  await plane.mustKubectl(['apply', '--server-side', `--filename=${join(root, 'crds')}`]);
  await awaitCrds(plane);
}

/** Until the server serves our kinds, and the controllers have learnt of them. */
async function awaitCrds(plane: ControlPlane): Promise<void> {
  for (const plural of ['providers', 'modelroutes', 'apikeys'])
    await until(() => isServed(plane, `/apis/penstock.dev/v1alpha1/${plural}`));
  await plane.restartControllers();
}

async function isServed({ client }: ControlPlane, path: string): Promise<boolean> {
  try {
    await client.call({ method: 'GET', path, query: { limit: 1 } });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** `helm template`, with the values on standard input. @throws with what helm said. */
export async function renderChart(plane: ControlPlane, options: ChartOptions): Promise<RenderedObject[]> {
  const { code, stdout, stderr } = await run(
    plane.programs.helm,
    [
      ...['template', options.release, options.chart ?? join(root, 'charts', 'penstock')],
      // As `helm install` would ask the server for it.
      ...[`--namespace=${options.namespace}`, '--values=-', `--kube-version=${await versionOf(plane)}`],
    ],
    { stdin: JSON.stringify(options.values ?? {}) },
  );
  if (code !== 0) throw new Error(`helm template failed: ${stderr}`);
  return (
    parseRendered(stdout)
      .map((object) => renderedSchema.parse(object))
      // Hooks are Helm's to run: the Pod of `helm test` is no part of an installation.
      .filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined)
  );
}

async function versionOf(plane: ControlPlane): Promise<string> {
  const answer = await plane.client.call({ method: 'GET', path: '/version' });
  return z.object({ gitVersion: z.string() }).parse(answer).gitVersion;
}

/** Renders the chart and applies all of it. Gives what was rendered: callers read the Deployments' environment there. */
export async function applyChart(plane: ControlPlane, options: ChartOptions): Promise<RenderedObject[]> {
  const objects = await renderChart(plane, options);
  await apply(plane.client, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: options.namespace },
  });
  // A namespace given as a flag would refuse the objects that stand in another one.
  const kubeconfig = await writeKubeconfig(
    plane,
    `admin-in-${options.namespace}`,
    plane.adminToken,
    options.namespace,
  );
  await plane.mustKubectl(['apply', '--server-side', '--filename=-'], {
    stdin: objects.map((object) => JSON.stringify(object)).join('\n---\n'),
    kubeconfig,
  });
  if (objects.some(({ kind }) => kind === 'CustomResourceDefinition')) await awaitCrds(plane);
  return objects;
}
