// How does a suite get a Kubernetes of its own? A real kube-apiserver and a reduced controller-manager on a prefix of the run's
// etcd, on 127.0.0.1, without root; it can be frozen, killed and started again.

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { KubeClient } from '../../core/kube/client.ts';
import { openConfiguredClient } from '../../core/kube/config.ts';
import { giveBackServer, type ServerOptions, takeServer } from './api-server.ts';
import { type AuditEvent, readAuditLog } from './audit.ts';
import type { Authority } from './authority.ts';
import { type Child, startChild } from './child.ts';
import type { Etcd } from './etcd.ts';
import { tokenKubeconfig } from './kubeconfig.ts';
import { type Kubectl, makeKubectl } from './kubectl.ts';
import { clusterWaitMs, type SharedCluster, sharedCluster } from './shared.ts';

export interface ControlPlaneOptions extends ServerOptions {
  /** Default true. Without it nothing is collected and namespaces stay Terminating. */
  readonly hasControllers?: boolean;
  /** Further ones, by their names in kube-controller-manager. */
  readonly moreControllers?: readonly string[];
}

export interface ControlPlane extends Kubectl {
  readonly url: string;
  readonly caFile: string;
  /** Issues client certificates too: the server knows their bearers by CN as user and O as group. */
  readonly authority: Authority;
  /** Of the admin. */
  readonly client: KubeClient;
  /** Path. A member of system:masters. */
  readonly adminKubeconfig: string;
  readonly adminToken: string;
  /** Of this plane, deleted with it: a place for kubeconfigs and other files of the suite. */
  readonly folder: string;
  readonly programs: SharedCluster['programs'];
  /** Present with `hasOwnEtcd`. */
  readonly etcd: Etcd | undefined;
  /** Under which the objects of this plane lie in etcd, with its leading slash. */
  readonly etcdPrefix: string;
  /** Process ids of what runs for this plane alone. */
  pids(): number[];
  /** SIGSTOP: connections stay open, and nothing is answered until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** After `kill`: same port, keys and objects. Settled when ready. */
  restart(): Promise<void>;
  /**
   * The controllers learn of kinds every 30 s only; started after CustomResourceDefinitions were applied, they collect what
   * belongs to such objects at once. Does nothing on a plane without them.
   */
  restartControllers(): Promise<void>;
  /** Path of the audit log, to be followed as it is written. */
  readonly auditFile: string;
  /** Path of the server's AuthenticationConfiguration, which it reads again after each change: for a plane that `isOwn`. */
  readonly authenticationFile: string;
  /** All that was asked of this server, and by whom. Waits for what has been answered to be written. */
  audit(): Promise<AuditEvent[]>;
  stop(): Promise<void>;
}

/**
 * One plane for all tests of a file, started before the first and stopped after the last.
 * The plane is there once tests run: `const plane = useControlPlane()`, then `plane().kubectl(…)`.
 */
export function useControlPlane(options: ControlPlaneOptions = {}): () => ControlPlane {
  let plane: ControlPlane | undefined;
  beforeAll(async () => {
    plane = await startControlPlane(options);
  }, clusterWaitMs);
  afterAll(() => plane?.stop());
  return () => {
    if (plane === undefined) throw new Error('the control plane is there only while tests and hooks run');
    return plane;
  };
}

/**
 * A plane with nothing but what Kubernetes makes itself. Its API server may have served an earlier suite, and is as empty again.
 * Waits for the programs first: a hook that calls it needs the limit `clusterWaitMs`.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const shared = await sharedCluster();
  const server = await takeServer(options);
  const { url, ca, adminToken, files, etcd, etcdPrefix } = server;
  const folder = await mkdtemp(join(shared.folder, 'plane-'));
  const adminKubeconfig = join(folder, 'admin.kubeconfig');
  await writeFile(adminKubeconfig, tokenKubeconfig({ url, ca, token: adminToken }), {
    mode: 0o600,
  });
  const { client } = await openConfiguredClient({ kubeconfig: adminKubeconfig });
  let controllers: Child | undefined;

  async function startControllers(): Promise<void> {
    const names = [
      'garbage-collector-controller',
      'namespace-controller',
      'serviceaccount-controller',
      'root-ca-certificate-publisher-controller',
      'clusterrole-aggregation-controller',
      ...(options.moreControllers ?? []),
    ];
    controllers = await startChild(
      shared.programs['kube-controller-manager'],
      [
        `--kubeconfig=${adminKubeconfig}`,
        `--controllers=${names.join(',')}`,
        `--root-ca-file=${files.authority.certFile}`,
        '--leader-elect=false',
        '--authentication-skip-lookup=true',
        '--secure-port=0',
        '--kube-api-qps=500',
        '--kube-api-burst=1000',
      ],
      join(folder, 'kube-controller-manager.log'),
    );
  }

  async function stop(): Promise<void> {
    await controllers?.kill();
    client.close();
    await giveBackServer(server);
    await rm(folder, { recursive: true, force: true });
  }

  try {
    if (options.hasControllers !== false) await startControllers();
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    url,
    client,
    caFile: files.authority.certFile,
    auditFile: files.auditFile,
    authenticationFile: files.authenticationFile,
    authority: files.authority,
    adminKubeconfig,
    adminToken,
    folder,
    programs: shared.programs,
    etcd,
    etcdPrefix,
    pids: () => [server.pid(), controllers?.pid, etcd?.pid].filter((pid) => pid !== undefined),
    ...makeKubectl({
      program: shared.programs.kubectl,
      kubeconfig: adminKubeconfig,
      cacheFolder: join(folder, 'kubectl-cache'),
    }),
    freeze: server.freeze,
    thaw: server.thaw,
    kill: server.kill,
    restart: server.restart,
    async restartControllers() {
      if (controllers === undefined) return;
      await controllers.kill();
      await startControllers();
    },
    async audit() {
      // Events are written as answers end; this one ends after all that the caller has seen.
      const marker = `/api/v1/namespaces/${randomUUID()}`;
      if ((await server.ask(marker)) === undefined)
        throw new Error('the audit log is complete only when the server answers: thaw or restart it first');
      return readAuditLog(files.auditFile, marker);
    },
    stop,
  };
}
