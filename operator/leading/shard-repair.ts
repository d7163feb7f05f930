// Repairs shards that were deleted by hand: reads, compares and writes them again, since a Secret of that name may have other content.

import type { Log } from '../../core/kube/log.ts';
import type { Publisher } from '../publish/publisher.ts';

export interface ShardRepair {
  /** Deleted, and not looked at since. */
  doubt(name: string): void;
  hasDoubts(): boolean;
  /** @throws where the API server does not answer; the doubts stay. */
  run(): Promise<void>;
}

interface Parts {
  readonly publisher: Publisher;
  readonly log: Log;
  /** Before the takeover, the table belongs to the former leader. */
  hasTakenOver(): boolean;
  /** What this term has not cut yet, a publish makes. */
  publish(): Promise<void>;
}

export function createShardRepair({ publisher, log, hasTakenOver, publish }: Parts): ShardRepair {
  const suspects = new Set<string>();
  return {
    doubt: (name) => void suspects.add(name),
    hasDoubts: () => suspects.size > 0,
    async run() {
      const named = publisher.shardsNamed();
      const inDoubt = named.filter((name) => suspects.has(name));
      const inUse = publisher.shardsInUse();
      for (const name of suspects) {
        // A shard that is being written into the table is checked afterwards.
        if (!inUse.has(name) || inDoubt.includes(name)) suspects.delete(name);
      }
      if (!hasTakenOver() || inDoubt.length === 0) return;
      log('warn', 'shards were deleted; they are written again', { shards: inDoubt });
      try {
        await publisher.repair(new Set(named.filter((name) => !inDoubt.includes(name))));
      } catch (error) {
        for (const name of inDoubt) suspects.add(name);
        throw error;
      }
      await publish();
      // With a heartbeat gateways try again.
      await publisher.heartbeat();
    },
  };
}
