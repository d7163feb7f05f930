// A work queue of keys with backoff after failures: each key is queued at most once, and never processed twice at the same time. It
// knows no resource; the worker reads the object of a key when it runs.
//
//              add                    worker free                done
//   (unknown) ─────► in line ───────────────────────► at work ─────────► (unknown)
//       ▲              ▲                                │ added again, or failed
//       │ addAfter     └── at once ◄── or backoff ◄─────┘

import type { Clock } from '../core/clock.ts';
import { createFairLine, type Lane } from './fair-line.ts';
import { createTokenBucket } from './token-bucket.ts';
import { letOthers } from './turn.ts';

/** Nothing: done until it is added again. Or: look again after so long. */
// biome-ignore lint/suspicious/noConfusingVoidType: a run that has nothing to say is an async function without return.
export type RunResult = void | { readonly afterMs: number };

export interface QueueOptions {
  /** In metrics. */
  readonly name: string;
  readonly workers: number;
  /** The longest wait before a key is tried again, default 1000 s. */
  readonly backoffMaxMs?: number;
  readonly clock: Clock;
  /** 0 to 1. */
  random(): number;
  /** The signal is raised when the queue is closed and waits no longer. */
  run(key: string, signal: AbortSignal): Promise<RunResult>;
  /** A run has failed and will be tried again after so long; 0: the queue is closed, it will not. */
  onError(key: string, error: unknown, retryInMs: number): void;
  readonly metrics?: QueueMetrics;
  /** Lanes take turns. Left out: one for all, in the order of arrival. */
  laneOf?(key: string): Lane;
}

export interface QueueStats {
  /** Keys in line, those at work not counted. */
  readonly depth: number;
  readonly activeWorkers: number;
  readonly maxWorkers: number;
  /** Since the longest of the runs in progress began; 0 without one. */
  readonly longestRunMs: number;
  /** All runs in progress together. */
  readonly unfinishedMs: number;
}

export type RunOutcome = 'success' | 'error' | 'requeue_after';

/** Metrics that a queue updates while it runs. */
export interface QueueMetrics {
  /** Once, at the start: where the present figures can be read. */
  opened(queue: string, stats: () => QueueStats): void;
  added(queue: string): void;
  retried(queue: string): void;
  started(queue: string, waitedMs: number): void;
  /** A run failed by a fault of the program, which no API server is to blame for. */
  panicked(queue: string): void;
  ended(queue: string, tookMs: number, outcome: RunOutcome): void;
}

export interface WorkQueue {
  /** Runs the key as soon as a worker is free; one that is at work is run again after that. */
  add(key: string): void;
  /** The same, after so long. Of several times for one key, the earliest counts. */
  addAfter(key: string, delayMs: number): void;
  /** Its next failure counts as the first; and what is waiting to be tried again does so no more. */
  forget(key: string): void;
  /** What kept keys from succeeding may be over: those that wait to be tried again are, each once, in line. */
  retryNow(): void;
  stats(): QueueStats;
  /**
   * Takes nothing more, drops what is in line, and waits for the runs in progress; after `graceMs` their signal is
   * raised and they are waited for no longer.
   */
  close(graceMs?: number): Promise<void>;
}

const backoffMinMs = 5;
const backoffMaxMsDefault = 1_000_000;
const retriesPerSecond = 10;
const retriesBurst = 100;
const closeGraceMs = 10_000;
/** Most runs wait for nothing but promises: of fifty thousand in line none would let a timer or a socket in. */
const runsPerTurn = 50;

export function createQueue(options: QueueOptions): WorkQueue {
  const { name, clock, metrics, backoffMaxMs = backoffMaxMsDefault } = options;
  /** In line, with the time of arrival. */
  const line = createFairLine(options.laneOf);
  /** Runs since the queue was empty, or since other work ran. */
  let runsInARow = 0;
  let othersTurn: Promise<void> | undefined;
  /** At work, with the time it began. */
  const running = new Map<string, number>();
  /** In progress, and added again. */
  const again = new Set<string>();
  const failures = new Map<string, number>();
  const delayed = createTimers(clock, add);
  const retries = createTimers(clock, add);
  // A failing API server fails for every key: without a limit over all, each new key would knock at full speed.
  const retryBucket = createTokenBucket(clock, retriesPerSecond, retriesBurst);
  const stop = new AbortController();
  let isClosed = false;
  let onIdle: (() => void) | undefined;

  metrics?.opened(name, stats);
  return { add, addAfter, forget, retryNow: retries.fireAll, stats, close };

  function add(key: string): void {
    if (isClosed || line.has(key) || again.has(key)) return;
    metrics?.added(name);
    if (running.has(key)) {
      again.add(key);
      return;
    }
    line.add(key, clock.now());
    startRuns();
  }

  function addAfter(key: string, delayMs: number): void {
    if (isClosed) return;
    if (delayMs <= 0) add(key);
    else delayed.set(key, delayMs);
  }

  function forget(key: string): void {
    failures.delete(key);
    retries.clear(key);
  }

  function startRuns(): void {
    while (running.size < options.workers) {
      const next = takeNext();
      if (next === undefined) return;
      const [key, addedAtMs] = next;
      // This run is the retry.
      retries.clear(key);
      const startedAtMs = clock.now();
      running.set(key, startedAtMs);
      metrics?.started(name, startedAtMs - addedAtMs);
      if (runsInARow >= runsPerTurn) {
        runsInARow = 0;
        othersTurn = letOthers(clock).then(() => {
          othersTurn = undefined;
        });
      }
      void runKey(key, startedAtMs);
    }
  }

  function takeNext(): readonly [key: string, addedAtMs: number] | undefined {
    const next = line.take();
    if (next !== undefined) runsInARow = line.size === 0 ? 0 : runsInARow + 1;
    return next;
  }

  async function runKey(key: string, startedAtMs: number): Promise<void> {
    let outcome: RunOutcome = 'success';
    try {
      // Never within the call that added the key, because the caller may not be ready for the effects of the run.
      await Promise.resolve();
      await othersTurn;
      const result = await options.run(key, stop.signal);
      forget(key);
      if (result !== undefined) {
        outcome = 'requeue_after';
        addAfter(key, result.afterMs);
      }
    } catch (error) {
      outcome = 'error';
      if (isBug(error)) metrics?.panicked(name);
      options.onError(key, error, retry(key));
    } finally {
      running.delete(key);
      metrics?.ended(name, clock.now() - startedAtMs, outcome);
      if (again.delete(key) && !isClosed) line.add(key, clock.now());
      startRuns();
      if (running.size === 0) onIdle?.();
    }
  }

  function retry(key: string): number {
    if (isClosed) return 0;
    const count = failures.get(key) ?? 0;
    failures.set(key, count + 1);
    // Up to a tenth more, so that keys that failed together do not come back together.
    const backoffMs = backoffMinMs * 2 ** count * (1 + options.random() / 10);
    metrics?.retried(name);
    const delayMs = Math.max(Math.min(backoffMs, backoffMaxMs), retryBucket.reserveMs());
    retries.set(key, delayMs);
    return delayMs;
  }

  function stats(): QueueStats {
    const nowMs = clock.now();
    const runs = [...running.values()].map((startedAtMs) => nowMs - startedAtMs);
    return {
      depth: line.size,
      activeWorkers: running.size,
      maxWorkers: options.workers,
      longestRunMs: Math.max(0, ...runs),
      unfinishedMs: runs.reduce((sum, run) => sum + run, 0),
    };
  }

  async function close(graceMs = closeGraceMs): Promise<void> {
    isClosed = true;
    line.clear();
    again.clear();
    delayed.clearAll();
    retries.clearAll();
    if (running.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    onIdle = resolve;
    const cancel = clock.setTimer(graceMs, () => {
      stop.abort(new Error(`queue ${name} is closed`));
      resolve();
    });
    await promise;
    cancel();
  }
}

/** Errors that JavaScript itself throws for a bug. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

interface Timers {
  /** An earlier one for the key stays, a later one is replaced. */
  set(key: string, delayMs: number): void;
  clear(key: string): void;
  clearAll(): void;
  fireAll(): void;
}

function createTimers(clock: Clock, fire: (key: string) => void): Timers {
  const timers = new Map<string, { readonly dueMs: number; cancel(): void }>();

  function clear(key: string): void {
    timers.get(key)?.cancel();
    timers.delete(key);
  }

  return {
    set(key, delayMs) {
      const dueMs = clock.now() + delayMs;
      const known = timers.get(key);
      if (known !== undefined && known.dueMs <= dueMs) return;
      clear(key);
      const cancel = clock.setTimer(delayMs, () => {
        timers.delete(key);
        fire(key);
      });
      timers.set(key, { dueMs, cancel });
    },
    clear,
    clearAll() {
      for (const key of [...timers.keys()]) clear(key);
    },
    fireAll() {
      for (const key of [...timers.keys()]) {
        clear(key);
        fire(key);
      }
    },
  };
}
