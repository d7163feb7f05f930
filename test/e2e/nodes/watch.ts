// Which values did something of the cluster have, one after the other? As `kubectl get --watch` tells them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild, untilReady } from '../../cluster/child.ts';
import type { NodeCluster } from '../../cluster/nodes/cluster.ts';

export interface Watch {
  /** All values so far, the first of them from when the watch began; the same one may come twice. */
  values(): Promise<string[]>;
  end(): Promise<void>;
}

/** `what`: as `kubectl get` takes it. `path`: of JSONPath. Settled when the first value is there. */
export async function watchValue(
  cluster: NodeCluster,
  name: string,
  what: readonly string[],
  path: string,
): Promise<Watch> {
  const log = join(cluster.folder, `watch-${name}.log`);
  const child = await startChild(
    cluster.programs.kubectl,
    [
      ...[`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${join(cluster.folder, 'kubectl-cache')}`],
      ...['get', ...what, '--watch', '-o', `jsonpath={${path}}{"\\n"}`],
    ],
    log,
  );
  const values = async () => (await readFile(log, 'utf8')).split('\n').slice(0, -1);
  try {
    await untilReady(`the watch of ${name}`, child, log, async () => (await values()).length > 0);
  } catch (error) {
    await child.kill();
    throw error;
  }
  return {
    async values() {
      // A watch that broke off has reported nothing since.
      if (!child.isRunning()) throw new Error(`the watch of ${name} ended: ${(await values()).at(-1)}`);
      return values();
    },
    end: () => child.kill(),
  };
}
