// How is a cluster used that somebody else runs? By its kubeconfig; images come to it by a command of its owner's.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareEnvironment } from '../../support/bare-environment.ts';
import { makeKubectl } from '../kubectl.ts';
import { run } from '../run.ts';
import type { NodeCluster, ServicePort } from './cluster.ts';

export interface GivenCluster {
  readonly kubeconfig: string;
  readonly programs: NodeCluster['programs'];
  importImage(archive: string): Promise<void>;
  /** What is done at the end beyond our own things. */
  readonly stop?: () => Promise<void>;
}

/** Where the cluster is not ours, its owner's programs are on the PATH. */
export const ownersPrograms: NodeCluster['programs'] = { kubectl: 'kubectl', helm: 'helm' };

export async function useCluster(given: GivenCluster): Promise<NodeCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-given-cluster-'));
  const asked = makeKubectl({
    program: given.programs.kubectl,
    kubeconfig: given.kubeconfig,
    cacheFolder: join(folder, 'kubectl-cache'),
  });
  const listed = await asked.kubectl(['get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}']);
  if (listed.code !== 0) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`The cluster of ${given.kubeconfig} cannot be asked with kubectl: ${listed.lastLine}`);
  }
  const forwards: { stop(): Promise<void> }[] = [];
  return {
    ...asked,
    adminKubeconfig: given.kubeconfig,
    programs: given.programs,
    folder,
    nodeNames: listed.stdout.trim().split(/\s+/),
    importImage: given.importImage,
    async reach(service) {
      const forward = await portForward(given, service);
      forwards.push(forward);
      return forward.url;
    },
    async stop() {
      await Promise.all(forwards.map((forward) => forward.stop()));
      await given.stop?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Owner's words, with the path of the archive at its end: `PENSTOCK_E2E_IMPORT='skopeo-to-my-registry'`. */
export function importByCommand(command: string | undefined): GivenCluster['importImage'] {
  return async (archive) => {
    if (!command)
      throw new Error(
        'PENSTOCK_E2E_KUBECONFIG names a cluster, and PENSTOCK_E2E_IMPORT no command that brings an OCI archive onto its nodes: set it; the path of the archive is appended',
      );
    const { code, lastLine } = await run('sh', ['-c', `${command} "$1"`, 'sh', archive], {
      timeoutMs: 300_000,
    });
    if (code !== 0) throw new Error(`${command} ${archive} failed: ${lastLine}`);
  };
}

async function portForward(
  { programs, kubeconfig }: GivenCluster,
  { namespace, service, port }: ServicePort,
): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn(
    programs.kubectl,
    ['port-forward', '--namespace', namespace, `service/${service}`, `:${port}`],
    {
      env: { ...bareEnvironment(), KUBECONFIG: kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const ended = once(child, 'exit');
  let text = '';
  const local = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        const found = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
    void ended.then(() =>
      reject(new Error(`kubectl port-forward to ${namespace}/${service} ended: ${text}`)),
    );
  });
  return {
    url: `http://127.0.0.1:${local}`,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
