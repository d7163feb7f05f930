// A cluster that is watched, and the API server behind it, for a test that changes one and looks at the other.

import { type Clock, systemClock } from '../../../core/clock.ts';
import { type KubeClient, KubeError, type KubeStream } from '../../../core/kube/client.ts';
import {
  type Cluster,
  type ClusterChange,
  type ClusterOptions,
  openCluster,
} from '../../../operator/watch/cluster.ts';
import type { WatchTrouble } from '../../../operator/watch/readings.ts';
import { PLATFORM } from '../make.ts';

export const TABLE_NAMESPACE = 'penstock-tables';
export const RELEASE_NAMESPACE = 'penstock-system';

/** Retries soon, however often it was refused. A longer wait sets the timer again. */
const impatientClock: Clock = {
  ...systemClock,
  setTimer: (ms, callback) => systemClock.setTimer(Math.min(ms, 200), callback),
};

export interface Watched {
  readonly cluster: Cluster;
  /** Since they were last asked for. */
  takeChanges(): ClusterChange[];
  readonly troubles: readonly WatchTrouble[];
  /** Settled as soon as it holds: looked at now and after every change that is reported. */
  until(holds: () => boolean): Promise<void>;
}

export interface Connection extends KubeClient {
  /** Whatever is open breaks off, and nothing comes through. */
  cut(): void;
  mend(): void;
  /** The same; and what happened at the same time is compacted away, so that no watch can go on where it was. */
  mendTooLate(): void;
}

export async function watchCluster(
  client: KubeClient,
  options: Partial<ClusterOptions> = {},
): Promise<Watched & { close(): Promise<void> }> {
  let changes: ClusterChange[] = [];
  const troubles: WatchTrouble[] = [];
  const waiting = new Set<() => void>();
  const cluster = openCluster({
    client,
    clock: impatientClock,
    random: () => 0,
    tenantNamespaces: [],
    instance: 'penstock',
    namespace: RELEASE_NAMESPACE,
    tableNamespace: TABLE_NAMESPACE,
    gatewaySelector: 'app=gateway',
    platform: PLATFORM,
    onChange(change) {
      changes.push(change);
      for (const look of waiting) look();
    },
    onTrouble: (trouble) => troubles.push(trouble),
    ...options,
  });
  const until = (holds: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  await cluster.synced;
  // That their watch is open is reported as well, at a moment that no test knows.
  await until(cluster.areGatewayPodsKnown);
  return {
    cluster,
    troubles,
    takeChanges() {
      const taken = changes;
      changes = [];
      return taken;
    },
    until,
    close: () => cluster.close(),
  };
}

/** A connection to a real server that a test can break. */
export function breakable(client: KubeClient): Connection {
  const open = new Set<KubeStream>();
  /** Watches that have been refused since it was mended too late; undefined where all may go on. */
  let refused: Set<string> | undefined;
  let isCut = false;
  const pass = (path: string): void => {
    if (isCut) throw new KubeError(0, 'Unreachable', `${path}: the line is cut`);
  };
  return {
    async call(request) {
      pass(request.path);
      return await client.call(request);
    },
    async stream(request) {
      pass(request.path);
      const watch = `${request.path} ${JSON.stringify([request.query?.labelSelector, request.query?.fieldSelector])}`;
      if (refused !== undefined && !refused.has(watch)) {
        refused.add(watch);
        throw new KubeError(410, 'Expired', `${request.path}: too old resource version`);
      }
      const stream = await client.stream(request);
      // Cut while it was being opened.
      if (isCut) stream.close();
      pass(request.path);
      open.add(stream);
      return stream;
    },
    close: () => client.close(),
    cut() {
      isCut = true;
      for (const stream of open) stream.close();
      open.clear();
    },
    mend() {
      isCut = false;
    },
    mendTooLate() {
      isCut = false;
      refused = new Set();
    },
  };
}
