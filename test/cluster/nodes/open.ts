// On which cluster do tests that need nodes run? On the one that is named, else on this machine's own, else on one of kind.

import type { NodeCluster } from './cluster.ts';
import { importByCommand, ownersPrograms, useCluster } from './given.ts';
import { missingForKind, startKind } from './kind.ts';
import { missingForNodes } from './requirements.ts';
import { type StartOptions, startNodes } from './start.ts';

/** Each way: what is against it, in a clause, and how it is gone. */
export interface Way {
  readonly name: string;
  missing(): Promise<string | undefined>;
  open(options: StartOptions): Promise<NodeCluster>;
}

const ownWay: Way = { name: 'nodes of our own', missing: () => missingForNodes(), open: startNodes };
const kindWay: Way = {
  name: 'kind',
  missing: missingForKind,
  open: (options) => startKind(options.nodes),
};

/** Whether `openNodes` will give one with a `machine`. */
export async function isOwn(env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  return !env.PENSTOCK_E2E_KUBECONFIG && (await ownWay.missing()) === undefined;
}

/**
 * `PENSTOCK_E2E_KUBECONFIG` names a cluster to use, whatever else there is.
 *
 * @throws one sentence that names what was tried and the way out.
 */
export async function openNodes(
  options: StartOptions = {},
  env: NodeJS.ProcessEnv = process.env,
  ways: readonly Way[] = [ownWay, kindWay],
): Promise<NodeCluster> {
  const kubeconfig = env.PENSTOCK_E2E_KUBECONFIG;
  if (kubeconfig)
    return useCluster({
      kubeconfig,
      programs: ownersPrograms,
      importImage: importByCommand(env.PENSTOCK_E2E_IMPORT),
    });
  const reasons: string[] = [];
  for (const way of ways) {
    const missing = await way.missing();
    if (missing === undefined) return way.open(options);
    reasons.push(`${way.name}: ${missing}`);
  }
  throw new Error(
    `These tests need a cluster with nodes, and there is none (${reasons.join('; ')}): run them as root on Linux, or install kind, or name a cluster by PENSTOCK_E2E_KUBECONFIG`,
  );
}
