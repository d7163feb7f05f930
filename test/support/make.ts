// What does a valid object look like? Builders of which a test shows only what differs.

/** Fields that differ. Objects are merged, everything else is replaced; `undefined` takes a field away. */
export type Differing = Readonly<Record<string, unknown>>;

export interface Metadata extends Record<string, unknown> {
  name: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** An object as a user writes it or the API server hands it out. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [field: string]: unknown;
}

/**
 * `make.route({ model: 'penstock/large' }, { namespace: 'team-a' })`: first what differs in spec, then in metadata.
 * Without arguments the objects fit together: the route targets the provider, whose key is in the secret.
 */
export const make = {
  provider: (spec: Differing = {}, metadata: Differing = {}) =>
    makeObject('Provider', 'upstream', providerSpec, spec, metadata),
  route: (spec: Differing = {}, metadata: Differing = {}) =>
    makeObject('ModelRoute', 'small', routeSpec, spec, metadata),
  key: (spec: Differing = {}, metadata: Differing = {}) => makeObject('ApiKey', 'ci-bot', {}, spec, metadata),
  secret: makeSecret,
  namespace: makeNamespace,
};

const namespaceDefault = 'platform';

const providerSpec = {
  type: 'OpenAICompatible',
  baseURL: 'https://api.upstream.test/v1',
  apis: ['ChatCompletions'],
  auth: { keys: [{ name: 'main', secretRef: { name: 'upstream-keys', key: 'main' } }] },
};

const routeSpec = {
  model: 'small',
  targets: [{ name: 'main', providerRef: { name: 'upstream' }, upstreamModel: 'upstream-small' }],
};

function makeObject(
  kind: string,
  name: string,
  specDefault: Differing,
  spec: Differing,
  metadata: Differing,
): Manifest & { spec: Record<string, unknown> } {
  return {
    apiVersion: 'penstock.dev/v1alpha1',
    kind,
    metadata: makeMetadata({ name, namespace: namespaceDefault }, metadata),
    spec: merge(specDefault, spec),
  };
}

/** A provider credential, opted in and bound to the host of the default provider. Values in plain text. */
function makeSecret(
  values: Readonly<Record<string, string>> = { main: 'sk-upstream-0001' },
  metadata: Differing = {},
): Manifest & { data: Record<string, string> } {
  const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: makeMetadata(
      {
        name: 'upstream-keys',
        namespace: namespaceDefault,
        labels: { 'penstock.dev/provider-credential': 'true' },
        annotations: { 'penstock.dev/allowed-hosts': 'api.upstream.test' },
      },
      metadata,
    ),
    data: Object.fromEntries(data),
  };
}

/** With the label the API server puts on every namespace. */
function makeNamespace(name: string = namespaceDefault, metadata: Differing = {}): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: makeMetadata({ name, labels: { 'kubernetes.io/metadata.name': name } }, metadata),
  };
}

function makeMetadata(defaults: Metadata, differing: Differing): Metadata {
  const metadata = merge(defaults, differing);
  const { name } = metadata;
  if (typeof name !== 'string') throw new TypeError('An object needs a name: metadata.name must be a string');
  return { ...metadata, name };
}

function merge(base: Differing, differing: Differing): Record<string, unknown> {
  const merged: Record<string, unknown> = structuredClone({ ...base });
  for (const [field, value] of Object.entries(differing)) {
    const before = merged[field];
    if (value === undefined) delete merged[field];
    else merged[field] = isPlainObject(before) && isPlainObject(value) ? merge(before, value) : value;
  }
  return merged;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
