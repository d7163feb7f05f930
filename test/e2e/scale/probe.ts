// How long did this process keep its callers waiting, and how long was it collecting garbage? Loaded into a process under test
// with --import; each SIGWINCH, which nobody else listens to, has it say what was since the last one.
//
// The lag is what a caller feels, and on a machine with too few cores it is the wait for one of them. What the process itself is to
// blame for is the time that its thread worked between two looks at the timers.

import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

const resolutionMs = 10;
const delays = monitorEventLoopDelay({ resolution: resolutionMs });
delays.enable();
let pauseMs = 0;
let turnMs = 0;
let workedMs = threadMs();
setInterval(() => {
  const nowMs = threadMs();
  turnMs = Math.max(turnMs, nowMs - workedMs);
  workedMs = nowMs;
}, resolutionMs).unref();
const collections = new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) pauseMs = Math.max(pauseMs, duration);
});
collections.observe({ entryTypes: ['gc'] });

process.on('SIGWINCH', () => {
  // What is over the interval of the monitor itself was somebody's wait.
  const lagMs = (nanoseconds: number) => Math.max(0, Math.round(nanoseconds / 1e6 - resolutionMs));
  const { heapUsed, external } = process.memoryUsage();
  const probe = {
    lagP99Ms: lagMs(delays.percentile(99)),
    lagMaxMs: lagMs(delays.max),
    turnMaxMs: Math.round(turnMs),
    gcMaxMs: Math.round(pauseMs),
    heapMib: Math.round(heapUsed / 2 ** 20),
    externalMib: Math.round(external / 2 ** 20),
  };
  process.stdout.write(`${JSON.stringify({ message: 'probe', probe })}\n`);
  delays.reset();
  pauseMs = 0;
  turnMs = 0;
});

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
