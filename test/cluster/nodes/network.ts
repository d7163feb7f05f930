// How do the control plane and the nodes reach each other, and how is a node cut off or slowed down? By a bridge in the space of
// the control plane; nothing of the machine's own network is touched, so that the addresses of every run can be the same.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Space } from './space.ts';

export const planeAddress = '198.18.0.1';
export const nodeAddress = (index: number) => `198.18.0.1${index}`;
export const podRange = (index: number) => `10.244.${index}.0/24`;
export const allPods = '10.244.0.0/16';
export const serviceRange = '10.96.0.0/16';
/** What the API server takes for itself out of the range. */
export const kubernetesAddress = '10.96.0.1';
export const dnsAddress = '10.96.0.10';

export interface Slowness {
  /** Each way. */
  readonly delayMs?: number;
  /** Of packets, each way. */
  readonly lossPercent?: number;
  readonly kbitPerSecond?: number;
}

export interface Network {
  /** By the number of a node, from 1. Connections stay open, and nothing comes through. */
  cutOff(index: number): Promise<void>;
  reconnect(index: number): Promise<void>;
  /** @throws where the kernel lacks what that needs. */
  slow(index: number, slowness: Slowness): Promise<void>;
  /** The end of `slow`. */
  quicken(index: number): Promise<void>;
}

export async function connect(plane: Space, nodes: readonly Space[]): Promise<Network> {
  const numbered = nodes.map((space, position) => ({ space, index: position + 1 }));
  const cut = new Set<number>();
  await batch(plane, [
    'link set lo up',
    'link add br0 type bridge',
    `addr add ${planeAddress}/24 dev br0`,
    'link set br0 up',
    ...numbered.flatMap(({ space, index }) => [
      `link add v${index} type veth peer name eth0 netns ${space.pid}`,
      `link set v${index} master br0 up`,
      `route add ${podRange(index)} via ${nodeAddress(index)}`,
    ]),
    `route add ${serviceRange} via ${nodeAddress(1)}`,
  ]);
  for (const { space, index } of numbered) {
    await batch(space, [
      'link set lo up',
      `addr add ${nodeAddress(index)}/24 dev eth0`,
      'link set eth0 up',
      `route add default via ${planeAddress}`,
      ...numbered
        .filter((other) => other.index !== index)
        .map((other) => `route add ${podRange(other.index)} via ${nodeAddress(other.index)}`),
    ]);
    await space.mustRun('sh', ['-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward']);
  }

  /** Clients beside the control plane reach Services through a node, as they would through a load balancer before them. */
  async function leadThrough(): Promise<void> {
    const way = numbered.find(({ index }) => !cut.has(index));
    if (way !== undefined)
      await batch(plane, [`route replace ${serviceRange} via ${nodeAddress(way.index)}`]);
  }

  const spaceOf = (index: number): Space => {
    const found = nodes[index - 1];
    if (found === undefined) throw new Error(`there is no node ${index}; there are ${nodes.length}`);
    return found;
  };

  return {
    async cutOff(index) {
      spaceOf(index);
      cut.add(index);
      await batch(plane, [`link set v${index} down`]);
      await leadThrough();
    },
    async reconnect(index) {
      cut.delete(index);
      await batch(plane, [`link set v${index} up`]);
      await leadThrough();
    },
    async slow(index, slowness) {
      const ends = [
        { space: plane, device: `v${index}` },
        { space: spaceOf(index), device: 'eth0' },
      ];
      for (const { space, device } of ends) {
        const how = discipline(slowness);
        const { code, stderr } = await space.run('tc', ['qdisc', 'replace', 'dev', device, 'root', ...how]);
        if (code !== 0)
          throw new Error(
            `The network of node ${index} cannot be slowed by ${how[0]} (${stderr.trim()}): load the kernel module sch_${how[0]}, or run where the kernel has it`,
          );
      }
    },
    async quicken(index) {
      await plane.run('tc', ['qdisc', 'del', 'dev', `v${index}`, 'root']);
      await spaceOf(index).run('tc', ['qdisc', 'del', 'dev', 'eth0', 'root']);
    },
  };
}

function discipline({ delayMs, lossPercent, kbitPerSecond }: Slowness): string[] {
  if (delayMs === undefined && lossPercent === undefined)
    return ['tbf', 'rate', `${kbitPerSecond ?? 1_000}kbit`, 'burst', '32kbit', 'latency', '400ms'];
  return [
    'netem',
    ...(delayMs === undefined ? [] : ['delay', `${delayMs}ms`]),
    ...(lossPercent === undefined ? [] : ['loss', `${lossPercent}%`]),
    ...(kbitPerSecond === undefined ? [] : ['rate', `${kbitPerSecond}kbit`]),
  ];
}

/** So that a client beside the control plane knows Services by name. */
export async function writeResolvConf(folder: string): Promise<string> {
  const file = join(folder, 'resolv.conf');
  await writeFile(
    file,
    `nameserver ${dnsAddress}\nsearch svc.cluster.local cluster.local\noptions ndots:5 timeout:2\n`,
  );
  return file;
}

async function batch(space: Space, commands: readonly string[]): Promise<void> {
  await space.mustRun('ip', ['-batch', '-'], { stdin: `${commands.join('\n')}\n` });
}
