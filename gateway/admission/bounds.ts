// How much does one gateway take on? Bounds without a setting are derived from the memory of the process.

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { ConnectionBounds } from './connections.ts';
import type { LoadBounds } from './judge-load.ts';

export interface DoorBounds extends LoadBounds, ConnectionBounds {
  /** Bytes of request bodies in flight; they are kept until their answers have ended. */
  readonly bodyBytesMax: number;
  /** Bytes of answers that are kept until their clients have them. */
  readonly answerBytesMax: number;
  /** Refusals of bad keys that one address gets in a minute before it must wait; 0: no limit. */
  readonly failedKeysPerMinute: number;
}

export function defaultBounds(memoryBytes = readMemoryBytes()): DoorBounds {
  return {
    inFlightMax: 4_096,
    turnMaxMs: 50,
    loopDelayMaxMs: 100,
    heapShareMax: 0.85,
    heapShareCloses: 0.92,
    connectionsMax: 10_000,
    // No address may take all connections; a trusted proxy seldom needs as many for one pod.
    connectionsPerAddressMax: 5_000,
    proxies: [],
    // Bodies are outside the heap, which may take three quarters. Admission ends before both are full.
    bodyBytesMax: Math.floor(memoryBytes / 4),
    // They come when their requests have long been there, most of them as streams of which nothing is kept.
    answerBytesMax: Math.floor(memoryBytes / 8),
    failedKeysPerMinute: 600,
  };
}

/** Memory of the container; without a limit, the heap's limit and a third more. */
export function readMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  if (constrained > 0 && constrained < totalmem()) return constrained;
  return Math.floor(getHeapStatistics().heap_size_limit / 0.75);
}
