// Which objects of ours are there, and which ConfigMaps do Providers name? A Provider whose ConfigMap is being read stays as it
// was until then: to judge it without its authority would take it out of service for these moments.

import type { Clock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import { configMaps } from '../../core/kube/paths.ts';
import { createChangingList } from '../lists/changing-list.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { Kind } from '../resources/resource.ts';
import { configMapNamedBy, createConfigMapReader } from './config-maps.ts';
import type { Deletions } from './deletions.ts';
import type { Readings, WatchTrouble } from './readings.ts';
import { type HeldObject, holdObject, isSameWish } from './resources.ts';
import type { RawObject } from './snapshot.ts';
import type { ListName, SnapshotLists } from './snapshot-cache.ts';
import { createStatusPool } from './status-pool.ts';
import { type Urgency, urgencyOf } from './urgency.ts';

interface Parts {
  readonly client: KubeClient;
  readonly clock: Clock;
  random(): number;
  readonly readings: Readings;
  readonly deletions: Deletions;
  onChange(list: ListName, urgency: Urgency): void;
  /** Only the status has changed. */
  onStatus(kind: Kind, key: string): void;
  onTrouble(trouble: WatchTrouble): void;
}

interface WatchedObjects {
  /** By `namespace/name`. */
  readonly held: Readonly<Record<Kind, ReadonlyMap<string, HeldObject>>>;
  readonly lists: Pick<SnapshotLists, Kind | 'ConfigMap'>;
  watchObjects(kind: Kind): void;
  watchConfigMaps(): void;
  /** Every ConfigMap that is named has been read. */
  settled(): Promise<void>;
  close(): void;
}

const PLURALS: Readonly<Record<Kind, string>> = {
  Provider: 'providers',
  ModelRoute: 'modelroutes',
  ApiKey: 'apikeys',
};

export function createWatchedObjects(parts: Parts): WatchedObjects {
  const { readings, deletions } = parts;
  const held: Readonly<Record<Kind, Map<string, HeldObject>>> = {
    Provider: new Map(),
    ModelRoute: new Map(),
    ApiKey: new Map(),
  };
  /** As users wish them to be. */
  const apiKeys = createChangingList<RawObject>();
  const statusPool = createStatusPool();
  const reader = createConfigMapReader({
    ...parts,
    onChange: configMapChanged,
    onTrouble: (trouble) => parts.onTrouble({ watch: 'ConfigMap', ...trouble }),
  });
  /** Providers that name a ConfigMap which is being read, each as it was before: undefined where it is new. */
  const heldBack = new Map<string, RawObject | undefined>();

  return {
    held,
    lists: {
      Provider: () =>
        [...held.Provider].flatMap(([key, { wish }]) =>
          heldBack.has(key) ? (heldBack.get(key) ?? []) : wish,
        ),
      ModelRoute: () => [...held.ModelRoute.values()].map(({ wish }) => wish),
      ApiKey: apiKeys.list,
      ConfigMap: () => [...reader.records.values()],
    },
    watchObjects(kind) {
      readings.startForTenants<HeldObject>({
        name: kind,
        resource: { group: API_GROUP, version: API_VERSION, plural: PLURALS[kind] },
        convert: (object) => holdObject(kind, { ...object, status: statusPool.share(object.status) }),
        onEvent(event) {
          const { type, key, object } = event;
          if (type === 'upserted') return upserted(kind, key, object);
          if (event.cause === 'seen') deletions.seen(kind, key);
          deleted(kind, key);
        },
      });
    },
    watchConfigMaps() {
      readings.startForTenants<string>({
        name: 'ConfigMap',
        resource: configMaps,
        metadataOnly: true,
        convert: ({ metadata: { resourceVersion = '' } }) => resourceVersion,
        onEvent({ type, key, object }) {
          if (type === 'upserted') reader.placed(key, object);
          else reader.displaced(key);
        },
      });
    },
    settled: reader.settled,
    close: reader.close,
  };

  function upserted(kind: Kind, key: string, object: HeldObject): void {
    const before = held[kind].get(key);
    held[kind].set(key, object);
    deletions.back(kind, key);
    if (before !== undefined && isSameWish(before.wish, object.wish)) {
      object.wish = before.wish;
      parts.onStatus(kind, key);
      return;
    }
    if (kind === 'Provider' && waitsForConfigMap(key, before?.wish, object.wish)) return;
    wishChanged(kind, before?.wish, object.wish);
  }

  function deleted(kind: Kind, key: string): void {
    const before = held[kind].get(key);
    held[kind].delete(key);
    heldBack.delete(key);
    if (kind === 'Provider') reader.want(key, undefined);
    wishChanged(kind, before?.wish, undefined);
  }

  function waitsForConfigMap(key: string, before: RawObject | undefined, wish: RawObject): boolean {
    const named = configMapNamedBy(wish);
    reader.want(key, named);
    if (named === undefined || !reader.isPending(named)) {
      heldBack.delete(key);
      return false;
    }
    if (!heldBack.has(key)) heldBack.set(key, before);
    return true;
  }

  function configMapChanged(configMap: string): void {
    for (const key of heldBack.keys()) {
      const wish = held.Provider.get(key)?.wish;
      const named = wish && configMapNamedBy(wish);
      if (named !== configMap || reader.isPending(configMap)) continue;
      heldBack.delete(key);
      // Whatever it was, it has waited already.
      parts.onChange('Provider', 'revocation');
    }
    parts.onChange('ConfigMap', 'revocation');
  }

  function wishChanged(kind: Kind, before: RawObject | undefined, after: RawObject | undefined): void {
    if (kind === 'ApiKey') apiKeys.replace(before, after);
    parts.onChange(kind, urgencyOf(kind, before, after));
  }
}
