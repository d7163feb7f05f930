// What do all cluster suites of a run share? The programs, one etcd, and a folder, prepared by the run's main process.

import { inject } from 'vitest';
import { buildWaitMs } from '../support/go-build.ts';
import type { Programs } from './programs.ts';
import { awaitState } from './state.ts';

declare module 'vitest' {
  interface ProvidedContext {
    clusterFolder: string;
  }
}

export interface SharedCluster {
  readonly programs: Programs;
  readonly etcdUrl: string;
  /** Of this run, deleted at its end. */
  readonly folder: string;
}

/** How long a suite may wait for it: the programs may have to be built first, which goes on as long as it makes progress. */
export const clusterWaitMs = buildWaitMs;

/** Settled when the parts are there. @throws with the sentence of whatever made that impossible. */
export async function sharedCluster(): Promise<SharedCluster> {
  const folder = inject('clusterFolder');
  const state = await awaitState(folder);
  if ('failed' in state) throw new Error(state.failed);
  return { ...state, folder };
}
