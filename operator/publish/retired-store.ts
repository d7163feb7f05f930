// Stores retired keys beside the table: one immutable Secret per namespace, named by its content. Gateways do not read them, and
// operators of earlier releases leave them unchanged.

import { hash } from 'node:crypto';
import { z } from 'zod';
import { INSTANCE_LABEL } from '../../core/contract/manifest.ts';
import { isConflict, isNotFound, type KubeClient } from '../../core/kube/client.ts';
import { listAll } from '../../core/kube/list.ts';
import type { KubeObject } from '../../core/kube/object.ts';
import { createObject, deleteObject } from '../../core/kube/patch.ts';
import { collectionPath, objectPath, secrets } from '../../core/kube/paths.ts';
import { canonicalJson } from '../canonical-json.ts';
import { compareText } from '../compile/order.ts';
import { differing } from '../lists/differing.ts';
import type { RetiredKey } from '../watch/snapshot.ts';

/** On these Secrets: the namespace whose keys they name. */
const RETIRED_KEYS_LABEL = 'penstock.dev/retired-keys';
/** Their one value: JSON, the time in Unix milliseconds at which each digest left the table. */
const RETIRED_DATA = 'retired';
const RETIRED_SECRET_TYPE = 'penstock.dev/retired-keys';

export interface RetiredStore {
  /** All retired keys, oldest first. Begins a term. */
  read(): Promise<readonly RetiredKey[]>;
  /**
   * Writes the namespaces that differ from what was read or written last. A crash between two writes leaves too many entries, never
   * too few.
   *
   * @param mustStillLead throws if leadership has ended.
   */
  write(retired: readonly RetiredKey[], mustStillLead: () => void): Promise<void>;
  /** Deletes the Secrets that a newer one replaces. Until then the next term reads their keys as well. */
  tidy(mustStillLead: () => void): Promise<void>;
}

interface RetiredStoreOptions {
  readonly client: KubeClient;
  readonly instance: string;
  readonly tableNamespace: string;
  /** A Secret that cannot be read: its keys are not refused to others any more. */
  onUnreadable(name: string): void;
}

const retiredSchema = z.record(z.string().regex(/^[0-9a-f]{64}$/), z.int().min(0));

export function openRetiredStore(options: RetiredStoreOptions): RetiredStore {
  const { client, instance, tableNamespace } = options;
  const collection = collectionPath(secrets, tableNamespace);
  let stored: readonly RetiredKey[] = [];
  /** Secrets of each namespace; more than one only after a crash between two writes. */
  let names = new Map<string, readonly string[]>();
  /** Secrets in whose place there is a newer one, or none is needed. */
  const outdated = new Set<string>();

  return {
    async read() {
      const query = { labelSelector: `${INSTANCE_LABEL}=${instance},${RETIRED_KEYS_LABEL}` };
      const { items } = await listAll({ client, path: collection, query });
      names = new Map();
      outdated.clear();
      const oldestFirst = items
        .flatMap((object) => {
          const { name, labels = {} } = object.metadata;
          const namespace = labels[RETIRED_KEYS_LABEL] ?? '';
          names.set(namespace, [...(names.get(namespace) ?? []), name]);
          const keys = parseRetired(object);
          if (keys === undefined) options.onUnreadable(name);
          return Object.entries(keys ?? {}).map(([digest, retiredMs]) => ({ digest, namespace, retiredMs }));
        })
        .sort((a, b) => a.retiredMs - b.retiredMs || compareText(a.digest, b.digest));
      // The first owner of a digest keeps it, for as long as it was said last.
      const byDigest = new Map<string, RetiredKey>();
      for (const key of oldestFirst) {
        if ((byDigest.get(key.digest)?.namespace ?? key.namespace) !== key.namespace) continue;
        byDigest.delete(key.digest);
        byDigest.set(key.digest, key);
      }
      stored = [...byDigest.values()];
      return stored;
    },

    async write(retired, mustStillLead) {
      const { gone, added } = differing(stored, retired);
      for (const namespace of new Set([...gone, ...added].map((key) => key.namespace))) {
        const keys = retired.filter((key) => key.namespace === namespace);
        await writeNamespace(namespace, keys, mustStillLead);
      }
      stored = retired;
    },

    async tidy(mustStillLead) {
      for (const name of outdated) {
        mustStillLead();
        await unless(
          isNotFound,
          deleteObject(client, objectPath(secrets, { namespace: tableNamespace, name })),
        );
        outdated.delete(name);
      }
    },
  };

  async function writeNamespace(
    namespace: string,
    keys: readonly RetiredKey[],
    mustStillLead: () => void,
  ): Promise<void> {
    const secret = keys.length === 0 ? undefined : buildSecret(namespace, keys);
    const name = secret?.metadata.name;
    if (secret !== undefined) {
      mustStillLead();
      // Its name is a hash of its content, so an existing Secret has the same content.
      await unless(isConflict, createObject(client, collection, secret));
    }
    for (const other of names.get(namespace) ?? []) outdated.add(other);
    if (name !== undefined) outdated.delete(name);
    names.set(namespace, name === undefined ? [] : [name]);
  }

  function buildSecret(namespace: string, keys: readonly RetiredKey[]) {
    const text = canonicalJson(Object.fromEntries(keys.map(({ digest, retiredMs }) => [digest, retiredMs])));
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: `${instance}-retired-${hash('sha256', `${namespace} ${text}`).slice(0, 16)}`,
        namespace: tableNamespace,
        labels: { [INSTANCE_LABEL]: instance, [RETIRED_KEYS_LABEL]: namespace },
      },
      type: RETIRED_SECRET_TYPE,
      immutable: true,
      data: { [RETIRED_DATA]: Buffer.from(text).toString('base64') },
    };
  }
}

function parseRetired({ data }: KubeObject): Readonly<Record<string, number>> | undefined {
  const value = z.object({ [RETIRED_DATA]: z.string() }).safeParse(data).data?.[RETIRED_DATA];
  if (value === undefined) return undefined;
  try {
    return retiredSchema.safeParse(JSON.parse(Buffer.from(value, 'base64').toString())).data;
  } catch {
    return undefined;
  }
}

async function unless(isExpected: (error: unknown) => boolean, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}
