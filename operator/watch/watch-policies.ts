// Which TenantPolicies are there? They belong to the cluster, and hold for whatever namespaces the operator serves.

import { isRecord } from '../../core/kube/object.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import { tenantPolicyResource } from '../resources/tenant-policy.ts';
import type { Readings } from './readings.ts';
import { type HeldPolicy, holdPolicy, isSameWish } from './resources.ts';
import type { RawPolicy } from './snapshot.ts';

interface PolicyListener {
  onChange(): void;
  /** Only the status has changed. */
  onStatus(name: string): void;
}

/** @returns what they are now, by name. */
export function watchPolicies(
  readings: Readings,
  { onChange, onStatus }: PolicyListener,
): ReadonlyMap<string, HeldPolicy> {
  const held = new Map<string, HeldPolicy>();
  const { kind, plural } = tenantPolicyResource;
  readings.start<HeldPolicy>(
    {
      name: 'TenantPolicy',
      resource: { group: API_GROUP, version: API_VERSION, plural },
      convert: (object) => holdPolicy(kind, object),
      onEvent({ type, key, object }) {
        const before = held.get(key);
        if (type === 'deleted') held.delete(key);
        else {
          held.set(key, object);
          if (before !== undefined && isSameWish(before.wish, object.wish)) {
            object.wish = before.wish;
            onStatus(key);
            return;
          }
        }
        onChange();
      },
    },
    undefined,
  );
  return held;
}

/** The chart of another release has made it of its values: what those open is not opened here. */
export function isOfOtherValues({ metadata: { labels } }: RawPolicy, instance: string): boolean {
  if (!isRecord(labels) || labels['app.kubernetes.io/component'] !== 'tenant-policies') return false;
  return labels['app.kubernetes.io/name'] === 'penstock' && labels['app.kubernetes.io/instance'] !== instance;
}
