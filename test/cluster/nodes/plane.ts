// How does the control plane of a cluster with nodes run? All of it, as it does elsewhere: etcd, API server, every controller, the
// scheduler, each under its own name; in its own space, from where nodes and pods reach it.

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeStatusAsker } from '../ask-status.ts';
import { type AuditEvent, readAuditLog } from '../audit.ts';
import type { Authority } from '../authority.ts';
import { untilReady } from '../child.ts';
import { tokenKubeconfig } from '../kubeconfig.ts';
import { makePlaneFiles } from '../plane-files.ts';
import type { Door } from './door.ts';
import { planeAddress, serviceRange } from './network.ts';
import type { NodePrograms } from './programs.ts';
import { makeServer, type Server } from './server.ts';
import type { Space } from './space.ts';

export interface PlaneOptions {
  readonly apiserverFlags?: readonly string[];
  readonly controllerFlags?: readonly string[];
  /** How long a node may be silent before it is NotReady. */
  readonly notReadyAfterSeconds: number;
}

export interface Plane {
  readonly authority: Authority;
  /** Of the admin, for the process of the tests. */
  readonly kubeconfig: string;
  readonly url: string;
  readonly etcd: Server;
  readonly apiserver: Server;
  readonly controllers: Server;
  readonly scheduler: Server;
  /** Path of a kubeconfig for use inside, of one of the users that were named. */
  kubeconfigOf(user: string): string;
  /** All that was asked of the API server, and by whom. */
  audit(): Promise<AuditEvent[]>;
  close(): void;
}

export async function startPlane(
  space: Space,
  door: Door,
  programs: NodePrograms,
  nodeNames: readonly string[],
  options: PlaneOptions,
): Promise<Plane> {
  const { folder } = space;
  const adminToken = randomBytes(16).toString('hex');
  const users = [
    { name: 'system:kube-controller-manager' },
    { name: 'system:kube-scheduler' },
    { name: 'system:kube-proxy' },
    { name: 'network-policies', group: 'system:masters' },
    ...nodeNames.map((name) => ({ name: `system:node:${name}`, group: 'system:nodes' })),
  ].map((user) => ({ ...user, token: randomBytes(16).toString('hex') }));
  const files = await makePlaneFiles(folder, adminToken, {
    addresses: [planeAddress, '10.96.0.1'],
    users,
  });
  const { authority } = files;
  const [kubeletClient, frontProxy] = await Promise.all([
    authority.issue('kubelet-client', '/O=system:masters/CN=kube-apiserver'),
    authority.issue('front-proxy', '/CN=front-proxy'),
  ]);
  const ca = await readFile(authority.certFile, 'utf8');
  const url = `https://127.0.0.1:${await door.to(planeAddress, 6443)}`;
  const kubeconfig = join(folder, 'admin.kubeconfig');
  await writeFile(kubeconfig, tokenKubeconfig({ url, ca, token: adminToken }), { mode: 0o600 });
  const kubeconfigOf = (user: string) => join(folder, `${user.replaceAll(':', '-')}.kubeconfig`);
  for (const { name, token } of users)
    await writeFile(kubeconfigOf(name), tokenKubeconfig({ url: `https://${planeAddress}:6443`, ca, token }), {
      mode: 0o600,
    });

  const status = makeStatusAsker({ url, ca, token: adminToken });
  const logFile = (name: string) => join(folder, `${name}.log`);
  const etcd = makeServer('etcd', () =>
    space.start(
      programs.etcd,
      [
        `--data-dir=${join(folder, 'etcd')}`,
        '--unsafe-no-fsync',
        '--log-level=warn',
        '--listen-client-urls=http://127.0.0.1:2379',
        '--advertise-client-urls=http://127.0.0.1:2379',
        '--listen-peer-urls=http://127.0.0.1:2380',
        '--initial-advertise-peer-urls=http://127.0.0.1:2380',
        '--initial-cluster=default=http://127.0.0.1:2380',
      ],
      logFile('etcd'),
    ),
  );
  const apiserver = makeServer('kube-apiserver', async () => {
    const child = await space.start(
      programs['kube-apiserver'],
      [
        '--etcd-servers=http://127.0.0.1:2379',
        '--bind-address=0.0.0.0',
        `--advertise-address=${planeAddress}`,
        '--secure-port=6443',
        ...files.serverFlags,
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        `--service-cluster-ip-range=${serviceRange}`,
        '--allow-privileged=true',
        `--kubelet-client-certificate=${kubeletClient.certFile}`,
        `--kubelet-client-key=${kubeletClient.keyFile}`,
        `--kubelet-certificate-authority=${authority.certFile}`,
        '--kubelet-preferred-address-types=InternalIP',
        `--requestheader-client-ca-file=${authority.certFile}`,
        '--requestheader-allowed-names=front-proxy',
        '--requestheader-username-headers=X-Remote-User',
        '--requestheader-group-headers=X-Remote-Group',
        '--requestheader-extra-headers-prefix=X-Remote-Extra-',
        `--proxy-client-cert-file=${frontProxy.certFile}`,
        `--proxy-client-key-file=${frontProxy.keyFile}`,
        '--enable-aggregator-routing=true',
        ...(options.apiserverFlags ?? []),
      ],
      logFile('kube-apiserver'),
    );
    await untilReady('kube-apiserver', child, logFile('kube-apiserver'), async () => {
      // Tests expect both namespaces; they are made beside the first answers.
      for (const path of ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system'])
        if ((await status.ask(path)) !== 200) return false;
      return true;
    });
    return child;
  });
  const controllers = makeServer('kube-controller-manager', () =>
    space.start(
      programs['kube-controller-manager'],
      [
        `--kubeconfig=${kubeconfigOf('system:kube-controller-manager')}`,
        `--root-ca-file=${authority.certFile}`,
        `--service-account-private-key-file=${files.accountsKeyFile}`,
        '--use-service-account-credentials',
        '--leader-elect=false',
        '--authentication-skip-lookup=true',
        '--secure-port=0',
        '--node-monitor-period=1s',
        `--node-monitor-grace-period=${options.notReadyAfterSeconds}s`,
        '--kube-api-qps=500',
        '--kube-api-burst=1000',
        ...(options.controllerFlags ?? []),
      ],
      logFile('kube-controller-manager'),
    ),
  );
  const scheduler = makeServer('kube-scheduler', () =>
    space.start(
      programs['kube-scheduler'],
      [
        `--kubeconfig=${kubeconfigOf('system:kube-scheduler')}`,
        '--leader-elect=false',
        '--authentication-skip-lookup=true',
        '--secure-port=0',
      ],
      logFile('kube-scheduler'),
    ),
  );
  await etcd.start();
  await apiserver.start();
  await Promise.all([controllers.start(), scheduler.start()]);

  return {
    authority,
    kubeconfig,
    url,
    etcd,
    apiserver,
    controllers,
    scheduler,
    kubeconfigOf,
    async audit() {
      // Events are written as answers end; this one ends after all that the caller has seen.
      const marker = `/api/v1/namespaces/${randomBytes(8).toString('hex')}`;
      if ((await status.ask(marker)) === undefined)
        throw new Error('the audit log is complete only when the server answers: start it first');
      return readAuditLog(files.auditFile, marker);
    },
    close: () => status.close(),
  };
}
