// Which cores may a run use? One for the proxy alone, one for everything else.

import { readFileSync } from 'node:fs';

export type Cores = { proxy: number; load: number };

/** The first two cores this process may run on. @throws Error when there is only one. */
export function pickCores(allowedList: string = readAllowedList()): Cores {
  const [load, proxy] = parseCoreList(allowedList);
  if (load === undefined || proxy === undefined) {
    throw new Error(
      `the benchmark needs two cores, one for the proxy alone and one for load and upstream; this process may use ${allowedList.trim() || 'none'}`,
    );
  }
  return { proxy, load };
}

/** `0-2,5` as `[0, 1, 2, 5]`. */
export function parseCoreList(list: string): number[] {
  return list
    .trim()
    .split(',')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

function readAllowedList(): string {
  return /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
}
