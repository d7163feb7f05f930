// How does a cluster of real nodes start on this machine, and how does it end without a trace?

import { mkdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tailOf } from '../child.ts';
import { type Kubectl, makeKubectl } from '../kubectl.ts';
import { dnsManifests, metricsManifests } from './addons.ts';
import { pidsInCgroups, removeCgroups } from './cgroups.ts';
import type { Machine, NodeCluster } from './cluster.ts';
import { type Door, openDoor } from './door.ts';
import { buildPause, packDns, packMetricsServer, packPause, pauseImage } from './images.ts';
import { connect, writeResolvConf } from './network.ts';
import { type ClusterNode, makeNode } from './node.ts';
import { type Plane, startPlane } from './plane.ts';
import { findNodePrograms, type KubernetesMinor } from './programs.ts';
import { missingForNodes } from './requirements.ts';
import { makeRunName } from './run-name.ts';
import { openSpace, type Space } from './space.ts';
import { marksOf, noMarks, removeLeftovers, tracesOf, untilProcessesEnded } from './traces.ts';

export interface StartOptions {
  /** Default 2; at most 9. */
  readonly nodes?: number;
  /** Default 1.36. */
  readonly kubernetes?: KubernetesMinor;
  /** Default false. `kubectl top` answers half a minute after the start. */
  readonly hasMetrics?: boolean;
  /** How long a node may be silent before it is NotReady. Default 10; Kubernetes' own is 50. */
  readonly notReadyAfterSeconds?: number;
  readonly apiserverFlags?: readonly string[];
  readonly controllerFlags?: readonly string[];
  readonly say?: (line: string) => void;
}

/** A cluster on this machine, always with what only its owner can do. */
export type OwnCluster = NodeCluster & { readonly machine: Machine };

/**
 * Several can run beside each other: all of one lives in namespaces, cgroups and a folder that carry its name.
 *
 * @throws one sentence where the machine cannot have nodes.
 */
export async function startNodes(options: StartOptions = {}): Promise<OwnCluster> {
  const missing = await missingForNodes();
  if (missing !== undefined) throw new Error(`No nodes can run on this machine: ${missing}`);
  const programs = await findNodePrograms(options.kubernetes, options.say ? { say: options.say } : {});
  await removeLeftovers();

  const runName = makeRunName();
  const folder = join(tmpdir(), runName);
  const names = Array.from({ length: options.nodes ?? 2 }, (_, position) => `node-${position + 1}`);
  const spaces: Space[] = [];
  let door: Door | undefined;
  let plane: Plane | undefined;
  let marks = noMarks;

  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= takeDown();
    return stopping;
  };
  async function takeDown(): Promise<void> {
    marks = await marksOf(
      runName,
      spaces.map(({ pid }) => pid),
    );
    plane?.close();
    await door?.close();
    await Promise.all(spaces.map((space) => space.end()));
    await Promise.all(
      [plane?.etcd, plane?.apiserver, plane?.controllers, plane?.scheduler].map((server) => server?.kill()),
    );
    await untilProcessesEnded(runName, marks);
    await removeCgroups(runName);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  const start = performance.now();
  const since = () => Math.round(performance.now() - start);
  try {
    await mkdir(folder, { mode: 0o700 });
    const archives = join(folder, 'archives');
    await mkdir(archives);
    const init = await buildPause(folder);
    const resolvConf = await writeResolvConf(folder);
    const planeSpace = await openSpace({
      name: 'control plane',
      folder: join(folder, 'plane'),
      init,
      hasOwnProcesses: false,
      resolvConf,
    });
    spaces.push(planeSpace);
    for (const name of names)
      spaces.push(await openSpace({ name, folder: join(folder, name), init, hasOwnProcesses: true }));
    const nodeSpaces = spaces.slice(1);
    const network = await connect(planeSpace, nodeSpaces);
    const openedDoor = await openDoor(planeSpace, join(folder, 'door.log'));
    door = openedDoor;
    const startedPlane = () => {
      if (plane === undefined) throw new Error('the control plane has not started yet');
      return plane;
    };

    const notReadyAfterSeconds = options.notReadyAfterSeconds ?? 10;
    const nodes = nodeSpaces.map((space, position) =>
      makeNode(
        {
          space,
          index: position + 1,
          cgroup: `${runName}/${space.name}`,
          pauseImage,
          heartbeatSeconds: Math.max(1, Math.floor(notReadyAfterSeconds / 4)),
        },
        () => ({
          programs,
          reach: openedDoor.to,
          authority: startedPlane().authority,
          kubeletKubeconfig: startedPlane().kubeconfigOf(`system:node:${space.name}`),
          proxyKubeconfig: startedPlane().kubeconfigOf('system:kube-proxy'),
          policiesKubeconfig: startedPlane().kubeconfigOf('network-policies'),
        }),
      ),
    );
    const importImage = async (archive: string) => {
      await Promise.all(nodes.map((node) => node.importImage(archive)));
    };
    const runtimes = Promise.all(nodes.map(({ containerd }) => containerd.start()));
    const importing = (async () => {
      await runtimes;
      for (const [name, write] of [
        ['pause', (target: string) => packPause(init, target)],
        ['coredns', packDns],
        ...(options.hasMetrics === true ? [['metrics-server', packMetricsServer] as const] : []),
      ] as const) {
        const archive = join(archives, `${name}.tar`);
        await write(archive);
        await importImage(archive);
        await rm(archive);
      }
    })();
    // Looked at below, together with what else can fail first.
    importing.catch(() => {});
    plane = await startPlane(planeSpace, openedDoor, programs, names, {
      notReadyAfterSeconds,
      ...(options.apiserverFlags && { apiserverFlags: options.apiserverFlags }),
      ...(options.controllerFlags && { controllerFlags: options.controllerFlags }),
    });
    const planeReady = since();
    const asked = makeKubectl({
      program: programs.kubectl,
      kubeconfig: plane.kubeconfig,
      cacheFolder: join(folder, 'kubectl-cache'),
    });
    const { mustKubectl } = asked;
    await runtimes;
    await Promise.all(
      nodes.flatMap(({ kubelet, policies, proxy }) => [kubelet.start(), policies.start(), proxy.start()]),
    );
    await untilNodesReady(mustKubectl, nodes);
    const nodesReady = since();
    await importing;
    // Only now, so that they are spread over the nodes and never look for an image in vain.
    await mustKubectl(['apply', '--server-side', '-f', '-'], {
      stdin: JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          ...dnsManifests(Math.min(2, names.length)),
          ...(options.hasMetrics === true ? metricsManifests() : []),
        ],
      }),
    });
    await mustKubectl(['rollout', 'status', 'deployment/coredns', '-n', 'kube-system', '--timeout=90s'], {
      timeoutMs: 100_000,
    });
    const dnsReady = since();

    const nodeOf = (name: string) => {
      const node = nodes.find((each) => each.name === name);
      if (node === undefined) throw new Error(`there is no node ${name}; there are ${names.join(', ')}`);
      return node;
    };
    async function pidsOfPod(namespace: string, pod: string): Promise<number[]> {
      const uid = await mustKubectl(['get', 'pod', pod, '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
      const sandboxes = new Set<number>();
      const pids = await pidsInCgroups(runName, `pod${uid.trim()}`);
      for (const pid of pids) if (await isPause(pid)) sandboxes.add(pid);
      return pids.filter((pid) => !sandboxes.has(pid));
    }

    const machine: Machine = {
      run: planeSpace.run,
      start: planeSpace.start,
      forward: openedDoor.to,
      cutOff: async (node) => network.cutOff(nodeOf(node).index),
      reconnect: async (node) => network.reconnect(nodeOf(node).index),
      slow: async (node, slowness) => network.slow(nodeOf(node).index, slowness),
      quicken: async (node) => network.quicken(nodeOf(node).index),
      servers: {
        etcd: plane.etcd,
        apiserver: plane.apiserver,
        controllers: plane.controllers,
        scheduler: plane.scheduler,
      },
      kubelet: (node) => nodeOf(node).kubelet,
      containerd: (node) => nodeOf(node).containerd,
      proxy: (node) => nodeOf(node).proxy,
      pidsOfPod,
      async killPod(namespace, pod) {
        const pids = await pidsOfPod(namespace, pod);
        if (pids.length === 0) throw new Error(`no process of pod ${namespace}/${pod} runs`);
        for (const pid of pids) process.kill(pid, 'SIGKILL');
      },
      audit: plane.audit,
      figures: { planeReady, nodesReady, dnsReady },
      traces: async () => {
        const seen =
          marks.namespaces.size > 0
            ? marks
            : await marksOf(
                runName,
                spaces.map(({ pid }) => pid),
              );
        return tracesOf(runName, seen);
      },
    };
    return {
      ...asked,
      adminKubeconfig: plane.kubeconfig,
      programs,
      folder,
      nodeNames: names,
      importImage,
      reach: async ({ namespace, service, port }) =>
        `http://127.0.0.1:${await openedDoor.to(`${service}.${namespace}.svc.cluster.local`, port)}`,
      machine,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilNodesReady(
  mustKubectl: Kubectl['mustKubectl'],
  nodes: readonly ClusterNode[],
): Promise<void> {
  const wait = (node: string, what: string) =>
    mustKubectl(['wait', `node/${node}`, `--for=${what}`, '--timeout=60s'], { timeoutMs: 70_000 });
  await Promise.all(
    nodes.map(async ({ name, kubeletLog }) => {
      try {
        // One command each: kubectl does not wait for several that are not there yet.
        await wait(name, 'create');
        await wait(name, 'condition=Ready');
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${reason}\nLast words of its kubelet:\n${await tailOf(kubeletLog)}`);
      }
    }),
  );
}

async function isPause(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).startsWith('/pause');
}
