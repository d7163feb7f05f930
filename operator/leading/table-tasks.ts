// The tasks of the one worker on the table.

import type { RunResult } from '../loop.ts';
import { type CollectorOptions, createCollector } from '../publish/collect.ts';
import type { Publisher } from '../publish/publisher.ts';
import { checkMs, type TermParts } from './parts.ts';
import type { ShardRepair } from './shard-repair.ts';

interface Parts extends Pick<TermParts, 'log'>, Pick<CollectorOptions, 'clock'> {
  readonly publisher: Publisher;
  readonly shardRepair: ShardRepair;
  add(...tasks: readonly string[]): void;
  /** False until the table that is there has been read. */
  hasTakenOver(): boolean;
  publish(): Promise<void>;
  /** The API server takes writes again, after it did not. */
  onWritable(): void;
  /** Everything is to be looked at again. */
  onCheck(): void;
}

export const heartbeatMs = 10_000;
const collectMs = 60_000;

/** Recurring tasks, and the delay of their first run. */
export const recurring = { check: checkMs, collect: collectMs } as const;

export function createTableTasks(parts: Parts): (task: string) => Promise<RunResult> {
  const { publisher, hasTakenOver } = parts;
  const collector = createCollector({ ...publisher, clock: parts.clock });
  /** The last heartbeat could not be written. */
  let isShut = false;

  return async (task) => {
    switch (task) {
      case 'heartbeat':
        await heartbeat();
        return { afterMs: heartbeatMs };
      case 'look':
        if (hasTakenOver()) await publisher.repair(publisher.shardsInUse());
        return;
      case 'repair':
        return await parts.shardRepair.run();
      case 'verify':
        // Every shard is read and compared; then a heartbeat has the gateways try again.
        if (!hasTakenOver()) return;
        await publisher.repair(new Set());
        await publisher.heartbeat();
        return;
      case 'collect': {
        const collected = await collector.collect();
        if (collected > 0) parts.log('info', 'shards that no table names were deleted', { collected });
        return { afterMs: collectMs };
      }
      case 'check':
        parts.add('verify', 'publish');
        parts.onCheck();
        return { afterMs: checkMs };
      default:
        return await parts.publish();
    }
  };

  /** Once in ten seconds it shows whether the API server takes writes. */
  async function heartbeat(): Promise<void> {
    try {
      await publisher.heartbeat();
    } catch (error) {
      isShut = true;
      throw error;
    }
    if (!isShut) return;
    isShut = false;
    parts.onWritable();
  }
}
