// How does a suite get a Kubernetes of its own? A real kube-apiserver and a reduced controller-manager on a prefix of the run's
// etcd, on 127.0.0.1, without root; it can be frozen, killed and started again.

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { KubeClient } from '../../core/kube/client.ts';
import { openConfiguredClient } from '../../core/kube/config.ts';
import { makeStatusAsker } from './ask-status.ts';
import { type AuditEvent, readAuditLog } from './audit.ts';
import type { Authority } from './authority.ts';
import { type Child, startChild, untilReady } from './child.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { freePort } from './free-port.ts';
import { tokenKubeconfig } from './kubeconfig.ts';
import { type Kubectl, makeKubectl } from './kubectl.ts';
import { makePlaneFiles } from './plane-files.ts';
import { clusterWaitMs, type SharedCluster, sharedCluster } from './shared.ts';

export interface ControlPlaneOptions {
  /** Such as `--min-request-timeout=10`, `--etcd-compaction-interval=10s`, `--goaway-chance=0.02`. */
  readonly apiserverFlags?: readonly string[];
  /** Default: the run's etcd, which must never be frozen: other suites use it. */
  readonly hasOwnEtcd?: boolean;
  /** Of the API server, default 1. Ten thousand objects of ours fill that, and from there on each answer waits for the collection of garbage. */
  readonly memoryGib?: number;
  /** Default true. Without it nothing is collected and namespaces stay Terminating. */
  readonly hasControllers?: boolean;
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
  /** Path of the audit log, for whoever follows it as it is written. */
  readonly auditFile: string;
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

/** Waits for the programs first: a hook that calls it needs the limit `clusterWaitMs`. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const shared = await sharedCluster();
  const folder = await mkdtemp(join(shared.folder, 'plane-'));
  const adminToken = randomBytes(16).toString('hex');
  const files = await makePlaneFiles(folder, adminToken);
  const ca = await readFile(files.authority.certFile, 'utf8');
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const adminKubeconfig = join(folder, 'admin.kubeconfig');
  await writeFile(adminKubeconfig, tokenKubeconfig({ url, ca, token: adminToken }), {
    mode: 0o600,
  });
  const etcd = options.hasOwnEtcd ? await startEtcd(shared.programs.etcd, join(folder, 'etcd')) : undefined;
  const status = makeStatusAsker({ url, ca, token: adminToken });
  const etcdPrefix = `/${randomUUID()}`;
  const serverFlags = [
    `--etcd-servers=${etcd?.url ?? shared.etcdUrl}`,
    `--etcd-prefix=${etcdPrefix}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    ...files.serverFlags,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    // Pods of tests name no ServiceAccount that must exist, and mount no token.
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
    ...(options.apiserverFlags ?? []),
  ];
  const { client } = await openConfiguredClient({ kubeconfig: adminKubeconfig });
  let server: Child | undefined;
  let controllers: Child | undefined;

  async function startServer(): Promise<void> {
    const logFile = join(folder, 'kube-apiserver.log');
    server = await startChild(shared.programs['kube-apiserver'], serverFlags, logFile, options.memoryGib);
    await untilReady('kube-apiserver', server, logFile, async () => {
      // The namespaces of the system are made beside the first answers; tests expect `default`.
      const paths = ['/readyz', '/api/v1/namespaces/default'];
      for (const path of paths) if ((await status.ask(path)) !== 200) return false;
      return true;
    });
  }

  async function startControllers(): Promise<void> {
    const names = [
      'garbage-collector-controller',
      'namespace-controller',
      'serviceaccount-controller',
      'root-ca-certificate-publisher-controller',
      'clusterrole-aggregation-controller',
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
    await Promise.all([controllers?.kill(), server?.kill()]);
    await etcd?.stop();
    status.close();
    client.close();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    await startServer();
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
    authority: files.authority,
    adminKubeconfig,
    adminToken,
    folder,
    programs: shared.programs,
    etcd,
    etcdPrefix,
    pids: () => [server, controllers, etcd].flatMap((child) => (child === undefined ? [] : [child.pid])),
    ...makeKubectl({
      program: shared.programs.kubectl,
      kubeconfig: adminKubeconfig,
      cacheFolder: join(folder, 'kubectl-cache'),
    }),
    freeze: () => server?.signal('SIGSTOP'),
    thaw: () => server?.signal('SIGCONT'),
    kill: async () => server?.kill(),
    async restart() {
      await server?.kill();
      await startServer();
    },
    async restartControllers() {
      if (controllers === undefined) return;
      await controllers.kill();
      await startControllers();
    },
    async audit() {
      // Events are written as answers end; this one ends after all that the caller has seen.
      const marker = `/api/v1/namespaces/${randomUUID()}`;
      if ((await status.ask(marker)) === undefined)
        throw new Error('the audit log is complete only when the server answers: thaw or restart it first');
      return readAuditLog(files.auditFile, marker);
    },
    stop,
  };
}
