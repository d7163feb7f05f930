// What does a command of a message or a guide do, pasted into a shell as it is?

import { dirname } from 'node:path';
import type { NodeCluster } from './nodes/cluster.ts';
import { type Ran, type RunOptions, run } from './run.ts';

/**
 * As the administrator of the cluster, in the folder of the project. What kubectl and helm remember of a server stays in the folder of
 * that server.
 */
export function pasted(
  { adminKubeconfig, folder, programs }: Pick<NodeCluster, 'adminKubeconfig' | 'folder' | 'programs'>,
  command: string,
  options: Pick<RunOptions, 'timeoutMs'> = {},
): Promise<Ran> {
  const path = [programs.helm, programs.kubectl].map((program) => dirname(program)).join(':');
  const env = { PATH: `${path}:${process.env.PATH}`, HOME: folder, KUBECONFIG: adminKubeconfig };
  return run('sh', ['-ec', command], { env, ...options });
}
