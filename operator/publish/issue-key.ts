// How does a key come into being? 32 random bytes, written once into the Secret of their ApiKey, and kept nowhere else.
// A Secret that is there is never overwritten: the next compile judges whether it is ours.

import { type KubeClient, KubeError } from '../../kube/client.ts';
import { createObject } from '../../kube/patch.ts';
import { collectionPath, secrets } from '../../kube/paths.ts';
import type { ApiKeyVerdict } from '../compile/verdict.ts';
import { type ApiKey, parseApiKey } from '../resources/api-key.ts';
import { issuedSecretAnnotations, issuedSecretLabels, issuedSecretName } from '../resources/issued-secret.ts';
import { encodeKey } from '../resources/key-material.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { RawObject } from '../watch/snapshot.ts';

/** Owner of the fields of a Secret that holds a key. */
export const SECRET_MANAGER = 'penstock-secret';

/** Beside the key: where it can be used. */
const BASE_URL_KEY = 'baseURL';

export interface KeyIssuerOptions {
  readonly client: KubeClient;
  readonly keyPrefix: string;
  /** Where callers find the gateway; left out where nobody said. */
  readonly baseUrl?: string | undefined;
  /** From a cryptographic source. */
  randomBytes(count: number): Uint8Array;
}

export type IssueResult =
  | { readonly type: 'created' }
  /** There is a Secret of that name; it was left as it is. */
  | { readonly type: 'exists' }
  /** There is nothing to do, or it is being done. */
  | { readonly type: 'nothing' }
  /** The API server will not have it: a label that is none, a quota that is used up. Try again after a change, or much later. */
  | { readonly type: 'refused'; readonly message: string };

export interface KeyIssuer {
  /**
   * Writes the Secret where the verdict asks for one.
   *
   * @throws {KubeError} where the same call may succeed soon.
   */
  issue(object: RawObject, verdict: ApiKeyVerdict): Promise<IssueResult>;
}

export function createKeyIssuer(options: KeyIssuerOptions): KeyIssuer {
  const underWay = new Set<string>();
  return {
    async issue(object, verdict) {
      const apiKey = wanted(object, verdict);
      const uid = apiKey?.metadata.uid;
      if (apiKey === undefined || uid === undefined || underWay.has(uid)) return { type: 'nothing' };
      underWay.add(uid);
      try {
        return await createSecret(options, apiKey, uid);
      } finally {
        underWay.delete(uid);
      }
    },
  };
}

/** The ApiKey, if a key is to be made for it. */
function wanted(object: RawObject, { needsSecret }: ApiKeyVerdict): ApiKey | undefined {
  if (!needsSecret || object.metadata.deletionTimestamp !== undefined) return undefined;
  const parsed = parseApiKey(object);
  if (!parsed.ok) return undefined;
  const { disabled, imports } = parsed.value.spec;
  return disabled || (imports ?? []).length > 0 ? undefined : parsed.value;
}

async function createSecret(options: KeyIssuerOptions, apiKey: ApiKey, uid: string): Promise<IssueResult> {
  const key = encodeKey(options.keyPrefix, options.randomBytes(32));
  const body = buildKeySecret({ apiKey, uid, key, baseUrl: options.baseUrl });
  try {
    await createObject(options.client, collectionPath(secrets, apiKey.metadata.namespace), body, {
      fieldManager: SECRET_MANAGER,
    });
    return { type: 'created' };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.status === 409 && error.reason === 'AlreadyExists') return { type: 'exists' };
    const isRefusal = error.status === 403 || error.status === 422 || error.status === 400;
    if (isRefusal) return { type: 'refused', message: error.message };
    throw error;
  }
}

export interface KeySecretParts {
  readonly apiKey: ApiKey;
  readonly uid: string;
  readonly key: string;
  readonly baseUrl?: string | undefined;
}

export function buildKeySecret({ apiKey, uid, key, baseUrl }: KeySecretParts) {
  const { metadata, spec } = apiKey;
  const owner = {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: 'ApiKey',
    name: metadata.name,
    uid,
    // Without blockOwnerDeletion, which needs rights over finalizers.
    controller: true,
  };
  // The key goes last: a data key that is called like the address is the user's wish.
  const values = {
    ...(baseUrl === undefined ? {} : { [BASE_URL_KEY]: baseUrl }),
    [spec.secret?.key ?? 'apiKey']: key,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      namespace: metadata.namespace,
      name: issuedSecretName(apiKey),
      labels: issuedSecretLabels(apiKey),
      annotations: issuedSecretAnnotations(apiKey),
      ownerReferences: [owner],
    },
    data: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
    ),
  };
}
