// How is a cluster of kind used, where Docker runs and a user has it?

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { run } from '../run.ts';
import type { NodeCluster } from './cluster.ts';
import { ownersPrograms, useCluster } from './given.ts';
import { makeRunName } from './run-name.ts';

/** Nothing, or one clause that says why not. */
export async function missingForKind(): Promise<string | undefined> {
  if ((await run('kind', ['version'])).code !== 0) return 'there is no command "kind"';
  if ((await run('docker', ['info'])).code !== 0) return 'kind is there, and no Docker that answers';
  if ((await run('kubectl', ['version', '--client'])).code !== 0)
    return 'kind is there, and no command "kubectl"';
  return undefined;
}

export async function startKind(nodeCount = 2): Promise<NodeCluster> {
  const name = makeRunName();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-kind-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const remove = async () => {
    await run('kind', ['delete', 'cluster', '--name', name, '--kubeconfig', kubeconfig], {
      timeoutMs: 120_000,
    });
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // The node of the control plane takes pods only where it is the only one.
    const roles = ['control-plane', ...Array.from({ length: nodeCount }, () => 'worker')];
    const config = join(folder, 'kind.yaml');
    await writeFile(
      config,
      stringify({
        apiVersion: 'kind.x-k8s.io/v1alpha4',
        kind: 'Cluster',
        nodes: roles.map((role) => ({ role })),
      }),
    );
    await must('kind', [
      'create',
      'cluster',
      '--name',
      name,
      '--config',
      config,
      '--kubeconfig',
      kubeconfig,
      '--wait',
      '180s',
    ]);
    return await useCluster({
      kubeconfig,
      programs: ownersPrograms,
      importImage: (archive) => must('kind', ['load', 'image-archive', archive, '--name', name]),
      stop: remove,
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

async function must(command: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await run(command, args, { timeoutMs: 600_000 });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr.trim()}`);
}
