// Where does a Node target spend its CPU? Runs one scenario under V8's sampling profiler.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type ComparisonParts, startTarget, whyBroken } from './compare.ts';
import type { LoadScenario } from './scenarios.ts';
import { type SelfTime, selfTimes } from './self-times.ts';
import { takeLoad } from './take-load.ts';
import type { TargetName } from './targets/target.ts';

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

/** Self times of the window only: start-up, warm-up and shutdown are cut off. */
export async function profileTarget(
  name: TargetName,
  scenario: LoadScenario,
  parts: ComparisonParts,
  seconds: { warm: number; window: number },
): Promise<SelfTime[]> {
  const folder = join(parts.context.workFolder, 'profile');
  const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=500'];
  const target = await startTarget(name, { ...parts.context, nodeArgs });
  parts.say(`profile: ${scenario.name} ${name}`);
  const at = { round: 0, cores: parts.cores };
  await takeLoad(parts.client, target, scenario, { ...at, seconds: seconds.warm });
  const measurement = await takeLoad(parts.client, target, scenario, { ...at, seconds: seconds.window });
  const why = whyBroken(measurement);
  if (why !== undefined) throw new Error(`${name} broke in ${scenario.name}: ${why}`);
  await target.stop();
  const [file] = await readdir(folder).catch(() => []);
  if (file === undefined) throw new Error(`${name} wrote no profile: it did not exit in order after SIGTERM`);
  const profile = profileSchema.parse(JSON.parse(await readFile(join(folder, file), 'utf8')));
  return selfTimes(profile, seconds.window);
}
