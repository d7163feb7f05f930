// What does a command of a message or a guide do, pasted into a shell as it is?

import { dirname } from 'node:path';
import type { ControlPlane } from './control-plane.ts';
import { type Ran, run } from './run.ts';

/** As the administrator of the cluster. What kubectl remembers of a server stays in the folder of that server. */
export function pasted({ adminKubeconfig, folder, programs }: ControlPlane, command: string): Promise<Ran> {
  const path = `${dirname(programs.kubectl)}:${process.env.PATH}`;
  const env = { PATH: path, HOME: folder, KUBECONFIG: adminKubeconfig };
  return run('sh', ['-c', command], { env });
}
