// What do tests do with a cluster that has nodes, wherever it runs? The doors that this machine's own cluster, one of kind and a
// given one have in common, and what only the own one can do.

import type { AuditEvent } from '../audit.ts';
import type { Child } from '../child.ts';
import type { Kubectl } from '../kubectl.ts';
import type { Programs } from '../programs.ts';
import type { Ran, RunOptions } from '../run.ts';
import type { Slowness } from './network.ts';
import type { Server } from './server.ts';

/** Named as those of a control plane alone: what a test does with kubectl and helm it does with either. */
export interface NodeCluster extends Kubectl {
  /** Path. For this process and those it starts. */
  readonly adminKubeconfig: string;
  /** Paths. */
  readonly programs: Pick<Programs, 'kubectl' | 'helm'>;
  /** Deleted with the cluster, or with our use of it: a place for archives and other files of the test. */
  readonly folder: string;
  readonly nodeNames: readonly string[];
  /** An OCI archive, onto all nodes. Pods use it by its name, with `imagePullPolicy: Never`. */
  importImage(archive: string): Promise<void>;
  /** A URL (http, 127.0.0.1) of a Service's port, for this process. */
  reach(service: ServicePort): Promise<string>;
  /** Absent where the cluster is not this machine's own. */
  readonly machine?: Machine;
  stop(): Promise<void>;
}

export interface ServicePort {
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
}

/** What a test can do as the owner of nodes and network. Nodes are named as in `nodeNames`. */
export interface Machine {
  /** A client beside the control plane: Service addresses and names work there. A failing command is a result. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The same, for one that goes on; its output goes to the file. */
  start(command: string, args: readonly string[], logFile: string): Promise<Child>;
  /** A port on 127.0.0.1 that leads to this address or name of the cluster's network. */
  forward(host: string, port: number): Promise<number>;
  /** The node is alive and nobody hears of it. Services are reached through another node at the same time. */
  cutOff(node: string): Promise<void>;
  reconnect(node: string): Promise<void>;
  slow(node: string, slowness: Slowness): Promise<void>;
  quicken(node: string): Promise<void>;
  readonly servers: {
    readonly etcd: Server;
    readonly apiserver: Server;
    readonly controllers: Server;
    readonly scheduler: Server;
  };
  kubelet(node: string): Server;
  containerd(node: string): Server;
  proxy(node: string): Server;
  /** As this machine counts them, without those of the pause container. */
  pidsOfPod(namespace: string, pod: string): Promise<number[]>;
  /** SIGKILL to every process of the pod, as the killer of memory eaters does it. @throws where there is none. */
  killPod(namespace: string, pod: string): Promise<void>;
  /** All that was asked of the API server, and by whom. */
  audit(): Promise<AuditEvent[]>;
  /** How long each part of the start took, in milliseconds since its beginning. */
  readonly figures: Readonly<Record<'planeReady' | 'nodesReady' | 'dnsReady', number>>;
  /** What of this cluster is on the machine, also after its end: one line each. */
  traces(): Promise<string[]>;
}
