// What runs on a node? containerd with the network plugin, the kubelet, kube-proxy and what holds NetworkPolicies, in the node's own
// space.

import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Authority } from '../authority.ts';
import { untilReady } from '../child.ts';
import { run } from '../run.ts';
import { makeCgroups } from './cgroups.ts';
import { allPods, dnsAddress, nodeAddress, podRange } from './network.ts';
import { makePolicyServer } from './policies.ts';
import type { NodePrograms } from './programs.ts';
import { makeServer, type Server } from './server.ts';
import type { Space } from './space.ts';

export interface ClusterNode {
  readonly name: string;
  readonly address: string;
  /** From 1. */
  readonly index: number;
  /** Its pods' cgroups, relative to every tree. */
  readonly cgroup: string;
  readonly containerd: Server;
  readonly kubelet: Server;
  readonly proxy: Server;
  readonly policies: Server;
  readonly kubeletLog: string;
  /** @throws with what containerd said. */
  importImage(archive: string): Promise<void>;
}

export interface NodeOptions {
  readonly space: Space;
  readonly index: number;
  readonly cgroup: string;
  readonly pauseImage: string;
  /** How often the kubelet says that it lives. */
  readonly heartbeatSeconds: number;
}

/** What the kubelet and kube-proxy need, and only they: containerd starts before there is a control plane. */
export interface NodeMeans {
  readonly programs: NodePrograms;
  readonly authority: Authority;
  /** Paths. */
  /** A port on 127.0.0.1 that leads to one of the cluster's network. */
  reach(host: string, port: number): Promise<number>;
  readonly kubeletKubeconfig: string;
  readonly proxyKubeconfig: string;
  readonly policiesKubeconfig: string;
}

export function makeNode(options: NodeOptions, means: () => NodeMeans): ClusterNode {
  const { space, index, cgroup } = options;
  const { name, folder } = space;
  const address = nodeAddress(index);
  const socket = join(folder, 'containerd.sock');
  const logFile = (program: string) => join(folder, `${program}.log`);

  return {
    name,
    address,
    index,
    cgroup,
    containerd: makeServer(`containerd of ${name}`, async () => {
      await makeCgroups(cgroup);
      await mkdir(join(folder, 'cni'), { recursive: true });
      await writeFile(join(folder, 'cni', '10-pods.conflist'), JSON.stringify(podNetwork(folder, index)));
      await writeFile(join(folder, 'containerd.toml'), containerdConfig(folder, socket, options.pauseImage));
      const args = ['--config', join(folder, 'containerd.toml')];
      const child = await space.start('containerd', args, logFile('containerd'));
      await untilReady('containerd', child, logFile('containerd'), () => accepts(socket));
      return child;
    }),
    kubelet: makeServer(`kubelet of ${name}`, async () => {
      const { programs, authority, kubeletKubeconfig, reach } = means();
      const serving = await authority.issue(
        name,
        `/O=system:nodes/CN=system:node:${name}`,
        `DNS:${name},IP:${address}`,
      );
      const config = kubeletConfig({
        folder,
        address,
        socket,
        cgroup,
        heartbeatSeconds: options.heartbeatSeconds,
        caFile: authority.certFile,
        ...serving,
      });
      await mkdir(join(folder, 'pod-logs'), { recursive: true });
      await writeFile(join(folder, 'resolv.conf'), '');
      await writeFile(join(folder, 'kubelet.yaml'), stringify(config));
      const child = await space.start(
        programs.kubelet,
        [
          `--config=${join(folder, 'kubelet.yaml')}`,
          `--kubeconfig=${kubeletKubeconfig}`,
          `--root-dir=${join(folder, 'kubelet')}`,
          `--hostname-override=${name}`,
          `--node-ip=${address}`,
        ],
        logFile('kubelet'),
      );
      const health = `http://127.0.0.1:${await reach(address, healthPort)}/healthz`;
      await untilReady('kubelet', child, logFile('kubelet'), async () => {
        const answer = await fetch(health, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
        await answer?.arrayBuffer();
        return answer?.ok === true;
      });
      return child;
    }),
    proxy: makeServer(`kube-proxy of ${name}`, () => {
      const { programs, proxyKubeconfig } = means();
      return space.start(
        programs['kube-proxy'],
        [
          `--kubeconfig=${proxyKubeconfig}`,
          `--hostname-override=${name}`,
          '--proxy-mode=iptables',
          `--cluster-cidr=${allPods}`,
          '--iptables-min-sync-period=0s',
          '--conntrack-max-per-core=0',
          '--conntrack-tcp-timeout-established=0',
          '--conntrack-tcp-timeout-close-wait=0',
          '--healthz-bind-address=',
          '--oom-score-adj=0',
        ],
        logFile('kube-proxy'),
      );
    }),
    policies: makePolicyServer(space, () => means().policiesKubeconfig),
    kubeletLog: logFile('kubelet'),
    async importImage(archive) {
      const { code, stderr, stdout } = await run(
        'ctr',
        ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', archive],
        { timeoutMs: 180_000 },
      );
      if (code !== 0) throw new Error(`${archive} cannot be imported on ${name}: ${stderr || stdout}`);
    },
  };
}

function podNetwork(folder: string, index: number) {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        // A line from each pod to the node, and no bridge: what two pods of a node say to each other passes through its rules too.
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: podRange(index) }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: join(folder, 'ipam'),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

/** Adjusting the score for the killer of memory eaters needs a right that a container's root often lacks. */
function containerdConfig(folder: string, socket: string, pauseImage: string): string {
  return `version = 2
root = "${folder}/containerd"
state = "${folder}/containerd-state"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
`;
}

const healthPort = 10_248;

function kubeletConfig(of: {
  folder: string;
  address: string;
  socket: string;
  cgroup: string;
  heartbeatSeconds: number;
  caFile: string;
  certFile: string;
  keyFile: string;
}) {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: of.address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: of.caFile },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: of.certFile,
    tlsPrivateKeyFile: of.keyFile,
    healthzBindAddress: of.address,
    healthzPort: healthPort,
    podLogsDir: join(of.folder, 'pod-logs'),
    resolvConf: join(of.folder, 'resolv.conf'),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${of.cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    clusterDNS: [dnsAddress],
    clusterDomain: 'cluster.local',
    containerRuntimeEndpoint: `unix://${of.socket}`,
    nodeStatusUpdateFrequency: `${of.heartbeatSeconds}s`,
    // Renewed four times as often.
    nodeLeaseDurationSeconds: of.heartbeatSeconds * 4,
    // The machine's disk and memory are shared with everything else on it.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { 'memory.available': '100Mi' },
    oomScoreAdj: 0,
  };
}

function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const trying = connect(socket);
    trying.on('connect', () => {
      trying.destroy();
      resolve(true);
    });
    trying.on('error', () => resolve(false));
  });
}
