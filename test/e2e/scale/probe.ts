// How long did this process keep its callers waiting, and how long was it collecting garbage? Loaded into a process under test
// with --import; each SIGWINCH, which nobody else listens to, has it say what was since the last one.

import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

const resolutionMs = 10;
const delays = monitorEventLoopDelay({ resolution: resolutionMs });
delays.enable();
let pauseMs = 0;
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
    gcMaxMs: Math.round(pauseMs),
    heapMib: Math.round(heapUsed / 2 ** 20),
    externalMib: Math.round(external / 2 ** 20),
  };
  process.stdout.write(`${JSON.stringify({ message: 'probe', probe })}\n`);
  delays.reset();
  pauseMs = 0;
});
