// What do callers notice when nodes are emptied, cut off, and when every process of the cluster dies once?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { RELEASE_NAMESPACE } from '../../charts/helm.ts';
import type { LoadFigures } from '../../support/load/figures.ts';
import { type OwnedCluster, openLoadedRelease, startLoad } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { awaitState, inRelease } from './release.ts';
import { stopwatch } from './stopwatch.ts';
import { watchValue } from './watch.ts';

let cluster: OwnedCluster;
let key: string;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  key = await openLoadedRelease(cluster);
});
afterAll(() => cluster?.stop());

test('each node is drained in turn: the disruption budget holds, no request fails and no stream is cut', async () => {
  for (const node of cluster.nodeNames) {
    const load = await startLoad(cluster, `drain-${node}`, { key });
    const since = stopwatch();
    // As the disruption budget counts them.
    const available = await watchValue(
      cluster,
      `budget-${node}`,
      ['pdb', 'penstock-gateway', ...inRelease],
      '.status.currentHealthy',
    );
    await cluster.mustKubectl(
      ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=5m'],
      { timeoutMs: 310_000 },
    );
    const drainedS = since();
    await cluster.mustKubectl(['uncordon', node]);
    await settled();
    const fewest = Math.min(...(await available.values()).map(Number));
    await available.end();
    const figures = await load.stop();
    tell(`${node} drained in ${drainedS} s, never fewer than ${fewest} gateways available`, figures);
    expect(fewest).toBeGreaterThanOrEqual(2);
    expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
  }
});

test('a node is cut off for 60 s: after its detection no request fails and no stream is cut, and it recovers without action', async () => {
  const [, node = ''] = cluster.nodeNames;
  await spread();
  const { cutOff, reconnect } = cluster.machine;
  const during = await startLoad(cluster, 'cut-off', { key });
  await cutOff(node);
  const since = stopwatch();
  await awaitState(cluster, `node/${node}`, 'condition=Ready=Unknown', 40);
  say(`${node} cut off: known after ${since()} s`);
  await endpointsOf(node, 0);
  const outMs = Date.now();
  say(`${node} cut off: out of the Service after ${since()} s`);
  const after = await startLoad(cluster, 'behind-cut-off', { key });
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 60 - since()) * 1_000));
  await reconnect(node);
  const back = stopwatch();
  await awaitState(cluster, `node/${node}`, 'condition=Ready', 60);
  await settled();
  say(`${node} reconnected: all ready after ${back()} s`);
  const [begunBefore, begunAfter] = await Promise.all([during.stop(), after.stop()]);
  tell('begun before the node was cut off', begunBefore);
  tell('begun when that was known', begunAfter);
  expect(begunAfter).toMatchObject({ failed: 0, cut: 0, reasons: [] });
  // Until it is known, a third or two of all connections lead to gateways that nobody reaches, and their streams stand still.
  // Afterwards only connections from before can lead there, and clients keep those idle for 5 s at most.
  expect(begunBefore.lastFailedBeganMs).toBeLessThan(outMs + 6_000);
  expect(begunBefore.cut).toBeLessThan(100);
});

test('every process except the gateways is killed once: no request fails and no stream is cut', async () => {
  const { servers, kubelet, containerd, proxy, killPod } = cluster.machine;
  const load = await startLoad(cluster, 'kills', { key });
  const all = [
    ...Object.values(servers),
    ...cluster.nodeNames.flatMap((node) => [kubelet(node), containerd(node), proxy(node)]),
  ];
  for (const server of all) {
    const since = stopwatch();
    await server.kill();
    await server.start();
    say(`${server.name} was killed and serves again after ${since()} s`);
  }
  for (const pod of await podNames('operator')) await killPod(RELEASE_NAMESPACE, pod);
  for (const pod of await dnsPods()) await killPod('kube-system', pod);
  await settled();
  await changeArrives('after-kills');
  const figures = await load.stop();
  tell('all but gateways killed', figures);
  expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

test('each killed gateway loses its own requests in flight, and nothing else', async () => {
  for (const pod of await podNames('gateway')) {
    const load = await startLoad(cluster, `killed-${pod}`, { key });
    const since = stopwatch();
    await cluster.machine.killPod(RELEASE_NAMESPACE, pod);
    await awaitState(cluster, `pod/${pod}`, 'jsonpath={.status.containerStatuses[0].restartCount}=1', 60);
    await settled();
    say(`${pod} was killed and is ready again after ${since()} s`);
    const figures = await load.stop();
    tell('one gateway of three killed', figures);
    // It had a third of the streams, or some more.
    expect(figures.cut).toBeLessThan(70);
    expect(figures.failed).toBeLessThan(figures.requests / 20);
  }
  const quiet = await startLoad(cluster, 'gateways-back', { key, streams: 10 });
  expect(await quiet.stop()).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

test('the API server is down for 5 minutes: no request fails, no stream is cut, and changes arrive after its return', async () => {
  const { apiserver } = cluster.machine.servers;
  const load = await startLoad(cluster, 'api-server', { key });
  await apiserver.kill();
  await new Promise((resolve) => setTimeout(resolve, 300_000));
  await apiserver.start();
  const since = stopwatch();
  await changeArrives('after-outage');
  say(`a change arrives ${since()} s after the API server is back`);
  const figures = await load.stop();
  tell('API server down for 5 minutes', figures);
  expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

function tell(what: string, figures: LoadFigures): void {
  say(`${what}: ${JSON.stringify(figures)}`);
}

/** All pods of the release are there and ready, and none is terminating. */
async function settled(): Promise<void> {
  for (const name of ['gateway', 'operator'])
    await cluster.mustKubectl(
      ['rollout', 'status', `deployment/penstock-${name}`, ...inRelease, '--timeout=120s'],
      { timeoutMs: 130_000 },
    );
}

/** After drains all pods may be on one node; after a rollout they are on both. */
async function spread(): Promise<void> {
  await cluster.mustKubectl(['rollout', 'restart', 'deployment', ...inRelease]);
  await settled();
  for (const component of ['gateway', 'operator'])
    expect(new Set(await fieldOfPods(component, '.spec.nodeName')).size).toBe(2);
}

function podNames(component: string): Promise<string[]> {
  return fieldOfPods(component, '.metadata.name');
}

function dnsPods(): Promise<string[]> {
  return fieldsOf(['-n', 'kube-system', '-l', 'k8s-app=coredns'], '.metadata.name');
}

function fieldOfPods(component: string, field: string): Promise<string[]> {
  return fieldsOf([...inRelease, '-l', `app.kubernetes.io/component=${component}`], field);
}

/** Of those pods that run and stay. */
async function fieldsOf(which: readonly string[], field: string): Promise<string[]> {
  const values = await cluster.mustKubectl([
    ...['get', 'pods', ...which],
    ...['--field-selector=status.phase=Running', '-o'],
    `go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{${field}}} {{end}}{{end}}`,
  ]);
  return values.trim().split(' ');
}

async function endpointsOf(node: string, count: number): Promise<void> {
  const ready = `{{range .items}}{{range .endpoints}}{{if .conditions.ready}}{{.nodeName}} {{end}}{{end}}{{end}}`;
  await expect
    .poll(
      async () => {
        const nodes = await cluster.mustKubectl([
          ...['get', 'endpointslices', ...inRelease, '-l', 'kubernetes.io/service-name=penstock-gateway'],
          ...['-o', `go-template=${ready}`],
        ]);
        return nodes.split(' ').filter((name) => name === node).length;
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(count);
}

/** A new key is honoured by all gateways. */
async function changeArrives(name: string): Promise<void> {
  const apiKey = {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name, namespace: 'load' },
    spec: {},
  };
  await cluster.mustKubectl(['apply', '-f', '-'], { stdin: JSON.stringify(apiKey) });
  await awaitState(cluster, `apikey/${name}`, 'condition=Programmed', 90, ['-n', 'load']);
}
