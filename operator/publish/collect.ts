// Which shards and copies of manifests can be deleted? Shards that no recent table names, and all but the last copies. A shard must have
// been unused for ten minutes by this leader's own clock, since a gateway may still be reading it.

import type { Clock } from '../../core/clock.ts';
import { isKeptManifest } from '../../core/contract/manifest.ts';

interface CollectDecision {
  readonly collect: readonly string[];
  /** When each of the other listed shards was in use last, or was first seen here: for the next decision. */
  readonly lastUsedMs: ReadonlyMap<string, number>;
}

/** Named by the current manifest or one of that many before it: in use. Of those before it there are copies, to go back to. */
export const EARLIER_MANIFESTS_KEPT = 4;
const UNUSED_MS_MIN = 10 * 60_000;

export function decideCollection(
  listed: readonly string[],
  inUse: ReadonlySet<string>,
  lastUsedMs: ReadonlyMap<string, number>,
  nowMs: number,
): CollectDecision {
  const used = listed.map((name) => ({
    name,
    usedMs: inUse.has(name) ? nowMs : (lastUsedMs.get(name) ?? nowMs),
  }));
  // No gateway reads copies: those that are no longer kept go at once, before their shards do, so each that is listed can be pinned.
  const isOld = ({ name, usedMs }: { readonly name: string; readonly usedMs: number }) =>
    nowMs - usedMs >= UNUSED_MS_MIN || (isKeptManifest(name) && !inUse.has(name));
  return {
    collect: used.filter(isOld).map(({ name }) => name),
    lastUsedMs: new Map(used.filter((shard) => !isOld(shard)).map(({ name, usedMs }) => [name, usedMs])),
  };
}

interface Collector {
  /** To be called now and then by the leader, about once a minute. Gives how many shards were deleted. */
  collect(): Promise<number>;
}

export interface CollectorOptions {
  readonly clock: Pick<Clock, 'now'>;
  listShards(): Promise<readonly string[]>;
  /** As the publisher gives them. */
  shardsInUse(): ReadonlySet<string>;
  dropShards(names: readonly string[]): Promise<number>;
}

/** For one term of leadership: a new leader begins with a new collector. */
export function createCollector(options: CollectorOptions): Collector {
  let lastUsedMs: ReadonlyMap<string, number> = new Map();
  return {
    async collect() {
      const listed = await options.listShards();
      const decision = decideCollection(listed, options.shardsInUse(), lastUsedMs, options.clock.now());
      lastUsedMs = decision.lastUsedMs;
      return decision.collect.length === 0 ? 0 : await options.dropShards(decision.collect);
    },
  };
}
