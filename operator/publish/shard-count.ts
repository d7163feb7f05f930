// Into how many shards is a kind cut? A power of two that follows the number of entries upwards at once and
// downwards late, so that a key made and deleted at a boundary does not rewrite the whole table each time.

import { SHARD_BYTES_MAX, type ShardKind, type ShardRef } from '../../core/contract/manifest.ts';

/** Above this, entries alone ask for no more shards of a kind: more shards only make the pointer larger. */
const COUNT_MAX = 256;
/** A kind whose shards are too large is doubled up to here. Three times as many still fit into one pointer. */
export const DOUBLED_COUNT_MAX = 1024;

const BOUNDS: Readonly<Record<ShardKind, { readonly entriesPerShard: number; readonly countMin: number }>> = {
  keys: { entriesPerShard: 800, countMin: 8 },
  routes: { entriesPerShard: 128, countMin: 1 },
  credentials: { entriesPerShard: 128, countMin: 1 },
};

/** @param earlier the shards of the table in use: what is in use stays until less than half would do. */
export function chooseShardCount(kind: ShardKind, entries: number, earlier: readonly ShardRef[]): number {
  const { entriesPerShard, countMin } = BOUNDS[kind];
  const needed = Math.min(COUNT_MAX, Math.max(countMin, powerOfTwoFrom(entries / entriesPerShard)));
  const shards = earlier.filter((shard) => shard.kind === kind);
  const inUse = Math.min(DOUBLED_COUNT_MAX, powerOfTwoFrom(Math.max(0, ...shards.map(indexOf)) + 1));
  if (needed >= inUse || needed === inUse / 2) return Math.max(needed, inUse);
  // Never down to where shards would be too large and the count had to be doubled again.
  const bytes = shards.reduce((sum, shard) => sum + shard.bytes, 0);
  return Math.min(inUse, Math.max(needed, powerOfTwoFrom(bytes / (SHARD_BYTES_MAX / 2))));
}

function powerOfTwoFrom(atLeast: number): number {
  let count = 1;
  while (count < atLeast) count *= 2;
  return count;
}

/** Empty shards are left out, so the highest index tells the count. */
function indexOf({ name }: ShardRef): number {
  return Number(/-(\d{1,6})-[0-9a-f]{16}$/.exec(name)?.[1] ?? 0);
}
