// What does Helm make of the chart? Its objects for some values, or what it says against them.

import { join } from 'node:path';
import { beforeAll } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import type { Programs } from '../cluster/programs.ts';
import { type Ran, run } from '../cluster/run.ts';
import { clusterWaitMs, sharedCluster } from '../cluster/shared.ts';
import { bareEnvironment } from '../support/bare-environment.ts';

export const CHART = join(import.meta.dirname, '../../charts/penstock');
export const CRDS_CHART = join(import.meta.dirname, '../../charts/penstock-crds');
export const RELEASE_NAMESPACE = 'penstock-system';

/** What Helm works on: a control plane alone, or a cluster with nodes. */
export interface HelmTarget {
  readonly programs: Pick<Programs, 'helm'>;
  readonly adminKubeconfig: string;
  /** Helm keeps its files there. */
  readonly folder: string;
}

/** For tests that render and apply nothing: Helm, and no API server. */
export function useHelm(): () => HelmTarget {
  let target: HelmTarget | undefined;
  beforeAll(async () => {
    const { programs, folder } = await sharedCluster();
    target = { programs, folder, adminKubeconfig: '' };
  }, clusterWaitMs);
  return () => {
    if (target === undefined) throw new Error('Helm is there only while tests and hooks run');
    return target;
  };
}

export type Values = Readonly<Record<string, unknown>>;

/** The members of rendered objects that tests look at. */
const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
export type Rendered = z.infer<typeof objectSchema>;

/** A failing command is a result. Values, where the command takes some, go in as JSON, on standard input. */
export function helm(
  plane: HelmTarget,
  args: readonly string[],
  values?: Values,
  program: string = plane.programs.helm,
): Promise<Ran> {
  return run(program, values === undefined ? args : [...args, '--values', '-'], {
    ...(values === undefined ? {} : { stdin: JSON.stringify(values) }),
    // It has a limit of its own, of 5 minutes, and says what it waited for.
    timeoutMs: 330_000,
    env: {
      ...bareEnvironment(),
      // Most of its commands are over before there is anything worth collecting.
      GOGC: '400',
      KUBECONFIG: plane.adminKubeconfig,
      HELM_CACHE_HOME: join(plane.folder, 'helm/cache'),
      HELM_CONFIG_HOME: join(plane.folder, 'helm/config'),
      HELM_DATA_HOME: join(plane.folder, 'helm/data'),
    },
  });
}

/** @throws with what Helm said where it fails. */
export async function mustHelm(plane: HelmTarget, args: readonly string[], values?: Values): Promise<string> {
  const { code, stdout, stderr } = await helm(plane, args, values);
  if (code !== 0) throw new Error(`helm ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}

export interface RenderOptions {
  readonly release?: string;
  readonly kubeVersion?: string;
  /** Its folder; default: the chart penstock. */
  readonly chart?: string;
}

const templated = new Map<string, Promise<Ran>>();

/** The same values give the same text, whatever the cluster: asked for again, it is the text from before. */
export function template(plane: HelmTarget, values: Values = {}, options: RenderOptions = {}): Promise<Ran> {
  const { release = 'penstock', kubeVersion = '1.36.3', chart = CHART } = options;
  const where = ['--namespace', RELEASE_NAMESPACE, '--kube-version', kubeVersion];
  const key = JSON.stringify([release, kubeVersion, chart, values]);
  const text = templated.get(key) ?? helm(plane, ['template', release, chart, ...where], values);
  templated.set(key, text);
  return text;
}

/** @throws with what Helm said where it renders nothing. */
export async function render(
  plane: HelmTarget,
  values: Values = {},
  chart: string = CHART,
): Promise<Rendered[]> {
  const { code, stdout, stderr } = await template(plane, values, { chart });
  if (code !== 0) throw new Error(stderr);
  return parseRendered(stdout);
}

/** What each document holds, as JSON: most are the same whatever the values, and YAML takes long to read. */
const parsed = new Map<string, string>();

export function parseRendered(text: string): Rendered[] {
  const objects = text.split(/^---$/m).map((document): unknown => {
    const json = parsed.get(document) ?? JSON.stringify(parseYaml(document) ?? null);
    parsed.set(document, json);
    return JSON.parse(json);
  });
  return z.array(objectSchema).parse(objects.filter((object) => object !== null));
}

const deploymentSchema = z.object({
  spec: z.looseObject({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({
        labels: z.record(z.string(), z.string()),
        annotations: z.record(z.string(), z.string()).optional(),
      }),
      spec: z.looseObject({
        serviceAccountName: z.string(),
        // Others may stand beside the first.
        containers: z.tuple(
          [
            z.looseObject({
              image: z.string(),
              command: z.array(z.string()),
              env: z.array(
                z.object({
                  name: z.string(),
                  value: z.string().optional(),
                  // Out of the pod, or out of a Secret.
                  valueFrom: z
                    .object({
                      fieldRef: z.object({ fieldPath: z.string() }).optional(),
                      secretKeyRef: z.object({ name: z.string(), key: z.string() }).optional(),
                    })
                    .optional(),
                }),
              ),
              ports: z.array(z.object({ name: z.string(), containerPort: z.int() })),
            }),
          ],
          z.unknown(),
        ),
      }),
    }),
  }),
});

export type Deployment = z.infer<typeof deploymentSchema>['spec'] & {
  /** Of its container. */
  readonly env: Readonly<Record<string, string>>;
  /** With what a node adds. */
  readonly environment: Readonly<Record<string, string>>;
};

export function deploymentOf(objects: readonly Rendered[], name: string): Deployment {
  const found = objects.find((object) => object.kind === 'Deployment' && object.metadata.name === name);
  const { spec } = deploymentSchema.parse(found);
  const fields: Record<string, string> = { 'metadata.name': `${name}-7d9f8-x2x4z` };
  const secretValues: Record<string, string> = {
    'ledger-postgres': 'postgres://penstock:word@postgres.example/ledger',
    billing: 'word',
  };
  const [container] = spec.template.spec.containers;
  const env: Readonly<Record<string, string>> = Object.fromEntries(
    container.env.map(({ name, value, valueFrom }) => [
      name,
      value ??
        fields[valueFrom?.fieldRef?.fieldPath ?? ''] ??
        secretValues[valueFrom?.secretKeyRef?.name ?? ''] ??
        given(valueFrom?.secretKeyRef),
    ]),
  );
  /** Where no test has the Secret, its value is its name. */
  function given(from: { readonly name: string; readonly key: string } | undefined): string {
    return from === undefined ? '' : `${from.name}/${from.key}`;
  }
  const injected = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  return { ...spec, env, environment: { ...injected, ...env } };
}
