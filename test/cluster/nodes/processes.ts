// Which processes are there, and is this one alive? As /proc of Linux tells.

import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** In ticks since the machine started: with it, a process id that was given again is not mistaken. */
export function startOf(pid: number): string | undefined {
  // The 22nd field.
  return fieldsOf(pid)?.[19];
}

/** On the same clock. Linux shows a hundred a second, on every machine. */
export async function ticksNow(): Promise<number> {
  const [seconds = '0'] = (await readFile('/proc/uptime', 'utf8')).split(' ');
  return Math.ceil(Number(seconds) * 100);
}

/** One that has ended and that nobody has collected yet is not. */
export function isAlive(pid: number): boolean {
  const state = fieldsOf(pid)?.[0];
  return state !== undefined && state !== 'Z' && state !== 'X';
}

export async function livingPids(): Promise<number[]> {
  return (await readdir('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(isAlive);
}

/** From the third on: the second, the name of the program, may contain anything and ends with the last bracket. */
function fieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
