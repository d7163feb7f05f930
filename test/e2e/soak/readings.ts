// What does a process hold on to, by its own word and by the kernel's, and does that grow?

import { readdir, readlink } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RunningProcess } from '../../support/process.ts';
import { readResident } from '../scale/readings.ts';

/** With the heap limit that the chart gives a container of so much memory. */
export function soakedNode(containerMib: number): Readonly<Record<string, string>> {
  const probe = fileURLToPath(new URL('probe.ts', import.meta.url));
  const heapMib = Math.floor((containerMib * 3) / 4);
  return { NODE_OPTIONS: `--expose-gc --import=${probe} --max-old-space-size=${heapMib}` };
}

export interface Sample {
  readonly atMs: number;
  /** Heap and what hangs on it, after a collection of garbage. */
  readonly memoryMib: number;
  readonly residentMib: number;
  readonly timers: number;
  /** Open files, sockets among them. */
  readonly files: number;
  readonly sockets: number;
}

const heldSchema = z.object({ held: z.object({ memoryMib: z.number(), timers: z.number() }) });

/** Undefined where the process ends at the same time. */
export async function takeSample(process: RunningProcess): Promise<Sample | undefined> {
  let isOver = false;
  void process.exit.then(() => {
    isOver = true;
  });
  try {
    const line = process.nextLine(/^\{"message":"held"/);
    process.signal('SIGWINCH');
    const { held } = heldSchema.parse(JSON.parse(await line));
    const { nowMib } = await readResident(process);
    return { atMs: performance.now(), ...held, residentMib: nowMib, ...(await openFiles(process)) };
  } catch (error) {
    // What the kernel said of it is gone with it.
    if (isOver || (error instanceof Error && 'code' in error && error.code === 'ENOENT')) return undefined;
    throw error;
  }
}

async function openFiles({ pid }: RunningProcess): Promise<{ files: number; sockets: number }> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  // One that was closed since it was listed is none.
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
  return {
    files: targets.filter((target) => target !== '').length,
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  };
}

/** By how much a value has grown over these samples: the line through them (least squares), from the first to the last. */
export function growthOf(samples: readonly Sample[], read: (sample: Sample) => number): number {
  const meanX = mean(samples.map(({ atMs }) => atMs));
  const meanY = mean(samples.map(read));
  let covariance = 0;
  let variance = 0;
  for (const sample of samples) {
    covariance += (sample.atMs - meanX) * (read(sample) - meanY);
    variance += (sample.atMs - meanX) ** 2;
  }
  const spanMs = (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0);
  return variance === 0 ? 0 : (covariance / variance) * spanMs;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
