// How busy is this process? What Node and V8 count anyway, read a few times a second.

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../core/clock.ts';
import { readMemoryBytes } from './bounds.ts';
import type { LoadReading } from './judge-load.ts';

export interface LoadMeter {
  start(): void;
  stop(): void;
  /** Above `heapShareMax` what is only garbage is looked for first. */
  read(heapShareMax: number): Omit<LoadReading, 'inFlight' | 'looks'>;
}

/** How often the delay of the event loop is looked at, within a window: of 200 looks one or two may be late for once. */
const sampleMs = 10;
const windowMs = 2_000;

/** A collection of the whole heap takes time itself. */
const collectEveryMs = 5_000;

export function openLoadMeter(clock: Clock): LoadMeter {
  const delays = monitorEventLoopDelay({ resolution: sampleMs });
  let looked = performance.eventLoopUtilization();
  let turns = 0;
  let windowAt = 0;
  let collectedAt = Number.NEGATIVE_INFINITY;
  const limits = readMemoryLimits();

  const readTurns = (): Pick<LoadReading, 'turnMs' | 'busyShare'> => {
    const now = performance.eventLoopUtilization();
    const { active, utilization } = performance.eventLoopUtilization(now, looked);
    const { loopCount } = performance.nodeTiming.uvMetricsInfo;
    const turnMs = active / Math.max(1, loopCount - turns);
    looked = now;
    turns = loopCount;
    return { turnMs, busyShare: utilization };
  };

  const readDelay = (): number | undefined => {
    if (clock.now() - windowAt < windowMs) return undefined;
    windowAt = clock.now();
    // Its timer counts as late by as long as it was set for.
    const delayMs = delays.count === 0 ? 0 : Math.max(0, delays.percentile(99) / 1e6 - sampleMs);
    delays.reset();
    return delayMs;
  };

  /**
   * Collects garbage before a request would be refused for a full heap. A process that refuses everything allocates nothing, so V8 would
   * never collect, and the process would refuse for ever.
   */
  const heapShare = (heapShareMax: number): number => {
    const share = readHeapShare(limits);
    if (share < heapShareMax || clock.now() - collectedAt < collectEveryMs) return share;
    collectedAt = clock.now();
    collectGarbage();
    return readHeapShare(limits);
  };

  return {
    start() {
      delays.enable();
      delays.reset();
      windowAt = clock.now();
      readTurns();
    },
    stop: () => void delays.disable(),
    read(heapShareMax) {
      return { ...readTurns(), loopDelayMs: readDelay(), heapShare: heapShare(heapShareMax) };
    },
  };
}

interface MemoryLimits {
  /** Limit for long-lived objects: when they fill their part of the heap, the process ends, however much is left for young objects. */
  readonly lastingHeapBytes: number;
  /** Limit for long-lived objects and memory outside the heap, such as bodies: above it, the kernel ends the process. */
  readonly togetherBytes: number;
}

/** The nearer of the two limits counts. */
export function readHeapShare({ lastingHeapBytes, togetherBytes } = readMemoryLimits()): number {
  let used = 0;
  for (const { space_name: name, space_used_size: bytes } of getHeapSpaceStatistics()) {
    if (!name.startsWith('new_')) used += bytes;
  }
  return Math.max(used / lastingHeapBytes, (used + getHeapStatistics().external_memory) / togetherBytes);
}

/** Memory that is not counted: the program itself, young objects, threads, sockets, and the copy of the table (decision 0032). */
const uncountedShare = 1 / 6;

function readMemoryLimits(): MemoryLimits {
  return {
    lastingHeapBytes: readLastingHeapMax(),
    togetherBytes: readMemoryBytes() * (1 - uncountedShare),
  };
}

/** V8's default size for young objects. It comes on top of the limit for old ones, unless a flag sets it too. */
const youngBytes = 96 * 1024 * 1024;

/** V8 tells the sum of both parts only. */
function readLastingHeapMax(): number {
  const sizes = process.execArgv.map((flag) => /^--max[-_]old[-_]space[-_]size=(\d+)$/.exec(flag)?.[1]);
  const mebibytes = sizes.findLast((value) => value !== undefined);
  if (mebibytes !== undefined) return Number(mebibytes) * 1024 * 1024;
  return getHeapStatistics().heap_size_limit - youngBytes;
}

/** Node has no other door to it than this flag, which may be set late. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}
