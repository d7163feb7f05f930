// Watches the table in the cluster: its pointer, and deletions of its shards.

import { INSTANCE_LABEL, pointerName, SHARD_LABEL } from '../../core/contract/manifest.ts';
import { secrets } from '../../core/kube/paths.ts';
import { isSamePointer, type Pointer, readPointer } from './pointer.ts';
import type { Readings } from './readings.ts';

interface Parts {
  readonly readings: Readings;
  readonly instance: string;
  readonly tableNamespace: string;
  /** The pointer was created, deleted or changed; a heartbeat alone is not a change. */
  onPointer(): void;
  /** Deleted; another one may have its name now. */
  onShardGone(name: string): void;
}

/** @returns the pointer of now. */
export function watchTable(parts: Parts): () => Pointer | undefined {
  const { readings, instance, tableNamespace } = parts;
  let pointer: Pointer | undefined;
  readings.start<Pointer>(
    {
      name: 'Pointer',
      resource: secrets,
      fieldSelector: `metadata.name=${pointerName(instance)}`,
      convert: readPointer,
      onEvent({ type, object }) {
        const before = pointer;
        pointer = type === 'deleted' ? undefined : object;
        if (before === undefined || pointer === undefined || !isSamePointer(before, pointer))
          parts.onPointer();
      },
    },
    tableNamespace,
  );
  readings.start(
    {
      name: 'Shard',
      resource: secrets,
      labelSelector: `${INSTANCE_LABEL}=${instance},${SHARD_LABEL}`,
      metadataOnly: true,
      convert: ({ metadata: { name, uid } }) => ({ name, uid }),
      onEvent(event) {
        const { name, uid } = event.object;
        // Deleted and made again, and the watch has seen neither.
        const isAnother =
          event.type === 'upserted' && event.previous !== undefined && event.previous.uid !== uid;
        if (event.type === 'deleted' || isAnother) parts.onShardGone(name);
      },
    },
    tableNamespace,
  );
  return () => pointer;
}
