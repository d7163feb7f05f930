// Is the cluster of nodes a real one, on which an installation means something? Does the chart, installed on it as a platform team
// would, answer? And is nothing left of it all afterwards?

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { Machine, NodeCluster } from '../../cluster/nodes/cluster.ts';
import type { KubernetesMinor } from '../../cluster/nodes/programs.ts';
import type { StartOptions } from '../../cluster/nodes/start.ts';
import { packPenstock } from '../nodes/image.ts';
import { stopwatch } from '../nodes/stopwatch.ts';
import { describeChart } from './chart.ts';
import { closed, manifestsOn, namespace, privilegedPodOn } from './manifests.ts';

export interface PassCluster {
  open(options: StartOptions): Promise<NodeCluster>;
  /** Whether it will be this machine's own. */
  readonly isOwn: boolean;
  /** Which Kubernetes it must be. */
  readonly kubernetes?: KubernetesMinor;
}

/** All tests of the short pass; the last of them takes the cluster down. */
export function describePass(given: PassCluster): void {
  /** What only the owner of the nodes can do has no test elsewhere. */
  const onOwnNodes: (sentence: string, body: () => Promise<void>) => void = given.isOwn ? test : () => {};

  let cluster: NodeCluster;
  let image: string;

  beforeAll(async () => {
    const since = stopwatch();
    const packing = packPenstock();
    packing.catch(() => {});
    try {
      cluster = await given.open({ hasMetrics: true, say });
      const { figures } = cluster.machine ?? {};
      if (figures)
        say(
          `control plane ready after ${figures.planeReady} ms, nodes after ${figures.nodesReady} ms, names after ${figures.dnsReady} ms`,
        );
      const { archive, reference } = await packing;
      image = reference;
      await cluster.importImage(archive);
      say(`image on all nodes after ${since()} s`);
    } finally {
      await packing.then(({ remove }) => remove());
    }
    const script = await readFile(join(import.meta.dirname, 'echo-server.mjs'), 'utf8');
    const deployed = stopwatch();
    await cluster.mustKubectl(['apply', '--server-side', '-f', '-'], {
      stdin: list(manifestsOn(image, script)),
    });
    await rolledOut();
    say(`two pods ready ${deployed()} s after they were asked for`);
  });

  afterAll(() => cluster?.stop());

  const { kubernetes } = given;
  if (kubernetes !== undefined)
    test(`API server, kubelets and kubectl are of Kubernetes ${kubernetes}`, async () => {
      const line = new RegExp(`^v${kubernetes.replace('.', '\\.')}\\.\\d+$`);
      const { clientVersion, serverVersion } = versions.parse(
        JSON.parse(await cluster.mustKubectl(['version', '-o', 'json'])),
      );
      const path = 'jsonpath={.items[*].status.nodeInfo.kubeletVersion}';
      const kubelets = (await cluster.mustKubectl(['get', 'nodes', '-o', path])).split(' ');
      say(`API server ${serverVersion.gitVersion}, kubelets ${kubelets.join(' and ')}`);
      for (const version of [clientVersion.gitVersion, serverVersion.gitVersion, ...kubelets])
        expect(version).toMatch(line);
    });

  test('two nodes are ready, and each has a pod', async () => {
    expect(cluster.nodeNames.length).toBeGreaterThanOrEqual(2);
    const where = await cluster.mustKubectl([...pods, '-o', 'jsonpath={.items[*].spec.nodeName}']);
    expect(new Set(where.split(' ')).size).toBe(2);
  });

  test('a pod reaches both pods of a Service, by its name and by its address', async () => {
    const [from] = await podNames();
    const address = await cluster.mustKubectl([
      ...get('service', 'echo'),
      '-o',
      'jsonpath={.spec.clusterIP}',
    ]);
    for (const host of ['echo', `echo.${namespace}.svc.cluster.local`, address]) {
      const answered = await inPod(
        from,
        // A connection each: it is connections that are spread.
        `const seen = new Set(); const end = Date.now() + 10_000;
         while (seen.size < 2 && Date.now() < end)
           seen.add(await (await fetch('http://${host}', { headers: { connection: 'close' } })).text());
         console.log([...seen].sort().join(' '))`,
      );
      expect(answered).toBe((await podNames()).sort().join(' '));
    }
  });

  test('the process of the tests reaches it, and the log of the pod that answered tells', async () => {
    const url = await cluster.reach({ namespace, service: 'echo', port: 80 });
    const pod = await (await fetch(`${url}/said-by-the-test`)).text();
    expect(await podNames()).toContain(pod);
    const log = await cluster.mustKubectl(['logs', pod, '-n', namespace]);
    expect(log.split('\n')).toContain('GET /said-by-the-test');
  });

  test('a pod asks the API server with the token of its account, with the rights of its role', async () => {
    const [from] = await podNames();
    const statuses = await inPod(
      from,
      `const token = require('node:fs').readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8');
       const headers = { authorization: 'Bearer ' + token };
       for (const kind of ['pods', 'secrets']) {
         const answer = await fetch('https://kubernetes.default.svc/api/v1/namespaces/${namespace}/' + kind, { headers });
         console.log(kind, answer.status);
       }`,
    );
    expect(statuses).toBe('pods 200\nsecrets 403');
  });

  test('a pod that asks for more than the restricted level is refused', async () => {
    const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify(privilegedPodOn(image)),
    });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/violates PodSecurity "restricted:latest": privileged/);
  });

  test('a NetworkPolicy closes a pod to others as long as the policy exists', async () => {
    const [from] = await podNames();
    const opens = `console.log(await fetch('http://echo', { headers: { connection: 'close' }, signal: AbortSignal.timeout(2_000) })
      .then(() => 'open', () => 'closed'))`;
    const door = () => inPod(from, opens);
    expect(await door()).toBe('open');
    await cluster.mustKubectl(['apply', '-f', '-'], { stdin: JSON.stringify(closed) });
    await expect.poll(door, { timeout: 20_000 }).toBe('closed');
    await cluster.mustKubectl(['delete', '-f', '-'], { stdin: JSON.stringify(closed) });
    await expect.poll(door, { timeout: 20_000 }).toBe('open');
  });

  test('a rollout replaces every pod', async () => {
    const before = await podNames();
    await cluster.mustKubectl(['rollout', 'restart', 'deployment/echo', '-n', namespace]);
    await rolledOut();
    const after = await podNames();
    expect(after).toHaveLength(2);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
  });

  describeChart(() => cluster, say);

  onOwnNodes('a pod whose process is killed is started again in its place', async () => {
    const { killPod, pidsOfPod } = machine();
    const [pod = ''] = await podNames();
    const [before] = await pidsOfPod(namespace, pod);
    await killPod(namespace, pod);
    await cluster.mustKubectl([
      'wait',
      `pod/${pod}`,
      ...['-n', namespace, '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', '--timeout=30s'],
    ]);
    await cluster.mustKubectl([
      'wait',
      `pod/${pod}`,
      '-n',
      namespace,
      '--for=condition=Ready',
      '--timeout=30s',
    ]);
    const [after] = await pidsOfPod(namespace, pod);
    expect(after).toEqual(expect.any(Number));
    expect(after).not.toBe(before);
  });

  onOwnNodes('a client beside the control plane reaches a Service by its name', async () => {
    const script = `fetch('http://echo.${namespace}').then((answer) => answer.text()).then(console.log)`;
    const { code, stdout } = await machine().run(process.execPath, ['-e', script]);
    expect(code).toBe(0);
    expect(await podNames()).toContain(stdout.trim());
  });

  onOwnNodes('over a slowed line the same answer takes longer, until it is quick again', async () => {
    const { forward, slow, quicken } = machine();
    const [node = ''] = cluster.nodeNames;
    const address = await cluster.mustKubectl([
      ...[...pods, `--field-selector=spec.nodeName=${node}`],
      ...['-o', 'jsonpath={.items[0].status.podIP}'],
    ]);
    const url = `http://127.0.0.1:${await forward(address, 8080)}/long`;
    const takes = async () => {
      const since = stopwatch();
      expect(await (await fetch(url, close)).text()).toHaveLength(40_000);
      return since();
    };
    await slow(node, { kbitPerSecond: 128 });
    // 40 kB, of which some pass at once, through 16 kB a second.
    expect(await takes()).toBeGreaterThan(1);
    await quicken(node);
    expect(await takes()).toBeLessThan(1);
  });

  onOwnNodes(
    'a node that is cut off is not ready until it comes back, and the other one answers',
    async () => {
      const { cutOff, reconnect } = machine();
      const url = await cluster.reach({ namespace, service: 'echo', port: 80 });
      const [node = ''] = cluster.nodeNames;
      const here = await cluster.mustKubectl([
        ...[...pods, `--field-selector=spec.nodeName!=${node}`],
        ...['-o', 'jsonpath={.items[0].metadata.name}'],
      ]);
      const lost = stopwatch();
      await cutOff(node);
      await cluster.mustKubectl(['wait', `node/${node}`, '--for=condition=Ready=Unknown', '--timeout=40s']);
      say(`a node cut off is not ready after ${lost()} s`);
      // Only now is the pod that cannot be reached out of the Service. Until then a call that is led there hangs.
      const ask = () => fetch(url, { ...close, signal: AbortSignal.timeout(2_000) });
      await expect.poll(() => ask().then((answer) => answer.text()), { timeout: 20_000 }).toBe(here);
      const back = stopwatch();
      await reconnect(node);
      await cluster.mustKubectl(['wait', `node/${node}`, '--for=condition=Ready', '--timeout=40s']);
      say(`reconnected, it is ready after ${back()} s`);
    },
  );

  onOwnNodes('what pods and nodes use is known', async () => {
    await expect
      .poll(async () => (await cluster.kubectl(['top', 'pods', '-n', namespace, '--no-headers'])).stdout, {
        timeout: 60_000,
        interval: 1_000,
      })
      .toMatch(/^echo-\S+ +\d+m +\d+Mi/m);
    await expect
      .poll(async () => (await cluster.kubectl(['top', 'nodes', '--no-headers'])).stdout, {
        timeout: 60_000,
        interval: 1_000,
      })
      .toMatch(/^node-1 /m);
  });

  // The last of all: it ends what the others use.
  onOwnNodes('taken down, it leaves no process, mount, network, cgroup or file', async () => {
    const { traces } = machine();
    const before = (await traces()).join('\n');
    for (const kind of ['process', 'cgroup', 'file']) expect(before).toMatch(new RegExp(`^${kind}`, 'm'));
    const down = stopwatch();
    await cluster.stop();
    say(`taken down in ${down()} s`);
    expect(await traces()).toEqual([]);
  });

  /** Those that are terminating are not of interest. */
  async function podNames(): Promise<string[]> {
    const text = await cluster.mustKubectl([
      ...pods,
      '-o',
      'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}',
    ]);
    return text.trim().split(' ');
  }

  async function rolledOut(): Promise<void> {
    await cluster.mustKubectl(['rollout', 'status', 'deployment/echo', '-n', namespace, '--timeout=60s'], {
      timeoutMs: 70_000,
    });
  }

  async function inPod(pod: string | undefined, script: string): Promise<string> {
    const wrapped = `(async () => { ${script} })()`;
    const out = await cluster.mustKubectl(['exec', pod ?? '', '-n', namespace, '--', 'node', '-e', wrapped]);
    return out.trim();
  }

  function machine(): Machine {
    if (cluster.machine === undefined) throw new Error('this cluster is not our own');
    return cluster.machine;
  }
}

const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);
const gitVersion = z.object({ gitVersion: z.string() });
const versions = z.object({ clientVersion: gitVersion, serverVersion: gitVersion });
const close = { headers: { connection: 'close' } };
const get = (...what: string[]) => ['get', ...what, '-n', namespace];
const pods = [...get('pods'), '-l', 'app=echo', '--field-selector=status.phase=Running'];
const list = (items: readonly object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
