// How does the etcd of the test cluster run? In a folder of its own, without fsync: what it holds need not outlive the tests.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild, untilReady } from './child.ts';
import { freePort } from './free-port.ts';

export interface Etcd {
  readonly url: string;
  readonly pid: number;
  /** SIGSTOP: connections stay open and nothing is answered. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export async function startEtcd(program: string, folder: string): Promise<Etcd> {
  await mkdir(folder, { recursive: true });
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const logFile = join(folder, 'etcd.log');
  const child = await startChild(
    program,
    [
      `--data-dir=${join(folder, 'data')}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
    ],
    logFile,
  );
  try {
    await untilReady('etcd', child, logFile, async () => {
      const answer = await fetch(`${url}/readyz`).catch(() => undefined);
      return answer?.ok === true;
    });
  } catch (error) {
    await child.kill();
    throw error;
  }
  return {
    url,
    pid: child.pid,
    freeze: () => child.signal('SIGSTOP'),
    thaw: () => child.signal('SIGCONT'),
    stop: () => child.kill(),
  };
}
