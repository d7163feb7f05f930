// What did V8's sampling profiler leave of a process that was started with it?

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
      /** Ids of what it called. */
      children: z.array(z.number()).optional(),
    }),
  ),
  /** Node ids, one per sample. */
  samples: z.array(z.number()),
  /** Microseconds before each sample. */
  timeDeltas: z.array(z.number()),
});

export type CpuProfile = z.infer<typeof profileSchema>;

/** For a Node process that writes its profiles into `folder` when it exits in order. */
export function profilerFlags(folder: string): readonly string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=500'];
}

/** Of the main thread; each worker leaves its own. @throws without a profile. */
export async function readProfile(folder: string): Promise<CpuProfile> {
  const files = await readdir(folder).catch(() => []);
  // CPU.<day>.<time>.<process>.<thread>.<number>.cpuprofile
  const file = files.find((name) => name.split('.')[4] === '0');
  if (file === undefined)
    throw new Error('no profile was written: the process did not exit in order after SIGTERM');
  return profileSchema.parse(JSON.parse(await readFile(join(folder, file), 'utf8')));
}
