// How is the chart installed on nodes, as a platform team would, and how do callers of its demo come to an answer?

import { z } from 'zod';
import { CHART, mustHelm, RELEASE_NAMESPACE, type Values } from '../../charts/helm.ts';
import type { NodeCluster } from '../../cluster/nodes/cluster.ts';

export const gatewayService = { namespace: RELEASE_NAMESPACE, service: 'penstock-gateway', port: 80 };
export const demoNamespace = 'penstock-demo';

/** Labels of a namespace whose pods must keep to what the chart promises. */
export const restrictedNamespace = { 'pod-security.kubernetes.io/enforce': 'restricted' };

/** Settled when Helm says that all of it is there and ready. */
export async function installChart(cluster: NodeCluster, values: Values): Promise<void> {
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: RELEASE_NAMESPACE, labels: restrictedNamespace },
  };
  await cluster.mustKubectl(['apply', '-f', '-'], { stdin: JSON.stringify(namespace) });
  await mustHelm(cluster, ['install', 'penstock', CHART, ...inRelease, '--wait', '--timeout', '3m'], {
    ...withoutVolume,
    ...values,
  });
}

/** Requests that many of them fit beside each other on small nodes; the limits are the chart's. */
export const smallPods = {
  resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '768Mi' } },
};

/** These clusters have no StorageClass: a claim would wait for ever. */
export const withoutVolume = { ledger: { ...smallPods, persistence: { enabled: false } } };

export const inRelease = ['-n', RELEASE_NAMESPACE];

/** The key that the demo's ApiKey was given, once all gateways honour it. */
export async function demoKey(cluster: NodeCluster): Promise<string> {
  const inDemo = ['-n', demoNamespace];
  await cluster.mustKubectl(
    ['wait', 'apikey/demo', ...inDemo, '--for=condition=Programmed', '--timeout=60s'],
    {
      timeoutMs: 70_000,
    },
  );
  const secret = await cluster.mustKubectl(['get', 'secret', 'demo-key', ...inDemo, '-o', 'json']);
  const { data } = z.object({ data: z.object({ apiKey: z.string() }) }).parse(JSON.parse(secret));
  return Buffer.from(data.apiKey, 'base64').toString();
}

/** `what` of the release, or of the namespace that is named. `state`: as `kubectl wait --for` takes it. */
export async function awaitState(
  cluster: NodeCluster,
  what: string,
  state: string,
  seconds: number,
  where: readonly string[] = inRelease,
): Promise<void> {
  await cluster.mustKubectl(['wait', what, ...where, `--for=${state}`, `--timeout=${seconds}s`], {
    timeoutMs: (seconds + 10) * 1_000,
  });
}

/** As `remainsOf` names the kinds, which stay. */
export const ourKinds = [
  'apiservice.apiregistration.k8s.io/v1alpha1.penstock.dev',
  ...['apikeys', 'modelroutes', 'providers', 'tenantpolicies'].map(
    (kind) => `customresourcedefinition.apiextensions.k8s.io/${kind}.penstock.dev`,
  ),
];

/** All that carries our name, of every kind there is. */
export async function remainsOf(cluster: NodeCluster): Promise<string[]> {
  const kinds = await cluster.mustKubectl(['api-resources', '--verbs=list', '-o', 'name']);
  // Events tell what was; the metrics of pods that are gone are kept for a while.
  const asked = kinds
    .trim()
    .split('\n')
    .filter((kind) => !/^(events|componentstatuses|pods\.metrics|nodes\.metrics)/.test(kind));
  const names = await cluster.mustKubectl(['get', asked.join(','), '-A', '-o', 'name']);
  return [...new Set(names.split('\n').filter((name) => name.includes('penstock')))].sort();
}
