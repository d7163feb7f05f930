// Where do table Secrets lie in a test? In a namespace of a real API server, written as an operator would: shards
// first, the pointer last.

import { pointerName } from '../../../core/contract/manifest.ts';
import { isConflict, isNotFound, type KubeClient } from '../../../core/kube/client.ts';
import { collectionPath, namespaces, objectPath, secrets } from '../../../core/kube/paths.ts';
import {
  instance,
  type Published,
  pointerData,
  pointerSecret,
  type Shard,
  shardSecret,
} from './published.ts';

export interface TableNamespace {
  readonly pointer: { readonly namespace: string; readonly name: string };
  putShard(shard: Shard): Promise<void>;
  removeShard(name: string): Promise<void>;
  /** The values of the pointer Secret, plain. */
  putPointer(data: Readonly<Record<string, string>>): Promise<void>;
  removePointer(): Promise<void>;
  /** Missing shards, then the pointer. */
  put(published: Published, more?: Readonly<Record<string, string>>): Promise<void>;
}

let counter = 0;

export async function makeTableNamespace(client: KubeClient): Promise<TableNamespace> {
  const namespace = `tables-${++counter}-${process.pid}`;
  const name = pointerName(instance);
  await client.call({
    method: 'POST',
    path: collectionPath(namespaces),
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  });
  const create = (body: unknown): Promise<unknown> =>
    client.call({ method: 'POST', path: collectionPath(secrets, namespace), body });
  const remove = (name: string): Promise<unknown> =>
    client.call({ method: 'DELETE', path: objectPath(secrets, { namespace, name }) });

  const putShard = async (shard: Shard): Promise<void> => {
    await create(shardSecret(shard)).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  };
  const putPointer = async (data: Readonly<Record<string, string>>): Promise<void> => {
    const body = pointerSecret(data);
    await client
      .call({ method: 'PUT', path: objectPath(secrets, { namespace, name }), body })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return create(body);
      });
  };
  return {
    pointer: { namespace, name },
    putShard,
    async removeShard(shard) {
      await remove(shard);
    },
    putPointer,
    async removePointer() {
      await remove(name);
    },
    async put(published, more) {
      for (const shard of published.shards) await putShard(shard);
      await putPointer(pointerData(published.manifest, more));
    },
  };
}
