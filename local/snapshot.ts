// Manifests to a snapshot: what the operator would have read from a cluster that holds them.

import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../operator/resources/issued-secret.ts';
import type { PlatformSettings, SecretRecord, Snapshot } from '../operator/watch/snapshot.ts';
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
};

export function buildSnapshot(manifests: readonly Manifests[], issued: readonly SecretRecord[]): Snapshot {
  const namespaces = new Map(
    manifests.flatMap((each) => each.namespaces.map((namespace) => [namespace.name, namespace] as const)),
  );
  return {
    providers: manifests.flatMap((each) => each.providers),
    modelRoutes: manifests.flatMap((each) => each.modelRoutes),
    apiKeys: manifests.flatMap((each) => each.apiKeys),
    secrets: [...manifests.flatMap((each) => each.secrets), ...issued],
    namespaces: [...namespaces.values()],
    platform: localPlatform,
  };
}

/** The Secret that the operator writes for an ApiKey. */
export function issuedSecret(
  apiKey: { readonly namespace: string; readonly name: string },
  secretName: string,
  data: Readonly<Record<string, string>>,
): SecretRecord {
  return {
    namespace: apiKey.namespace,
    name: secretName,
    labels: { [ISSUED_SECRET_LABEL]: issuedSecretLabelValue(apiKey.name) },
    annotations: {},
    type: 'Opaque',
    data,
  };
}
