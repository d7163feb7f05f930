// Who is the kubelet of gateway processes? Nobody runs Pods in the control plane; here the Pod object of each process is made,
// reported ready or not, and taken away. The process itself is the caller's.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isNotFound } from '../../core/kube/client.ts';
import { createObject, deleteObject, mergePatch } from '../../core/kube/patch.ts';
import { collectionPath, objectPath, pods } from '../../core/kube/paths.ts';
import type { ControlPlane } from './control-plane.ts';

export interface GatewayPodOptions {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Where the process has its exchange and journal: the container port named `internal`. */
  readonly internalPort: number;
  /** The same over TLS: the container port named `internal-tls`. Left out by releases that have none. */
  readonly internalTlsPort?: number | undefined;
  /** Where it serves clients: the container port named `http`. */
  readonly port?: number;
  /** Where its metrics are: the container port named `metrics`. */
  readonly metricsPort?: number;
  /** Default: one that no other Pod of the run has. */
  readonly ip?: string;
}

export interface GatewayPod {
  readonly name: string;
  /** 127.0.1.x: the process binds to it (`PENSTOCK_HOST`), so that every Pod has an address of its own. */
  readonly ip: string;
  setReady(isReady: boolean): Promise<void>;
  /** As `kubectl delete` does: a time of deletion is set, and the Pod stays until its kubelet has ended the process. */
  startDeletion(): Promise<void>;
  /** The object goes at once. */
  remove(): Promise<void>;
}

/** Status Pending and not ready, as a Pod is before its process answers. */
export async function createGatewayPod(plane: ControlPlane, options: GatewayPodOptions): Promise<GatewayPod> {
  const { namespace, name } = options;
  const ip = options.ip ?? (await claimPodIp(plane));
  const ports = [
    { name: 'internal', containerPort: options.internalPort },
    ...(options.internalTlsPort === undefined
      ? []
      : [{ name: 'internal-tls', containerPort: options.internalTlsPort }]),
    ...(options.port === undefined ? [] : [{ name: 'http', containerPort: options.port }]),
    ...(options.metricsPort === undefined ? [] : [{ name: 'metrics', containerPort: options.metricsPort }]),
  ];
  await createObject(plane.client, collectionPath(pods, namespace), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: options.labels },
    spec: {
      // With a node a deleted Pod waits for its kubelet, as real ones do.
      nodeName: 'test-node',
      containers: [{ name: 'gateway', image: 'penstock.test/gateway', ports }],
    },
  });

  const path = objectPath(pods, { namespace, name });

  async function patchStatus(status: unknown): Promise<void> {
    await mergePatch(plane.client, objectPath(pods, { namespace, name }, 'status'), { status });
  }

  return {
    name,
    ip,
    setReady(isReady) {
      const status = isReady ? 'True' : 'False';
      const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, '');
      return patchStatus({
        phase: 'Running',
        podIP: ip,
        podIPs: [{ ip }],
        conditions: ['ContainersReady', 'Ready'].map((type) => ({ type, status, lastTransitionTime })),
      });
    },
    async startDeletion() {
      await deleteObject(plane.client, path);
    },
    async remove() {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
      await plane.client.call({ method: 'DELETE', path, body }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    },
  };
}

/** An address on this machine that no other gateway Pod of the test run has. */
export async function claimPodIp(plane: ControlPlane): Promise<string> {
  const claims = join(plane.folder, '..', 'pod-ips');
  await mkdir(claims, { recursive: true });
  for (let last = 1; last < 255; last += 1) {
    const ip = `127.0.1.${last}`;
    // A folder is made by one process only.
    const isOurs = await mkdir(join(claims, ip)).then(
      () => true,
      () => false,
    );
    if (isOurs) return ip;
  }
  throw new Error('254 gateway Pods have their addresses already: give addresses back, or name them');
}
