// Which shards does a pod hold already? Decoded ones, by what they hold: a table that names one of them again
// neither fetches nor checks it again.

import type { Manifest, ShardRef } from '../../../core/contract/manifest.ts';
import { TableLoadError } from '../load-error.ts';
import { countEntries, decodeShard, type ShardContent } from './decode-shard.ts';
import type { LoadWork } from './work.ts';

/** Shards asked for at the same time. */
const readsAtOnce = 6;

export class ShardShelf {
  private readonly shards = new Map<string, ShardContent>();

  /**
   * All shards of a manifest, in its order. What could be had is kept, so that a second try asks for the rest.
   *
   * @param read Gives the packed bytes of a shard.
   * @throws {TableLoadError} or what `read` throws: the first of the faults.
   */
  async collect(
    { shards: refs }: Manifest,
    read: (ref: ShardRef) => Promise<Buffer>,
    yieldNow: () => Promise<void>,
    unpack?: LoadWork['unpack'],
  ): Promise<readonly ShardContent[]> {
    const faults: unknown[] = [];
    const held = new Map(this.shards);
    const missing = refs.filter((ref) => !held.has(idOf(ref)));
    const packed = new Map<ShardRef, Buffer>();
    const waiting = missing.values();
    const readOneByOne = async (): Promise<void> => {
      for (const ref of waiting) {
        try {
          packed.set(ref, await read(ref));
        } catch (error) {
          faults.push(error);
          // An API server that does not answer is not asked a hundred times more.
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: readsAtOnce }, readOneByOne));
    // One after the other: several at once would have their pieces follow each other without a breath.
    for (const [ref, bytes] of packed) {
      try {
        const content = await decodeShard(ref, bytes, yieldNow, unpack);
        held.set(idOf(ref), content);
        this.shards.set(idOf(ref), content);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
    return refs.map((ref) => find(held, ref));
  }

  /** Lets go of everything that none of these names. */
  keepOnly(manifests: readonly Manifest[]): void {
    const named = new Set(manifests.flatMap(({ shards }) => shards.map(idOf)));
    for (const id of this.shards.keys()) if (!named.has(id)) this.shards.delete(id);
  }
}

function find(held: ReadonlyMap<string, ShardContent>, ref: ShardRef): ShardContent {
  const content = held.get(idOf(ref));
  if (!content) throw new TableLoadError('incomplete', `the shard ${ref.name} is not there`);
  // Of one that was held already, only now.
  if (countEntries(content) !== ref.count) {
    throw new TableLoadError('corrupt', `the shard ${ref.name} does not hold ${ref.count} entries`);
  }
  return content;
}

function idOf({ kind, sha256 }: ShardRef): string {
  return `${kind} ${sha256}`;
}
