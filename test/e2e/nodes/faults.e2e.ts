// What do callers notice when nodes are emptied, cut off, and when every process of the cluster dies once?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { RELEASE_NAMESPACE } from '../../charts/helm.ts';
import { loadEgress, type OwnedCluster, openTeam, startLoad } from './load.ts';
import type { LoadFigures } from './load-figures.ts';
import { openOwnNodes } from './own-nodes.ts';
import { inRelease, installChart, smallPods } from './release.ts';

let cluster: OwnedCluster;
let key: string;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  await installChart(cluster, {
    egress: loadEgress,
    operator: smallPods,
    gateway: { ...smallPods, replicas: 3 },
  });
  key = await openTeam(cluster);
});
afterAll(() => cluster?.stop());

test('each node is drained in turn: the budget holds, no request fails and no stream is cut', async () => {
  for (const node of cluster.nodeNames) {
    const load = await startLoad(cluster, `drain-${node}`, { key });
    const since = stopwatch();
    const watch = watchAvailable();
    await cluster.mustKubectl(
      ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=5m'],
      { timeoutMs: 310_000 },
    );
    const drainedS = since();
    const fewest = await watch.end();
    await cluster.mustKubectl(['uncordon', node]);
    await settled();
    const figures = await load.stop();
    tell(`${node} drained in ${drainedS} s, never fewer than ${fewest} gateways available`, figures);
    expect(fewest).toBeGreaterThanOrEqual(2);
    expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
  }
});

test('a node is cut off for 60 s: once that is known nobody notices, and it comes back by itself', async () => {
  const [, node = ''] = cluster.nodeNames;
  await spread();
  const { cutOff, reconnect } = cluster.machine;
  const during = await startLoad(cluster, 'cut-off', { key, streams: 0 });
  await cutOff(node);
  const since = stopwatch();
  await waitFor(`node/${node}`, 'condition=Ready=Unknown', '40s');
  say(`${node} cut off: known after ${since()} s`);
  await endpointsOf(node, 0);
  say(`${node} cut off: out of the Service after ${since()} s`);
  const after = await startLoad(cluster, 'behind-cut-off', { key });
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 60 - since()) * 1_000));
  await reconnect(node);
  const back = stopwatch();
  await waitFor(`node/${node}`, 'condition=Ready', '60s');
  await settled();
  say(`${node} reconnected: all ready after ${back()} s`);
  tell('begun before the node was cut off', await during.stop());
  const figures = await after.stop();
  tell('begun when that was known', figures);
  expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

test('every process but the gateways is killed once: no request fails and no stream is cut', async () => {
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
  await settled();
  await changeArrives('after-kills');
  const figures = await load.stop();
  tell('all but gateways killed', figures);
  expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

test('a gateway that is killed takes what it was doing with it, and nothing else', async () => {
  const [pod = ''] = await podNames('gateway');
  const load = await startLoad(cluster, 'gateway-killed', { key });
  const since = stopwatch();
  await cluster.machine.killPod(RELEASE_NAMESPACE, pod);
  await waitFor(`pod/${pod}`, 'jsonpath={.status.containerStatuses[0].restartCount}=1', '60s', inRelease);
  await settled();
  say(`${pod} was killed and is ready again after ${since()} s`);
  const figures = await load.stop();
  tell('one gateway of three killed', figures);
  // It had a third of the streams, or some more.
  expect(figures.cut).toBeLessThan(70);
  expect(figures.failed).toBeLessThan(figures.requests / 20);
  const quiet = await startLoad(cluster, 'gateway-back', { key, streams: 10 });
  expect(await quiet.stop()).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

test('the API server is down for 5 minutes: no request fails, no stream is cut, and changes arrive when it is back', async () => {
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

function stopwatch(): () => number {
  const startMs = performance.now();
  return () => Math.round((performance.now() - startMs) / 100) / 10;
}

async function waitFor(
  what: string,
  state: string,
  timeout: string,
  where: readonly string[] = [],
): Promise<void> {
  await cluster.mustKubectl(['wait', what, ...where, `--for=${state}`, `--timeout=${timeout}`], {
    timeoutMs: 120_000,
  });
}

/** All pods of the release are there and ready, and none is on its way out. */
async function settled(): Promise<void> {
  for (const name of ['gateway', 'operator'])
    await cluster.mustKubectl(
      ['rollout', 'status', `deployment/penstock-${name}`, ...inRelease, '--timeout=120s'],
      { timeoutMs: 130_000 },
    );
}

/** After drains all pods may be on one node. */
async function spread(): Promise<void> {
  await cluster.mustKubectl(['rollout', 'restart', 'deployment', ...inRelease]);
  await settled();
}

async function podNames(component: string): Promise<string[]> {
  const names = await cluster.mustKubectl([
    ...['get', 'pods', ...inRelease, '-l', `app.kubernetes.io/component=${component}`],
    ...['--field-selector=status.phase=Running', '-o'],
    'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}',
  ]);
  return names.trim().split(' ');
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

/** Samples how many gateways are available, as the disruption budget counts them. */
function watchAvailable(): { end(): Promise<number> } {
  let isOver = false;
  const sampling = (async () => {
    let fewest = Number.POSITIVE_INFINITY;
    while (!isOver) {
      const healthy = await cluster.mustKubectl([
        ...['get', 'pdb', 'penstock-gateway', ...inRelease, '-o', 'jsonpath={.status.currentHealthy}'],
      ]);
      fewest = Math.min(fewest, Number(healthy));
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    return fewest;
  })();
  return {
    end() {
      isOver = true;
      return sampling;
    },
  };
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
  await waitFor(`apikey/${name}`, 'condition=Programmed', '90s', ['-n', 'load']);
}
