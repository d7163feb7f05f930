// What does a process under test say of itself, and what does the kernel say of it?

import { readFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RunningProcess } from '../../support/process.ts';

/** @param flags as the chart gives them to the process, see its tests. */
export function probedNode(...flags: readonly string[]): Readonly<Record<string, string>> {
  const probe = fileURLToPath(new URL('probe.ts', import.meta.url));
  return { NODE_OPTIONS: [`--import=${probe}`, ...flags].join(' ') };
}

const probeSchema = z.object({
  probe: z.object({
    lagP99Ms: z.number(),
    lagMaxMs: z.number(),
    turnMaxMs: z.number(),
    gcMaxMs: z.number(),
    heapMib: z.number(),
    externalMib: z.number(),
  }),
});
export type Probe = z.infer<typeof probeSchema>['probe'];

/** What was since the last call for this process, or since its start. */
export async function readProbe(process: RunningProcess): Promise<Probe> {
  const line = process.nextLine(/^\{"message":"probe"/);
  process.signal('SIGWINCH');
  return probeSchema.parse(JSON.parse(await line)).probe;
}

export interface Resident {
  readonly nowMib: number;
  readonly peakMib: number;
}

export async function readResident({ pid }: RunningProcess): Promise<Resident> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string) =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024);
  return { nowMib: mib('VmRSS'), peakMib: mib('VmHWM') };
}

/** Processes that wanted a core, over the last minute: a figure without it says little. */
export function load(): number {
  return Math.round((loadavg()[0] ?? 0) * 10) / 10;
}
