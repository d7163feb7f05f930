// What is the snapshot now? Of six lists of up to 50,000, only those are built again in which something changed.

import type { PlatformSettings, Snapshot } from './snapshot.ts';

export interface SnapshotLists {
  Provider(): Snapshot['providers'];
  ModelRoute(): Snapshot['modelRoutes'];
  ApiKey(): Snapshot['apiKeys'];
  Secret(): Snapshot['secrets'];
  ConfigMap(): Snapshot['configMaps'];
  Namespace(): Snapshot['namespaces'];
}

export type ListName = keyof SnapshotLists;

interface SnapshotCache {
  /** The same value as before where no list was dropped. */
  get(): Snapshot;
  /** Something in it has changed. */
  drop(list: ListName): void;
}

const members = {
  Provider: 'providers',
  ModelRoute: 'modelRoutes',
  ApiKey: 'apiKeys',
  Secret: 'secrets',
  ConfigMap: 'configMaps',
  Namespace: 'namespaces',
} as const satisfies Record<ListName, keyof Snapshot>;

export function createSnapshotCache(lists: SnapshotLists, platform: PlatformSettings): SnapshotCache {
  let snapshot: Snapshot | undefined;
  let last: Partial<Snapshot> = {};
  return {
    get() {
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
    drop(list) {
      const { [members[list]]: _, ...rest } = last;
      last = rest;
      snapshot = undefined;
    },
  };
}
