// Which API server does a suite get? One that an earlier suite of this worker gave back, with etcd as it was after the start, or a
// new one: a start takes six seconds of a core, and most suites need no flag of their own.

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { makeStatusAsker } from './ask-status.ts';
import { type Child, startChild, untilReady } from './child.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { readKeys, restoreKeys, type Snapshot } from './etcd-keys.ts';
import { freePort } from './free-port.ts';
import { makePlaneFiles, type PlaneFiles } from './plane-files.ts';
import { sharedCluster } from './shared.ts';

export interface ServerOptions {
  /** Such as `--min-request-timeout=10`, `--etcd-compaction-interval=10s`, `--goaway-chance=0.02`. */
  readonly apiserverFlags?: readonly string[];
  /** Default: the run's etcd, which must never be frozen: other suites use it. */
  readonly hasOwnEtcd?: boolean;
  /** The API server serves no other suite before or after: for suites that change its files. With own flags, etcd or memory it never does. */
  readonly isOwn?: boolean;
  /** Its address, and that of its Services is of the same family; default 127.0.0.1. With an own one it serves no other suite. */
  readonly host?: '::1';
  /** Of the API server, default 1. Ten thousand objects of ours fill that, and from there on each answer waits for the collection of garbage. */
  readonly memoryGib?: number;
}

export interface ApiServer {
  readonly url: string;
  readonly ca: string;
  readonly adminToken: string;
  readonly files: PlaneFiles;
  readonly etcd: Etcd | undefined;
  readonly etcdPrefix: string;
  /** It has no flags, etcd or files of one suite: another may have it next. */
  readonly isForAnyone: boolean;
  pid(): number | undefined;
  /** The status of an answer; undefined where none came within 5 s. */
  ask(path: string): Promise<number | undefined>;
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Until `wake` it is no part of what runs for a suite. False where it cannot be made as it was: it is not running. */
  makeEmpty(): Promise<boolean>;
  wake(): void;
  close(): Promise<void>;
}

/** Between two suites of this worker, the latest last. The process of the worker ends them with itself. */
const kept: ApiServer[] = [];
/** More than a suite uses at once would only take memory. */
const mostKept = 2;
/** Keys which a server writes all the time, or some seconds after its start. */
const ofTheServer =
  /^\/(?:leases\/kube-system|masterleases|peerserverleases|ranges|servicecidrs)\/|\/default\/kubernetes$|^\/ipaddresses\/10\.0\.0\.1$/;

export async function takeServer(options: ServerOptions): Promise<ApiServer> {
  const found = isForAnyone(options) ? kept.pop() : undefined;
  found?.wake();
  return found ?? (await startServer(options));
}

export async function giveBackServer(server: ApiServer): Promise<void> {
  if (server.isForAnyone && kept.length < mostKept && (await server.makeEmpty())) kept.push(server);
  else await server.close();
}

function isForAnyone({ apiserverFlags, hasOwnEtcd, memoryGib, isOwn, host }: ServerOptions): boolean {
  const isPlain = apiserverFlags === undefined && memoryGib === undefined && host === undefined;
  return isPlain && hasOwnEtcd !== true && isOwn !== true;
}

async function startServer(options: ServerOptions): Promise<ApiServer> {
  const shared = await sharedCluster();
  const folder = await mkdtemp(join(shared.folder, 'server-'));
  const adminToken = randomBytes(16).toString('hex');
  const { host = '127.0.0.1' } = options;
  const files = await makePlaneFiles(folder, adminToken, { addresses: [host] });
  const ca = await readFile(files.authority.certFile, 'utf8');
  const port = await freePort(host);
  const url = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const etcd = options.hasOwnEtcd ? await startEtcd(shared.programs.etcd, join(folder, 'etcd')) : undefined;
  const etcdUrl = etcd?.url ?? shared.etcdUrl;
  const status = makeStatusAsker({ url, ca, token: adminToken });
  const etcdPrefix = `/${randomUUID()}`;
  const flags = [
    `--etcd-servers=${etcdUrl}`,
    `--etcd-prefix=${etcdPrefix}`,
    `--bind-address=${host}`,
    `--secure-port=${port}`,
    ...files.serverFlags,
    '--authorization-mode=RBAC',
    `--service-cluster-ip-range=${isIPv6(host) ? 'fd00:10::/112' : '10.0.0.0/24'}`,
    // Pods of tests name no ServiceAccount that must exist, and mount no token.
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
    ...(options.apiserverFlags ?? []),
  ];
  let server: Child | undefined;
  let isFrozen = false;
  let emptyKeys: Snapshot;
  let emptyServed: string;

  async function start(): Promise<void> {
    const logFile = join(folder, 'kube-apiserver.log');
    server = await startChild(shared.programs['kube-apiserver'], flags, logFile, options.memoryGib);
    await untilReady('kube-apiserver', server, logFile, async () => {
      // The namespaces of the system are made beside the first answers; tests expect `default`.
      const paths = ['/readyz', '/api/v1/namespaces/default'];
      for (const path of paths) if ((await status.ask(path)) !== 200) return false;
      return true;
    });
  }

  /** The groups of its API and its namespaces, as it has read them from etcd. */
  async function whatIsServed(): Promise<string> {
    const [groups, namespaces] = await Promise.all([
      status.read('/apis'),
      status.read('/api/v1/namespaces?resourceVersion=0'),
    ]);
    const names = (text: string) => [...text.matchAll(/"name":\s*"([^"]+)"/g)].map(([, name]) => name);
    return [...names(groups), '-', ...names(namespaces)].toSorted().join(' ');
  }

  async function close(): Promise<void> {
    await server?.kill();
    await etcd?.stop();
    status.close();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    await start();
    emptyKeys = await readKeys(etcdUrl, etcdPrefix);
    emptyServed = await whatIsServed();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url,
    ca,
    adminToken,
    files,
    etcd,
    etcdPrefix,
    isForAnyone: isForAnyone(options),
    pid: () => server?.pid,
    ask: status.ask,
    freeze() {
      isFrozen = true;
      server?.signal('SIGSTOP');
    },
    thaw() {
      isFrozen = false;
      server?.signal('SIGCONT');
    },
    kill: async () => server?.kill(),
    async restart() {
      await server?.kill();
      isFrozen = false;
      await start();
    },
    async makeEmpty() {
      if (isFrozen || server?.isRunning() !== true) return false;
      await restoreKeys(etcdUrl, etcdPrefix, emptyKeys, (key) => ofTheServer.test(key));
      await until(async () => (await whatIsServed()) === emptyServed);
      await truncate(files.auditFile);
      server.unref();
      return true;
    },
    wake: () => server?.ref(),
    close,
  };
}
