// What is the snapshot now? Of seven lists of up to 50,000 items, only changed lists are built again.

import { applyPolicies } from '../compile/apply-policies.ts';
import type { CheckedPolicy, PlatformSettings, Snapshot } from './snapshot.ts';

export interface SnapshotLists {
  Provider(): Snapshot['providers'];
  ModelRoute(): Snapshot['modelRoutes'];
  ApiKey(): Snapshot['apiKeys'];
  Secret(): Snapshot['secrets'];
  ConfigMap(): Snapshot['configMaps'];
  Namespace(): Snapshot['namespaces'];
  TenantPolicy(): readonly CheckedPolicy[];
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
  TenantPolicy: 'policies',
} as const satisfies Record<ListName, keyof Snapshot>;

export function createSnapshotCache(lists: SnapshotLists, platform: PlatformSettings): SnapshotCache {
  let snapshot: Snapshot | undefined;
  let last: Partial<Snapshot> = {};
  return {
    get() {
      if (snapshot !== undefined) return snapshot;
      const namespaces = last.namespaces ?? lists.Namespace();
      const policies = last.policies ?? lists.TenantPolicy();
      const isSame = namespaces === last.namespaces && policies === last.policies;
      snapshot = {
        providers: last.providers ?? lists.Provider(),
        modelRoutes: last.modelRoutes ?? lists.ModelRoute(),
        apiKeys: last.apiKeys ?? lists.ApiKey(),
        secrets: last.secrets ?? lists.Secret(),
        configMaps: last.configMaps ?? lists.ConfigMap(),
        namespaces,
        policies,
        platform: (isSame && last.platform) || platformWith(policies, namespaces),
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

  function platformWith(
    policies: readonly CheckedPolicy[],
    namespaces: Snapshot['namespaces'],
  ): PlatformSettings {
    return applyPolicies(
      platform,
      policies.flatMap(({ spec }) => spec ?? []),
      namespaces,
    );
  }
}
