// What does a large installation declare? A snapshot of so many keys and routes over a hundred tenants.

import type { RawObject, SecretRecord, Snapshot } from '../../operator/watch/snapshot.ts';

export type SnapshotSize = { keys: number; routes: number };

const tenants = 100;
const keyEnvironments = ['production', 'staging', 'ci'];

export function bigSnapshot({ keys, routes }: SnapshotSize): Snapshot {
  const names = Array.from({ length: tenants }, (_, index) => `team-${index}`);
  const tenantOf = (index: number): string => `team-${index % tenants}`;
  return {
    providers: names.map((name) => object('Provider', 'openai', name, providerSpec)),
    modelRoutes: Array.from({ length: routes }, (_, index) =>
      object('ModelRoute', `route-${index}`, tenantOf(index), routeSpec(index)),
    ),
    apiKeys: Array.from({ length: keys }, (_, index) => apiKey(index, index)),
    secrets: names.map(secretOf),
    configMaps: [],
    namespaces: names.map((name) => ({ name, labels: { 'kubernetes.io/metadata.name': name } })),
    platform: {
      servicePrefix: 'penstock',
      keyPrefix: 'psk_',
      platformNamespaces: ['platform'],
      egressAllow: [],
    },
  };
}

/** The same installation, in which one key has another value. */
export function withOneKeyChanged(snapshot: Snapshot, run: number): Snapshot {
  const index = (run * 7919) % snapshot.apiKeys.length;
  const changed = apiKey(index, snapshot.apiKeys.length + run);
  return { ...snapshot, apiKeys: snapshot.apiKeys.map((key, at) => (at === index ? changed : key)) };
}

const providerSpec = {
  type: 'OpenAI',
  auth: { keys: [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }] },
};

function routeSpec(index: number): object {
  return {
    model: `model-${index}`,
    displayName: `Model ${index}`,
    capabilities: ['Streaming', 'Tools'],
    contextLength: 128_000,
    pricing: { inputPerMillion: '0.15', outputPerMillion: '0.60' },
    targets: ['first', 'second'].map((name, priority) => ({
      name,
      priority,
      providerRef: { name: 'openai' },
      upstreamModel: `upstream-${index}`,
    })),
  };
}

function apiKey(index: number, value: number): RawObject {
  return object('ApiKey', `key-${index}`, `team-${index % tenants}`, {
    owner: { name: `program-${index}`, team: `team-${index % tenants}` },
    metadata: { environment: keyEnvironments[index % keyEnvironments.length] ?? '' },
    imports: [{ sha256: value.toString(16).padStart(64, '0') }],
  });
}

function secretOf(namespace: string): SecretRecord {
  return {
    namespace,
    name: 'openai',
    labels: { 'penstock.dev/provider-credential': 'true' },
    annotations: {},
    type: 'Opaque',
    data: { key: `sk-of-${namespace}` },
  };
}

function object(kind: string, name: string, namespace: string, spec: object): RawObject {
  return { apiVersion: 'penstock.dev/v1alpha1', kind, metadata: { namespace, name }, spec };
}
