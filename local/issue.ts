// Which Secrets would the operator have written? One for each ApiKey without imported keys.

import { parseApiKey } from '../operator/resources/api-key.ts';
import {
  issuedSecretAnnotations,
  issuedSecretLabels,
  issuedSecretName,
} from '../operator/resources/issued-secret.ts';
import type { SecretRecord } from '../operator/watch/snapshot.ts';
import type { KeyStore } from './key-store.ts';
import type { Manifests } from './manifests.ts';

interface Issued {
  /** Secrets that no manifest brings. */
  readonly secrets: readonly SecretRecord[];
  /** The keys, by ApiKey (`namespace/name`), in the order of the manifests. */
  readonly keys: ReadonlyMap<string, string>;
  /** The file of each key that the store keeps, by ApiKey. */
  readonly places: ReadonlyMap<string, string>;
}

/** @param baseUrl Base URL of the gateway for OpenAI clients; it is written beside every key. */
export async function issueKeys(
  { apiKeys, secrets }: Manifests,
  keyStore: KeyStore,
  keyPrefix: string,
  baseUrl: string,
): Promise<Issued> {
  const written: SecretRecord[] = [];
  const keys = new Map<string, string>();
  const places = new Map<string, string>();
  for (const object of apiKeys) {
    const parsed = parseApiKey(object);
    if (!parsed.ok || (parsed.value.spec.imports ?? []).length > 0) continue;
    const { metadata, spec } = parsed.value;
    const { namespace, name } = metadata;
    const dataKey = spec.secret?.key ?? 'apiKey';
    const secretName = issuedSecretName(parsed.value);
    const existing = secrets.find((each) => each.namespace === namespace && each.name === secretName);
    const key = existing?.data[dataKey] ?? (existing ? '' : await keyStore.keyFor(metadata, keyPrefix));
    keys.set(`${namespace}/${name}`, key);
    if (existing) continue;
    places.set(`${namespace}/${name}`, keyStore.pathOf(metadata));
    written.push({
      namespace,
      name: secretName,
      labels: issuedSecretLabels(parsed.value),
      annotations: issuedSecretAnnotations(parsed.value),
      type: 'Opaque',
      data: { [dataKey]: key, baseURL: baseUrl },
    });
  }
  return { secrets: written, keys, places };
}
