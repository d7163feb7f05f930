// What would a user apply? Objects of the three kinds and the Secrets beside them, showing only what differs.

import { createHash } from 'node:crypto';

const apiVersion = 'penstock.dev/v1alpha1';

export function namespaceOf(name: string, labels: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** A Secret with one key `main`, shared to Providers and bound to a host. */
export function credentialSecret(namespace: string, name: string, url: string, value: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      namespace,
      name,
      labels: { 'penstock.dev/provider-credential': 'true' },
      annotations: { 'penstock.dev/allowed-hosts': new URL(url).host },
    },
    stringData: { main: value },
  };
}

export function configMap(namespace: string, name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
}

/** A Provider at an origin, with the key `main` of the Secret of that name. */
export function provider(
  namespace: string,
  name: string,
  url: string,
  secret: string,
  spec: object = {},
): object {
  return {
    apiVersion,
    kind: 'Provider',
    metadata: { namespace, name },
    spec: {
      type: 'OpenAICompatible',
      baseURL: `${url}/v1`,
      apis: ['ChatCompletions'],
      auth: { keys: [{ name: 'main', secretRef: { name: secret, key: 'main' } }] },
      ...spec,
    },
  };
}

/** A model with a target for each Provider, in that order of preference; the upstream's model is called `m`. */
export function modelRoute(
  namespace: string,
  name: string,
  providers: readonly string[],
  spec: object = {},
): object {
  const targets = providers.map((providerName, priority) => ({
    name: providerName,
    providerRef: { name: providerName },
    upstreamModel: 'm',
    priority,
  }));
  return {
    apiVersion,
    kind: 'ModelRoute',
    metadata: { namespace, name },
    spec: { model: name, targets, pricing: { inputPerMillion: '1', outputPerMillion: '2' }, ...spec },
  };
}

/** Of the namespace of its name, where it says no other. */
export function tenantPolicy(name: string, spec: object): object {
  return {
    apiVersion,
    kind: 'TenantPolicy',
    metadata: { name },
    spec: { namespaces: { names: [name] }, ...spec },
  };
}

/** Its key is made by the operator. */
export function issuedApiKey(namespace: string, name: string, spec: object = {}): object {
  return { apiVersion, kind: 'ApiKey', metadata: { namespace, name }, spec };
}

/** Its key was made elsewhere: `importedKey` of the same two names. */
export function importedApiKey(namespace: string, name: string, spec: object = {}): object {
  const sha256 = createHash('sha256').update(importedKey(namespace, name)).digest('hex');
  return issuedApiKey(namespace, name, { imports: [{ sha256 }], ...spec });
}

export function importedKey(namespace: string, name: string): string {
  return `psk_${createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 49)}`;
}
