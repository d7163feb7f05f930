// How is load put on a release, and what came of it? A provider beside the control plane, where no drained node takes it away; a
// Provider, two models and a key of a team; and callers in the cluster's network.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { untilReady } from '../../cluster/child.ts';
import type { Machine, NodeCluster } from '../../cluster/nodes/cluster.ts';
import { planeAddress } from '../../cluster/nodes/network.ts';
import { type LoadFigures, type LoadPlan, loadFiguresSchema } from '../../support/load/figures.ts';
import { gatewayService, installChart, smallPods } from './release.ts';

const team = 'load';
const providerPort = 9_100;

/** To be merged into the chart's values: gateways may reach the provider. */
export const loadEgress = { allow: [{ cidr: `${planeAddress}/32`, namespaces: [team] }] };

/**
 * Arguments of `nice`, before a command: neither callers nor provider must be what is slow. Where the kernel shares the cores out
 * to sessions first, it takes one of its own that comes before others.
 */
const foremost = [
  ...['-n', '-10', 'setsid', 'sh', '-c'],
  ...['{ echo -10 >/proc/self/autogroup; } 2>/dev/null; exec "$@"', 'sh'],
];

export type OwnedCluster = NodeCluster & { readonly machine: Machine };

/**
 * The chart with three gateways, and the team of `openTeam`.
 *
 * @returns the team's key.
 */
export async function openLoadedRelease(cluster: OwnedCluster): Promise<string> {
  await installChart(cluster, {
    egress: loadEgress,
    operator: smallPods,
    gateway: { ...smallPods, replicas: 3 },
  });
  return openTeam(cluster);
}

/**
 * The models `quick`, that answers at once, `slow`, whose streams take 20 s, and `thoughtful`, which says nothing for 28 s.
 *
 * @returns the team's key.
 */
export async function openTeam(cluster: OwnedCluster): Promise<string> {
  const log = join(cluster.folder, 'provider.log');
  const script = join(import.meta.dirname, '../../../simulator/main.ts');
  const provider = await cluster.machine.start(
    'nice',
    [...foremost, 'env', 'HOST=0.0.0.0', `PORT=${providerPort}`, process.execPath, script],
    log,
  );
  await untilReady('the provider', provider, log, async () =>
    (await readFile(log, 'utf8')).includes('listening'),
  );
  await cluster.mustKubectl(['apply', '--server-side', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: teamObjects }),
  });
  await cluster.mustKubectl(
    ['wait', 'apikeys,modelroutes', '--all', '-n', team, '--for=condition=Programmed', '--timeout=60s'],
    { timeoutMs: 70_000 },
  );
  const secret = await cluster.mustKubectl(['get', 'secret', 'load-key', '-n', team, '-o', 'json']);
  const { data } = z.object({ data: z.object({ apiKey: z.string() }) }).parse(JSON.parse(secret));
  return Buffer.from(data.apiKey, 'base64').toString();
}

export interface Load {
  /** Settled when all that had begun has come to its end. */
  stop(): Promise<LoadFigures>;
}

/** Settled when all streams are open. Default: 100 requests a second and 100 streams. */
export async function startLoad(
  cluster: OwnedCluster,
  name: string,
  plan: Partial<LoadPlan> & Pick<LoadPlan, 'key'>,
): Promise<Load> {
  const log = join(cluster.folder, `load-${name}.log`);
  const planFile = join(cluster.folder, `load-${name}.json`);
  const { namespace, service } = gatewayService;
  const get = ['get', 'service', service, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'];
  const whole: LoadPlan = {
    // By address: what is looked at is the gateways, not how names are looked up.
    urls: [`http://${await cluster.mustKubectl(get)}`],
    requestsPerSecond: 100,
    streams: 100,
    models: { request: 'quick', stream: 'slow' },
    ...plan,
  };
  await writeFile(planFile, JSON.stringify(whole), { mode: 0o600 });
  const script = join(import.meta.dirname, '../../support/load/callers.ts');
  const callers = await cluster.machine.start('nice', [...foremost, process.execPath, script, planFile], log);
  if (whole.streams > 0)
    await untilReady('the load', callers, log, async () =>
      (await readFile(log, 'utf8')).includes('all streams are open'),
    );
  return {
    async stop() {
      callers.signal('SIGTERM');
      await callers.exit;
      const last = (await readFile(log, 'utf8')).trimEnd().split('\n').at(-1) ?? '';
      return loadFiguresSchema.parse(JSON.parse(last));
    },
  };
}

const route = (model: string, upstreamModel: string) => ({
  apiVersion: 'penstock.dev/v1alpha1',
  kind: 'ModelRoute',
  metadata: { name: model, namespace: team },
  spec: {
    model,
    pricing: { inputPerMillion: '0', outputPerMillion: '0' },
    targets: [{ name: 'only', providerRef: { name: 'outside' }, upstreamModel }],
  },
});

const teamObjects: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: team } },
  {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: { name: 'outside', namespace: team },
    spec: {
      type: 'OpenAICompatible',
      baseURL: `http://${planeAddress}:${providerPort}/v1`,
      apis: ['ChatCompletions'],
      auth: { type: 'None' },
    },
  },
  route('quick', 'demo+tokens=3'),
  route('slow', 'demo+pace=400+tokens=50'),
  route('thoughtful', 'demo+first=28000+tokens=3'),
  {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name: 'load', namespace: team },
    spec: {},
  },
];
