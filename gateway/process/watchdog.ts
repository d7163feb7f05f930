// What if the event loop hangs for good? Then the process cannot act, no probe is answered and no signal handled: a separate
// thread ends the process, and Kubernetes restarts its container.

import { Worker } from 'node:worker_threads';
import type { Clock } from '../../core/clock.ts';

interface Watchdog {
  close(): Promise<void>;
}

/** Shorter than any patience by far, and rare enough to cost nothing. */
const beatMs = 1_000;

/**
 * The thread counts its own ticks and not time: a process that was frozen as a whole, or a machine that slept, is not one that hangs.
 * SIGKILL, because an orderly end needs the event loop, and others leave a core dump with keys in it. Text, so that a bundle needs
 * no second file.
 */
const watch = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const beats = new Int32Array(workerData.shared);
let last = 0;
let still = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === last ? still + 1 : 0;
  last = now;
  if (still < workerData.ticksMax) return;
  try {
    writeSync(1, JSON.stringify({
      level: 'error',
      time: new Date().toISOString(),
      message: 'the event loop hangs, and the process ends',
      hungMs: workerData.ticksMax * workerData.beatMs,
    }) + '\\n');
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, workerData.beatMs);
`;

/** @param patienceMs How long the event loop may be blocked; 0: no watchdog. */
export function startWatchdog(patienceMs: number, clock: Clock): Watchdog {
  if (patienceMs === 0) return { close: () => Promise.resolve() };
  const shared = new SharedArrayBuffer(4);
  const beats = new Int32Array(shared);
  const worker = new Worker(watch, {
    eval: true,
    workerData: { shared, beatMs, ticksMax: Math.ceil(patienceMs / beatMs) },
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
    // It needs neither the flags of the process nor anything that they load.
    execArgv: [],
    env: {},
  });
  worker.unref();
  let cancel = (): void => {};
  const beat = (): void => {
    Atomics.add(beats, 0, 1);
    cancel = clock.setTimer(beatMs, beat);
  };
  beat();
  return {
    async close() {
      cancel();
      await worker.terminate();
    },
  };
}
