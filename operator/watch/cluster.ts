// What is in the cluster now? Everything that the operator watches, kept up to date and given as one Snapshot. Objects are parsed once, on
// arrival; readers get plain values.

import type { Clock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import { createPolicyJudge } from '../compile/judge-policies.ts';
import type { Kind } from '../resources/resource.ts';
import { createDeletions } from './deletions.ts';
import type { GatewayPod } from './gateway-pods.ts';
import type { Pointer } from './pointer.ts';
import { openReadings, type WatchName, type WatchTrouble } from './readings.ts';
import { latestForm } from './resources.ts';
import { createSecretIndex, type HeldSecret } from './secrets.ts';
import type { PlatformSettings, RawObject, RawPolicy, Snapshot } from './snapshot.ts';
import { createSnapshotCache, type ListName } from './snapshot-cache.ts';
import type { Urgency } from './urgency.ts';
import { watchNamespaces } from './watch-namespaces.ts';
import { createWatchedObjects } from './watch-objects.ts';
import { watchPods } from './watch-pods.ts';
import { isOfOtherValues, watchPolicies } from './watch-policies.ts';
import { watchSecrets } from './watch-secrets.ts';
import { watchTable } from './watch-table.ts';

export interface ClusterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** Empty: the whole cluster. Else nothing outside of these is asked for. */
  readonly tenantNamespaces: readonly string[];
  readonly instance: string;
  /** Of the gateway Pods. */
  readonly namespace: string;
  readonly tableNamespace: string;
  /** Label selector. */
  readonly gatewaySelector: string;
  readonly platform: PlatformSettings;
  /** TenantPolicies of the chart's values: each holds until there is an object of its name. */
  readonly policies?: readonly RawPolicy[] | undefined;
  /** Not called before everything has been read once; then, once for each change. */
  onChange(change: ClusterChange): void;
  onTrouble(trouble: WatchTrouble): void;
}

export type ClusterChange =
  /** The snapshot has changed. */
  | { readonly type: 'resources'; readonly urgency: Urgency }
  /** The ready gateway pods have changed, or whether they are known. */
  | { readonly type: 'pods' }
  /** The pointer was created, deleted or changed; a heartbeat alone is not reported. */
  | { readonly type: 'pointer' }
  /** A shard was deleted; another Secret of its name may be there now. */
  | { readonly type: 'shard-gone'; readonly name: string }
  /** Only the status has changed: written here, or by a former leader while the watch was away. */
  | { readonly type: 'status'; readonly kind: Kind; readonly key: string }
  | { readonly type: 'policy-status'; readonly name: string };

export interface Cluster {
  /** The present snapshot; the identical value while nothing has changed. Not complete until `synced`. */
  snapshot(): Snapshot;
  /** After everything that may be read was read once. Rejects where it is closed before. */
  readonly synced: Promise<void>;
  hasSynced(): boolean;
  /** The last read object, with its status; undefined without one. */
  policy(name: string): RawPolicy | undefined;
  /** As it was read last, with its status. */
  object(kind: Kind, namespace: string, name: string): RawObject | undefined;
  /** For metrics: of every object of the kind, as it was read last. */
  statuses(kind: Kind): Iterable<unknown>;
  /** The Secret with an issued key, as it was read last. */
  issuedSecret(namespace: string, name: string): HeldSecret | undefined;
  /**
   * Whether the watch has reported the deletion of a missing object, or its start. False: the object exists, never existed, or was only
   * missing in a later list, which can be a fault of the API server.
   *
   * @param id `namespace/name`.
   */
  wasSeenDeleted(kind: Kind | 'Secret', id: string): boolean;
  /**
   * Served namespaces that were never read completely, because the API server forbids it: a missing object may exist there. Empty if the
   * whole cluster is served.
   */
  unreadableNamespaces(): ReadonlySet<string>;
  /** By name. */
  readyGatewayPods(): readonly GatewayPod[];
  /** False while their watch is not open: there may be others by now. */
  areGatewayPodsKnown(): boolean;
  pointer(): Pointer | undefined;
  /** For metrics: how long nothing has come, at worst, on the watches of one name. */
  watchIdle(): { readonly watch: WatchName; readonly idleMs: number }[];
  /** For metrics: how often each watch had to read everything again. */
  relists(): { readonly watch: WatchName; readonly count: number }[];
  close(): Promise<void>;
}

export function openCluster(options: ClusterOptions): Cluster {
  const { tenantNamespaces, instance } = options;
  const deletions = createDeletions();
  const secretIndex = createSecretIndex();
  let isNotified = false;

  const readings = openReadings({
    ...options,
    onAllowed: () => notify({ type: 'resources', urgency: 'edit' }),
  });
  const objects = createWatchedObjects({
    ...options,
    readings,
    deletions,
    onChange: resourcesChanged,
    onStatus: (kind, key) => notify({ type: 'status', kind, key }),
  });
  for (const kind of ['Provider', 'ModelRoute', 'ApiKey'] as const) objects.watchObjects(kind);
  const namespaces = watchNamespaces(readings, tenantNamespaces, (urgency) =>
    resourcesChanged('Namespace', urgency),
  );
  const policies = watchPolicies(readings, {
    onChange: () => resourcesChanged('TenantPolicy', 'revocation'),
    onStatus: (name) => notify({ type: 'policy-status', name }),
  });
  const judgePolicies = createPolicyJudge(options.platform);
  watchSecrets({
    readings,
    deletions,
    index: secretIndex,
    instance,
    onChange(change) {
      if (change !== 'none') resourcesChanged('Secret', change);
    },
  });
  objects.watchConfigMaps();
  const pods = watchPods(readings, options, () => notify({ type: 'pods' }));
  const pointer = watchTable({
    ...options,
    readings,
    onPointer: () => notify({ type: 'pointer' }),
    onShardGone: (name) => notify({ type: 'shard-gone', name }),
  });
  const snapshotCache = createSnapshotCache(
    {
      ...objects.lists,
      Secret: secretIndex.list,
      Namespace: () => [...namespaces.values()],
      TenantPolicy: () => judgePolicies(policiesNow()),
    },
    options.platform,
  );

  const synced = readings
    .settled()
    .then(objects.settled)
    .then(() => {
      isNotified = true;
      notify({ type: 'resources', urgency: 'edit' });
      for (const type of ['pods', 'pointer'] as const) notify({ type });
    });
  // An early close does not wait for it.
  synced.catch(() => undefined);

  return {
    snapshot: snapshotCache.get,
    synced,
    hasSynced: readings.hasSynced,
    object(kind, namespace, name) {
      const held = objects.held[kind].get(`${namespace}/${name}`);
      return held === undefined ? undefined : latestForm(held);
    },
    policy(name) {
      const held = policies.get(name);
      return held === undefined ? undefined : latestForm(held);
    },
    statuses: (kind) => objects.held[kind].values().map(({ status }) => status),
    issuedSecret: (namespace, name) => secretIndex.issued(`${namespace}/${name}`),
    wasSeenDeleted(kind, id) {
      if (deletions.has(kind, id)) return true;
      return kind !== 'Secret' && objects.held[kind].get(id)?.wish.metadata.deletionTimestamp !== undefined;
    },
    unreadableNamespaces: readings.unreadableNamespaces,
    readyGatewayPods: pods.ready,
    areGatewayPodsKnown: pods.areKnown,
    pointer,
    watchIdle: readings.idle,
    relists: readings.relists,
    async close() {
      isNotified = false;
      objects.close();
      await readings.close();
    },
  };

  function policiesNow(): readonly RawPolicy[] {
    const values = (options.policies ?? []).filter(({ metadata }) => !policies.has(metadata.name));
    const objects = [...policies.values()].map(({ wish }) => wish);
    return [...values, ...objects.filter((policy) => !isOfOtherValues(policy, instance))];
  }

  function notify(change: ClusterChange): void {
    if (isNotified) options.onChange(change);
  }

  function resourcesChanged(list: ListName, urgency: Urgency): void {
    snapshotCache.drop(list);
    notify({ type: 'resources', urgency });
  }
}
