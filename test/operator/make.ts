// Valid objects, of which a test says only what differs; and a snapshot made of manifests, as kubectl takes them.

import type {
  NamespaceRecord,
  PlatformSettings,
  RawObject,
  RawPolicy,
  SecretRecord,
  Snapshot,
} from '../../operator/watch/snapshot.ts';

export const API_VERSION = 'penstock.dev/v1alpha1';

export const PLATFORM: PlatformSettings = {
  servicePrefix: 'penstock',
  keyPrefix: 'psk_',
  platformNamespaces: ['platform'],
  egressAllow: [],
};

type Fields = Readonly<Record<string, unknown>>;

interface Meta {
  readonly namespace?: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

/** Of the namespace team-a. */
export function tenantPolicy(spec: Fields = {}, meta: Omit<Meta, 'namespace'> = {}): RawPolicy {
  const metadata = { name: 'research', generation: 1, ...meta };
  return {
    apiVersion: API_VERSION,
    kind: 'TenantPolicy',
    metadata,
    spec: { namespaces: { names: ['team-a'] }, ...spec },
  };
}

function object(kind: string, name: string, meta: Meta, spec: Fields): RawObject {
  return { apiVersion: API_VERSION, kind, metadata: { namespace: 'team-a', name, ...meta }, spec };
}

/** An OpenAI provider with the key `main` from the Secret `openai`. */
export function provider(spec: Fields = {}, meta: Meta = {}): RawObject {
  return object('Provider', 'openai', meta, {
    type: 'OpenAI',
    auth: { keys: [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }] },
    ...spec,
  });
}

/** A route for the model `chat` with the target `main` on the Provider `openai`. */
export function route(spec: Fields = {}, meta: Meta = {}): RawObject {
  return object('ModelRoute', 'chat', meta, { model: 'chat', targets: [target()], ...spec });
}

export function target(fields: Fields = {}): Fields {
  return { name: 'main', providerRef: { name: 'openai' }, upstreamModel: 'gpt-x', ...fields };
}

/** A key made elsewhere, known by its hash. */
export function apiKey(spec: Fields = {}, meta: Meta = {}): RawObject {
  return object('ApiKey', 'bot', meta, { imports: [{ sha256: 'a'.repeat(64) }], ...spec });
}

/** The Secret `openai`, shared to Providers, without a list of hosts. */
export function secret(fields: Partial<SecretRecord> = {}): SecretRecord {
  return {
    namespace: 'team-a',
    name: 'openai',
    labels: { 'penstock.dev/provider-credential': 'true' },
    annotations: {},
    type: 'Opaque',
    data: { key: 'sk-upstream' },
    ...fields,
  };
}

export function namespace(name: string, labels: Record<string, string> = {}): NamespaceRecord {
  return { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } };
}

/** A snapshot in which only these things are. */
export function snapshot(parts: Partial<Snapshot> = {}): Snapshot {
  return {
    providers: [],
    modelRoutes: [],
    apiKeys: [],
    secrets: [],
    configMaps: [],
    namespaces: [],
    platform: PLATFORM,
    ...parts,
  };
}

/** Sorts manifests into a snapshot. Namespaces that nobody declares are there without labels. */
export function snapshotOf(manifests: readonly RawManifest[], platform: PlatformSettings): Snapshot {
  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
  const declared = ofKind('Namespace').map(({ metadata }) => namespace(metadata.name, metadata.labels));
  const used = [...new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []))];
  const others = used.filter((name) => !declared.some((known) => known.name === name));
  return {
    providers: ofKind('Provider').map(namespaced),
    modelRoutes: ofKind('ModelRoute').map(namespaced),
    apiKeys: ofKind('ApiKey').map(namespaced),
    secrets: ofKind('Secret').map((manifest) => ({
      namespace: manifest.metadata.namespace ?? 'default',
      name: manifest.metadata.name,
      labels: manifest.metadata.labels ?? {},
      annotations: manifest.metadata.annotations ?? {},
      type: manifest.type ?? 'Opaque',
      data: manifest.stringData ?? {},
    })),
    configMaps: ofKind('ConfigMap').map((manifest) => ({
      namespace: manifest.metadata.namespace ?? 'default',
      name: manifest.metadata.name,
      data: manifest.data ?? {},
    })),
    namespaces: [...declared, ...others.map((name) => namespace(name))],
    platform,
  };
}

export interface RawManifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly type?: string;
  readonly stringData?: Record<string, string>;
  readonly data?: Record<string, string>;
}

function namespaced(manifest: RawManifest): RawObject {
  return { ...manifest, metadata: { namespace: 'default', ...manifest.metadata } };
}
