// Issues and rotates keys: 32 random bytes, stored only in the Secret of their ApiKey. `plan-key.ts` decides the writes. A Secret that
// another ApiKey or a human made is never changed.

import { type KubeClient, KubeError } from '../../core/kube/client.ts';
import { createObject, mergePatch } from '../../core/kube/patch.ts';
import { collectionPath, objectPath, secrets } from '../../core/kube/paths.ts';
import { parseApiKey } from '../resources/api-key.ts';
import { issuedSecretName, withAllowedMetadata } from '../resources/issued-secret.ts';
import { encodeKey } from '../resources/key-material.ts';
import { presentStatus } from '../status/object-status.ts';
import type { HeldSecret } from '../watch/secrets.ts';
import type { RawObject, SecretOwner } from '../watch/snapshot.ts';
import { type KeyStep, type NewSecret, planKeySecret, type SecretChange } from './plan-key.ts';

/** Field manager of our fields in the Secrets of tenants. */
const SECRET_MANAGER = 'penstock-secret';

interface KeyIssuerOptions {
  readonly client: KubeClient;
  readonly keyPrefix: string;
  /** Of labels and annotations for Secrets, those that the platform allows. */
  readonly metadataPrefixes: readonly string[];
  /** Where callers find the gateway; left out if the chart does not set it. */
  readonly baseUrl?: string | undefined;
  /** From a cryptographic source. */
  randomBytes(count: number): Uint8Array;
  /** Unix milliseconds. */
  wallMs(): number;
}

export interface IssueFacts {
  /** The Secret as last read; undefined if it does not exist, or its values have not arrived. */
  readonly secret: HeldSecret | undefined;
  /** The compile found none of that name. */
  readonly needsSecret: boolean;
  isOut(key: string): boolean;
}

type IssueResult =
  | { readonly type: 'created' }
  | { readonly type: 'changed'; readonly step: KeyStep }
  /** There is a Secret of that name; it was left as it is. */
  | { readonly type: 'exists' }
  /** There is nothing to do before that time (Unix milliseconds), or it is being done. */
  | { readonly type: 'nothing'; readonly atMs?: number }
  /** The Secret has changed; plan again when the watch delivers it. */
  | { readonly type: 'stale' }
  /** The API server refuses the write: an invalid label, or a used-up quota. Try again after a change, or much later. */
  | { readonly type: 'refused'; readonly message: string };

export interface KeyIssuer {
  /**
   * One write, where one is called for.
   *
   * @param object with its status: numbers of keys count on from there.
   * @throws {KubeError} where the same call may succeed soon.
   */
  tend(object: RawObject, facts: IssueFacts): Promise<IssueResult>;
}

export function createKeyIssuer(options: KeyIssuerOptions): KeyIssuer {
  const inFlight = new Set<string>();
  return {
    async tend(object, facts) {
      const { uid, deletionTimestamp } = object.metadata;
      if (typeof uid !== 'string' || deletionTimestamp !== undefined || inFlight.has(uid)) {
        return { type: 'nothing' };
      }
      inFlight.add(uid);
      try {
        return await tendOne(options, object, facts);
      } finally {
        inFlight.delete(uid);
      }
    },
  };
}

async function tendOne(
  options: KeyIssuerOptions,
  object: RawObject,
  { secret, needsSecret, isOut }: IssueFacts,
): Promise<IssueResult> {
  const parsed = parseApiKey(object);
  if (!parsed.ok || (secret === undefined && !needsSecret)) return { type: 'nothing' };
  const { namespace } = parsed.value.metadata;
  const name = issuedSecretName(parsed.value);
  const { client, keyPrefix, metadataPrefixes, baseUrl } = options;
  const plan = planKeySecret({
    apiKey: withAllowedMetadata(parsed.value, metadataPrefixes),
    secret: secret?.record,
    keyPrefix,
    baseUrl,
    nowMs: options.wallMs(),
    lastVersion: lastVersionOf(object),
    isOut,
    makeKey: () => encodeKey(keyPrefix, options.randomBytes(32)),
  });
  const write = { fieldManager: SECRET_MANAGER };
  try {
    switch (plan.type) {
      case 'nothing':
        return plan;
      case 'create':
        await createObject(
          client,
          collectionPath(secrets, namespace),
          secretBody(namespace, name, plan.secret),
          write,
        );
        return { type: 'created' };
      case 'change':
        // Without it, the write would land on whatever is there by now.
        if (secret?.resourceVersion === undefined) return { type: 'stale' };
        await mergePatch(
          client,
          objectPath(secrets, { namespace, name }),
          patchBody(plan.change, secret.resourceVersion),
          write,
        );
        return { type: 'changed', step: plan.step };
    }
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): IssueResult {
  if (!(error instanceof KubeError)) throw error;
  switch (error.status) {
    case 409:
      return error.reason === 'AlreadyExists' ? { type: 'exists' } : { type: 'stale' };
    case 404:
      return { type: 'stale' };
    case 400:
    case 403:
    case 422:
      return { type: 'refused', message: error.message };
    default:
      throw error;
  }
}

function lastVersionOf(object: RawObject): number {
  const status = presentStatus('ApiKey', object);
  const versions = status !== undefined && 'versions' in status ? (status.versions ?? []) : [];
  return Math.max(0, ...versions.map(({ id }) => id));
}

function secretBody(namespace: string, name: string, secret: NewSecret): object {
  const { labels, annotations, data, owners } = secret;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { namespace, name, labels, annotations, ...ownersBody(owners) },
    data: encodeAll(data),
  };
}

function patchBody({ labels, annotations, data, owners }: SecretChange, resourceVersion: string): object {
  return {
    metadata: {
      resourceVersion,
      labels,
      annotations,
      ...(owners === undefined ? {} : ownersBody(owners, true)),
    },
    data: encodeAll(data),
  };
}

function ownersBody(owners: readonly SecretOwner[], isWhole = false): object {
  return owners.length === 0 && !isWhole ? {} : { ownerReferences: owners };
}

function encodeAll(data: Readonly<Record<string, string | null>>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      value === null ? null : Buffer.from(value).toString('base64'),
    ]),
  );
}
