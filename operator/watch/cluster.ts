// What is in the cluster now? Everything that the operator watches, kept up to date and given as one Snapshot.
// What came in is looked at once, on arrival; who asks gets plain values.

import { INSTANCE_LABEL, pointerName, SHARD_LABEL } from '../../core/contract/manifest.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { Clock } from '../../core/kube/clock.ts';
import type { KubeObject } from '../../core/kube/object.ts';
import {
  collectionPath,
  configMaps,
  namespaces,
  pods,
  type Resource,
  secrets,
} from '../../core/kube/paths.ts';
import { type Reflector, type ReflectorEvent, startReflector, type Trouble } from '../../core/kube/watch.ts';
import { createChangingList } from '../lists/changing-list.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { Kind } from '../resources/resource.ts';
import { configMapNamedBy, createConfigMapReader } from './config-maps.ts';
import { createDeletions } from './deletions.ts';
import { type GatewayPod, readGatewayPod } from './gateway-pods.ts';
import { sameTexts } from './metadata-texts.ts';
import { isSamePointer, type Pointer, readPointer } from './pointer.ts';
import { type HeldObject, holdObject, isSameWish, latestForm } from './resources.ts';
import { isRevocation } from './revocation.ts';
import {
  createSecretIndex,
  type HeldSecret,
  readPlace,
  readSecret,
  SECRET_SELECTORS,
  type SecretChange,
  type SecretView,
} from './secrets.ts';
import type { NamespaceRecord, PlatformSettings, RawObject, Snapshot } from './snapshot.ts';
import { createStatusPool } from './status-pool.ts';

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
  /** Nothing is told before everything has been read once; then, once of each. */
  onChange(change: ClusterChange): void;
  onTrouble(trouble: ClusterTrouble): void;
}

export type ClusterChange =
  /** The snapshot is another one. Urgent where somebody lost something. */
  | { readonly type: 'resources'; readonly isUrgent: boolean }
  /** The ready gateway pods are others, or it is another matter whether they are known. */
  | { readonly type: 'pods' }
  /** The pointer came, went, or holds something else; a heartbeat alone is not told. */
  | { readonly type: 'pointer' }
  /** A shard was deleted; somebody may have put another one in its place. */
  | { readonly type: 'shard-gone'; readonly name: string }
  /** The status alone is another one: written here, or by a former leader while the watch was away. */
  | { readonly type: 'status'; readonly kind: Kind; readonly key: string };

export interface ClusterTrouble extends Trouble {
  readonly watch: WatchName;
  /** Where only this one is watched. */
  readonly namespace?: string;
}

export type WatchName =
  | Kind
  | 'Namespace'
  | 'Pod'
  | 'Secret'
  | 'CredentialSecret'
  | 'ConfigMap'
  | 'IssuedSecret'
  | 'Pointer'
  | 'Shard';

export interface Cluster {
  /** Of now; the same value as before where nothing has changed. Not complete until `synced`. */
  snapshot(): Snapshot;
  /** After everything that may be read was read once. Rejects where it is closed before. */
  readonly synced: Promise<void>;
  hasSynced(): boolean;
  /** As it was read last, with its status. */
  object(kind: Kind, namespace: string, name: string): RawObject | undefined;
  /** For metrics: of every object of the kind, as it was read last. */
  statuses(kind: Kind): Iterable<unknown>;
  /** The Secret with an issued key, as it was read last. */
  issuedSecret(namespace: string, name: string): HeldSecret | undefined;
  /**
   * Whether the deletion of what is not there was told, or has begun. False: it is there, was never there, or was
   * missing in a later list, which can be the fault of whoever answered it.
   *
   * @param id `namespace/name`.
   */
  wasSeenDeleted(kind: Kind | 'Secret', id: string): boolean;
  /**
   * Served namespaces of which something was never read, because the API server forbids it: what is not there may
   * be there all the same. None where the whole cluster is served.
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

const PLURALS: Readonly<Record<Kind, string>> = {
  Provider: 'providers',
  ModelRoute: 'modelroutes',
  ApiKey: 'apikeys',
};

/** What makes one watch; the path is built from the resource and the namespace. */
interface Watched<T> {
  readonly name: WatchName;
  readonly resource: Resource;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly metadataOnly?: boolean;
  convert(object: KubeObject): T;
  onEvent(event: Exclude<ReflectorEvent<T>, { type: 'listed' }>): void;
  onOpen?(isOpen: boolean): void;
}

export function openCluster(options: ClusterOptions): Cluster {
  const { clock, tenantNamespaces } = options;
  const reflectors: Reading[] = [];
  const deletions = createDeletions();
  const objects: Readonly<Record<Kind, Map<string, HeldObject>>> = {
    Provider: new Map(),
    ModelRoute: new Map(),
    ApiKey: new Map(),
  };
  /** As users wish them to be. */
  const apiKeys = createChangingList<RawObject>();
  const namespaceRecords = new Map<string, NamespaceRecord>();
  const secretIndex = createSecretIndex();
  const statusPool = createStatusPool();
  const configMapReader = createConfigMapReader({
    client: options.client,
    clock,
    random: options.random,
    onChange: configMapChanged,
    onTrouble: (trouble) => options.onTrouble({ watch: 'ConfigMap', ...trouble }),
  });
  /**
   * Providers that name a ConfigMap which is being read, each as it was before: undefined where it is new. To judge one
   * without its authority would take it out of service for these moments.
   */
  const heldBack = new Map<string, RawObject | undefined>();
  const gatewayPods = new Map<string, GatewayPod>();
  let areGatewayPodsKnown = false;
  let pointer: Pointer | undefined;
  let isTold = false;

  const snapshotCache = createSnapshotCache(buildLists(), options.platform);

  for (const kind of ['Provider', 'ModelRoute', 'ApiKey'] as const) watchObjects(kind);
  watchNamespaces();
  watchSecrets();
  watchConfigMaps();
  watchPods();
  watchTable();

  const allRead = Promise.all(reflectors.map(({ settled }) => settled)).then(configMapReader.settled);
  const synced = allRead.then(() => {
    isTold = true;
    tell({ type: 'resources', isUrgent: false });
    for (const type of ['pods', 'pointer'] as const) tell({ type });
  });
  // Who closes early need not wait for it.
  synced.catch(() => undefined);

  return {
    snapshot: snapshotCache.get,
    synced,
    hasSynced: () => reflectors.every((reading) => reading.isForbidden || reading.reflector.hasSynced()),
    object(kind, namespace, name) {
      const held = objects[kind].get(`${namespace}/${name}`);
      return held === undefined ? undefined : latestForm(held);
    },
    statuses: (kind) => objects[kind].values().map(({ status }) => status),
    issuedSecret: (namespace, name) => secretIndex.issued(`${namespace}/${name}`),
    wasSeenDeleted(kind, id) {
      if (deletions.has(kind, id)) return true;
      return kind !== 'Secret' && objects[kind].get(id)?.wish.metadata.deletionTimestamp !== undefined;
    },
    unreadableNamespaces: () =>
      new Set(
        reflectors.flatMap(({ isForbidden, namespace }) =>
          isForbidden && namespace !== undefined ? [namespace] : [],
        ),
      ),
    readyGatewayPods: () =>
      [...gatewayPods.values()].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))),
    areGatewayPodsKnown: () => areGatewayPodsKnown,
    pointer: () => pointer,
    watchIdle() {
      const idle = new Map<WatchName, number>();
      for (const { name, reflector } of reflectors) {
        idle.set(name, Math.max(idle.get(name) ?? 0, clock.now() - reflector.lastActivityMs()));
      }
      return [...idle].map(([watch, idleMs]) => ({ watch, idleMs }));
    },
    relists() {
      const relists = new Map<WatchName, number>();
      for (const { name, reflector } of reflectors) {
        const again = Math.max(0, reflector.stats().lists - 1);
        relists.set(name, (relists.get(name) ?? 0) + again);
      }
      return [...relists].map(([watch, count]) => ({ watch, count }));
    },
    async close() {
      isTold = false;
      configMapReader.close();
      await Promise.all(reflectors.map(({ reflector }) => reflector.close()));
    },
  };

  function tell(change: ClusterChange): void {
    if (isTold) options.onChange(change);
  }

  /** A tenant can take its namespace away from the operator; that is no reason to keep all others waiting. */
  function start<T>(watched: Watched<T>, namespace: string | undefined, isTenants = false): void {
    const { name, resource, labelSelector, fieldSelector, metadataOnly, convert, onEvent, onOpen } = watched;
    const { promise: settled, resolve: settle, reject } = Promise.withResolvers<void>();
    let isForbidden = false;
    const reflector = startReflector<T>({
      client: options.client,
      clock,
      random: options.random,
      path: collectionPath(resource, namespace),
      query: { labelSelector, fieldSelector },
      ...(metadataOnly === undefined ? {} : { metadataOnly }),
      convert,
      ...(onOpen === undefined ? {} : { onOpen }),
      onEvent(event) {
        if (event.type !== 'listed') {
          onEvent(event);
        } else if (isForbidden) {
          isForbidden = false;
          // What is not there now is known not to be there.
          tell({ type: 'resources', isUrgent: false });
        }
      },
      onTrouble(trouble) {
        if (isTenants && trouble.reason === 'Forbidden' && !reflector.hasSynced()) {
          isForbidden = true;
          settle();
        }
        options.onTrouble({ watch: name, ...(namespace === undefined ? {} : { namespace }), ...trouble });
      },
    });
    reflector.synced.then(settle, reject);
    reflectors.push({
      name,
      namespace: isTenants ? namespace : undefined,
      reflector,
      settled,
      get isForbidden() {
        return isForbidden;
      },
    });
  }

  /** In every namespace that the operator serves. */
  function startForTenants<T>(watched: Watched<T>): void {
    if (tenantNamespaces.length === 0) start(watched, undefined);
    else for (const namespace of tenantNamespaces) start(watched, namespace, true);
  }

  function watchObjects(kind: Kind): void {
    const held = objects[kind];
    startForTenants<HeldObject>({
      name: kind,
      resource: { group: API_GROUP, version: API_VERSION, plural: PLURALS[kind] },
      convert: (object) => holdObject(kind, { ...object, status: statusPool.share(object.status) }),
      onEvent(event) {
        const { key, object } = event;
        const before = held.get(key);
        if (event.type === 'deleted') {
          held.delete(key);
          heldBack.delete(key);
          if (kind === 'Provider') configMapReader.want(key, undefined);
          if (event.cause === 'seen') deletions.seen(kind, key);
          wishChanged(kind, before?.wish, undefined);
          return;
        }
        held.set(key, object);
        deletions.back(kind, key);
        if (before !== undefined && isSameWish(before.wish, object.wish)) {
          object.wish = before.wish;
          tell({ type: 'status', kind, key });
          return;
        }
        if (kind === 'Provider' && waitsForConfigMap(key, before?.wish, object.wish)) return;
        wishChanged(kind, before?.wish, object.wish);
      },
    });
  }

  function waitsForConfigMap(key: string, before: RawObject | undefined, wish: RawObject): boolean {
    const named = configMapNamedBy(wish);
    configMapReader.want(key, named);
    if (named === undefined || !configMapReader.isPending(named)) {
      heldBack.delete(key);
      return false;
    }
    if (!heldBack.has(key)) heldBack.set(key, before);
    return true;
  }

  function configMapChanged(configMap: string): void {
    for (const key of heldBack.keys()) {
      const wish = objects.Provider.get(key)?.wish;
      const named = wish && configMapNamedBy(wish);
      if (named !== configMap || configMapReader.isPending(configMap)) continue;
      heldBack.delete(key);
      // Whatever it was, it has waited already.
      resourcesChanged('Provider', true);
    }
    resourcesChanged('ConfigMap', true);
  }

  function watchConfigMaps(): void {
    startForTenants<string>({
      name: 'ConfigMap',
      resource: configMaps,
      metadataOnly: true,
      convert: ({ metadata: { resourceVersion = '' } }) => resourceVersion,
      onEvent({ type, key, object }) {
        if (type === 'upserted') configMapReader.placed(key, object);
        else configMapReader.displaced(key);
      },
    });
  }

  function wishChanged(kind: Kind, before: RawObject | undefined, after: RawObject | undefined): void {
    if (kind === 'ApiKey') apiKeys.replace(before, after);
    resourcesChanged(kind, isRevocation(kind, before, after));
  }

  function resourcesChanged(list: ListName, isUrgent: boolean): void {
    snapshotCache.drop(list);
    tell({ type: 'resources', isUrgent });
  }

  function watchNamespaces(): void {
    const watched: Watched<NamespaceRecord> = {
      name: 'Namespace',
      resource: namespaces,
      metadataOnly: true,
      convert: ({ metadata: { name, labels = {} } }) => ({ name, labels }),
      onEvent({ type, key, object }) {
        const before = namespaceRecords.get(key);
        if (type === 'deleted') namespaceRecords.delete(key);
        else if (sameTexts(before?.labels, object.labels) && before !== undefined) return;
        else namespaceRecords.set(key, object);
        // A label can be what a grant hung on.
        resourcesChanged('Namespace', before !== undefined);
      },
    };
    if (tenantNamespaces.length === 0) start(watched, undefined);
    // By name, so that a right on these names is enough.
    for (const name of tenantNamespaces) {
      start({ ...watched, fieldSelector: `metadata.name=${name}` }, undefined);
    }
  }

  function watchSecrets(): void {
    const settle = (change: SecretChange): void => {
      if (change !== 'none') resourcesChanged('Secret', change === 'withdrawn');
    };
    startForTenants({
      name: 'Secret',
      resource: secrets,
      // Our own table is nothing to look at: each shard that is written would be a reason to compile everything.
      labelSelector: `${INSTANCE_LABEL}!=${options.instance}`,
      metadataOnly: true,
      convert: readPlace,
      onEvent(event) {
        const { key, object } = event;
        if (event.type === 'upserted') {
          deletions.back('Secret', key);
          settle(secretIndex.placed(key, object));
          return;
        }
        // Of those that are none of our business, nobody will ask.
        if (event.cause === 'seen' && object.view !== undefined) deletions.seen('Secret', key);
        settle(secretIndex.displaced(key));
      },
    });
    const views = [
      ['CredentialSecret', 'credentials'],
      ['IssuedSecret', 'issued'],
    ] as const satisfies readonly (readonly [WatchName, SecretView])[];
    for (const [name, view] of views) {
      startForTenants({
        name,
        resource: secrets,
        labelSelector: SECRET_SELECTORS[view],
        convert: (object) => ({
          record: readSecret(object),
          resourceVersion: object.metadata.resourceVersion,
        }),
        onEvent({ type, key, object: { record, resourceVersion } }) {
          settle(
            type === 'upserted'
              ? secretIndex.valued(view, key, record, resourceVersion)
              : secretIndex.unvalued(view, key),
          );
        },
      });
    }
  }

  function watchPods(): void {
    start(
      {
        name: 'Pod',
        resource: pods,
        labelSelector: options.gatewaySelector,
        convert: (object) => ({ pod: readGatewayPod(object) }),
        onEvent({ type, key, object }) {
          const before = gatewayPods.get(key);
          const after = type === 'deleted' ? undefined : object.pod;
          if (isSamePod(before, after)) return;
          if (after === undefined) gatewayPods.delete(key);
          else gatewayPods.set(key, after);
          tell({ type: 'pods' });
        },
        onOpen(isOpen) {
          areGatewayPodsKnown = isOpen;
          tell({ type: 'pods' });
        },
      },
      options.namespace,
    );
  }

  function watchTable(): void {
    start<Pointer>(
      {
        name: 'Pointer',
        resource: secrets,
        fieldSelector: `metadata.name=${pointerName(options.instance)}`,
        convert: readPointer,
        onEvent({ type, object }) {
          const before = pointer;
          pointer = type === 'deleted' ? undefined : object;
          if (before === undefined || pointer === undefined || !isSamePointer(before, pointer)) {
            tell({ type: 'pointer' });
          }
        },
      },
      options.tableNamespace,
    );
    start(
      {
        name: 'Shard',
        resource: secrets,
        labelSelector: `${INSTANCE_LABEL}=${options.instance},${SHARD_LABEL}`,
        metadataOnly: true,
        convert: ({ metadata: { name, uid } }) => ({ name, uid }),
        onEvent(event) {
          const { name, uid } = event.object;
          // Deleted and made again while nobody told of it.
          const isAnother =
            event.type === 'upserted' && event.previous !== undefined && event.previous.uid !== uid;
          if (event.type === 'deleted' || isAnother) tell({ type: 'shard-gone', name });
        },
      },
      options.tableNamespace,
    );
  }

  function buildLists(): SnapshotLists {
    return {
      Provider: () =>
        [...objects.Provider].flatMap(([key, { wish }]) =>
          heldBack.has(key) ? (heldBack.get(key) ?? []) : wish,
        ),
      ModelRoute: () => [...objects.ModelRoute.values()].map(({ wish }) => wish),
      ApiKey: apiKeys.list,
      Secret: secretIndex.list,
      ConfigMap: () => [...configMapReader.records.values()],
      Namespace: () => [...namespaceRecords.values()],
    };
  }
}

/** One watch. */
interface Reading {
  readonly name: WatchName;
  /** Of a tenant; undefined for what belongs to the installation or the whole cluster. */
  readonly namespace: string | undefined;
  readonly reflector: Reflector<unknown>;
  /** It has been read once, or the API server forbids it. */
  readonly settled: Promise<void>;
  /** It was never read, and the API server forbids it. */
  readonly isForbidden: boolean;
}

function isSamePod(a: GatewayPod | undefined, b: GatewayPod | undefined): boolean {
  return a?.uid === b?.uid && a?.name === b?.name && a?.ip === b?.ip && a?.port === b?.port;
}

interface SnapshotLists {
  Provider(): readonly RawObject[];
  ModelRoute(): readonly RawObject[];
  ApiKey(): readonly RawObject[];
  Secret(): Snapshot['secrets'];
  ConfigMap(): Snapshot['configMaps'];
  Namespace(): Snapshot['namespaces'];
}
type ListName = keyof SnapshotLists;

/** Of six lists of up to 50,000, only those are built anew in which something changed. */
function createSnapshotCache(lists: SnapshotLists, platform: PlatformSettings) {
  let snapshot: Snapshot | undefined;
  let last: Partial<Snapshot> = {};
  const members = {
    Provider: 'providers',
    ModelRoute: 'modelRoutes',
    ApiKey: 'apiKeys',
    Secret: 'secrets',
    ConfigMap: 'configMaps',
    Namespace: 'namespaces',
  } as const satisfies Record<ListName, keyof Snapshot>;
  return {
    get(): Snapshot {
      snapshot ??= {
        providers: last.providers ?? lists.Provider(),
        modelRoutes: last.modelRoutes ?? lists.ModelRoute(),
        apiKeys: last.apiKeys ?? lists.ApiKey(),
        secrets: last.secrets ?? lists.Secret(),
        configMaps: last.configMaps ?? lists.ConfigMap(),
        namespaces: last.namespaces ?? lists.Namespace(),
        platform,
      };
      last = snapshot;
      return snapshot;
    },
    drop(list: ListName): void {
      const { [members[list]]: _, ...rest } = last;
      last = rest;
      snapshot = undefined;
    },
  };
}
