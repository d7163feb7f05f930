// How much CPU did some processes use? Nanoseconds on a core of every one of their threads
// (/proc/PID/task/TID/schedstat, first field), so garbage collection and helper threads count too.

import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds by `pid/tid`. */
type CpuReading = ReadonlyMap<string, number>;

export function readCpu(pids: readonly number[]): CpuReading {
  const reading = new Map<string, number>();
  for (const pid of pids) {
    for (const tid of readThreads(pid)) {
      const onCoreNs = readOnCoreNs(pid, tid);
      if (onCoreNs !== undefined) reading.set(`${pid}/${tid}`, onCoreNs);
    }
  }
  return reading;
}

/** CPU time between two readings. Threads that ended in between take their time with them: `threadsEnded` tells. */
export function cpuUsed(before: CpuReading, after: CpuReading): { ns: number; threadsEnded: number } {
  let ns = 0;
  for (const [thread, onCoreNs] of after) ns += onCoreNs - (before.get(thread) ?? 0);
  const threadsEnded = [...before.keys()].filter((thread) => !after.has(thread)).length;
  return { ns, threadsEnded };
}

function readThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // the process ended
  }
}

function readOnCoreNs(pid: number, tid: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return undefined; // the thread ended
  }
}
