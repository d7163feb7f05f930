// What lies in etcd under a prefix, and how is it made so again? By the JSON gateway of etcd's API v3.

import { z } from 'zod';

const rangeSchema = z.object({
  kvs: z
    .array(z.object({ key: z.string(), mod_revision: z.string(), value: z.string().default('') }))
    .default([]),
});

/** Keys and values in base64, as the gateway has them. */
export type Snapshot = ReadonlyMap<string, { readonly revision: string; readonly value: string }>;

export async function readKeys(etcdUrl: string, prefix: string): Promise<Snapshot> {
  const { kvs } = rangeSchema.parse(await post(etcdUrl, 'range', underPrefix(prefix)));
  return new Map(kvs.map(({ key, mod_revision, value }) => [key, { revision: mod_revision, value }]));
}

/** Deletes the keys that the snapshot lacks, and writes again what has changed since, except what `isKept` names. */
export async function restoreKeys(
  etcdUrl: string,
  prefix: string,
  wanted: Snapshot,
  isKept: (key: string) => boolean,
): Promise<void> {
  const { kvs } = rangeSchema.parse(
    await post(etcdUrl, 'range', { ...underPrefix(prefix), keys_only: true }),
  );
  const present = new Map(kvs.map(({ key, mod_revision }) => [key, mod_revision]));
  const isOurs = (key: string) => !isKept(Buffer.from(key, 'base64').toString('utf8').slice(prefix.length));
  const changes = [
    ...[...present.keys()]
      .filter((key) => !wanted.has(key) && isOurs(key))
      .map((key) => ({ request_delete_range: { key } })),
    ...[...wanted]
      .filter(([key, { revision }]) => present.get(key) !== revision && isOurs(key))
      .map(([key, { value }]) => ({ request_put: { key, value } })),
  ];
  // As many as etcd takes in one transaction.
  for (let at = 0; at < changes.length; at += 128)
    await post(etcdUrl, 'txn', { success: changes.slice(at, at + 128) });
}

function underPrefix(prefix: string): { key: string; range_end: string } {
  // The first key after all that begin with the prefix and a slash.
  return { key: encode(`${prefix}/`), range_end: encode(`${prefix}0`) };
}

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

async function post(etcdUrl: string, method: 'range' | 'txn', body: object): Promise<unknown> {
  const answer = await fetch(`${etcdUrl}/v3/kv/${method}`, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`etcd answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
