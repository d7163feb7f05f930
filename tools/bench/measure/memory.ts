// How much memory do some processes hold? Resident set size, in KiB (proc(5), smaps_rollup).

import { readFileSync } from 'node:fs';

export function readRssKib(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readOne(pid), 0);
}

function readOne(pid: number): number {
  // smaps_rollup counts pages exactly; status lags by a few pages per thread but is always readable.
  return (
    readField(`/proc/${pid}/smaps_rollup`, /^Rss:\s+(\d+) kB/m) ??
    readField(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB/m) ??
    0
  );
}

function readField(path: string, pattern: RegExp): number | undefined {
  try {
    const match = pattern.exec(readFileSync(path, 'utf8'));
    return match?.[1] === undefined ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
}
