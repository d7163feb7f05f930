// Where are the bytes of a shard? In its Secret: first what the API server has in its cache, and where that does
// not know it yet, what is stored.

import { z } from 'zod';
import { SHARD_DATA, type ShardRef } from '../../../core/contract/manifest.ts';
import { isNotFound, type KubeClient, KubeError } from '../../../core/kube/client.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import { TableLoadError } from '../load-error.ts';

const callTimeoutMs = 5_000;

const shardSecretSchema = z.object({ data: z.object({ [SHARD_DATA]: z.base64() }) });

/** @throws {TableLoadError} `incomplete` if it is gone, `unreachable` if no API server answered. */
export async function fetchShard(
  client: KubeClient,
  namespace: string,
  ref: ShardRef,
  signal: AbortSignal,
): Promise<Buffer> {
  const secret = await fetchSecret(client, { namespace, name: ref.name }, signal);
  const parsed = shardSecretSchema.safeParse(secret);
  const text = parsed.data?.data[SHARD_DATA];
  if (text === undefined) {
    throw new TableLoadError('corrupt', `the Secret ${ref.name} has no base64 value '${SHARD_DATA}'`);
  }
  return Buffer.from(text, 'base64');
}

async function fetchSecret(
  client: KubeClient,
  secret: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<unknown> {
  const path = objectPath(secrets, secret);
  const request = { method: 'GET', path, timeoutMs: callTimeoutMs, signal } as const;
  try {
    return await client.call({ ...request, query: { resourceVersion: 0 } }).catch((error: unknown) => {
      if (isNotFound(error)) return client.call(request);
      throw error;
    });
  } catch (error) {
    if (isNotFound(error)) {
      throw new TableLoadError('incomplete', `the shard ${secret.namespace}/${secret.name} is not there`);
    }
    if (error instanceof KubeError) throw new TableLoadError('unreachable', error.message);
    throw error;
  }
}
