// Manifests to a snapshot: what the operator would have read from a cluster that holds them.

import { applyPolicies } from '../operator/compile/apply-policies.ts';
import type { CheckedPolicy, PlatformSettings, SecretRecord, Snapshot } from '../operator/watch/snapshot.ts';
import type { Manifests } from './manifests.ts';

/** On a laptop, `default` is the platform, and only it may reach what runs on the laptop. */
export const localPlatform: PlatformSettings = {
  servicePrefix: 'penstock',
  keyPrefix: 'psk_',
  platformNamespaces: ['default'],
  egressAllow: [
    { cidr: '127.0.0.0/8', namespaces: ['default'] },
    { cidr: '::1/128', namespaces: ['default'] },
  ],
  // There is one gateway.
  hasExactLimits: true,
};

export function buildSnapshot(
  manifests: Manifests,
  policies: readonly CheckedPolicy[],
  issued: readonly SecretRecord[],
): Snapshot {
  const specs = policies.flatMap(({ spec }) => spec ?? []);
  return {
    providers: manifests.providers,
    modelRoutes: manifests.modelRoutes,
    apiKeys: manifests.apiKeys,
    secrets: [...manifests.secrets, ...issued],
    configMaps: manifests.configMaps,
    namespaces: manifests.namespaces,
    policies,
    platform: applyPolicies(localPlatform, specs, manifests.namespaces),
  };
}
