// Where does a Node target spend its CPU? Runs one scenario under V8's sampling profiler.

import { join } from 'node:path';
import { type ComparisonParts, startTarget, whyBroken } from './compare.ts';
import { profilerFlags, readProfile } from './cpu-profile.ts';
import type { LoadScenario } from './scenarios.ts';
import { partOf, type SelfTime, selfTimes } from './self-times.ts';
import { takeLoad } from './take-load.ts';
import type { TargetName } from './targets/target.ts';

interface TargetProfile {
  readonly functions: readonly SelfTime[];
  readonly parts: readonly SelfTime[];
  /** Requests, responses or events of the window. */
  readonly units: number;
}

/** Self times of the window only: start-up, warm-up and shutdown are cut off. */
export async function profileTarget(
  name: TargetName,
  scenario: LoadScenario,
  parts: ComparisonParts,
  seconds: { warm: number; window: number },
): Promise<TargetProfile> {
  const folder = join(parts.context.workFolder, 'profile');
  const target = await startTarget(name, { ...parts.context, nodeArgs: profilerFlags(folder) });
  parts.say(`profile: ${scenario.name} ${name}`);
  const at = { round: 0, cores: parts.cores };
  await takeLoad(parts.client, target, scenario, { ...at, seconds: seconds.warm });
  const measurement = await takeLoad(parts.client, target, scenario, { ...at, seconds: seconds.window });
  const why = whyBroken(measurement);
  if (why !== undefined) throw new Error(`${name} broke in ${scenario.name}: ${why}`);
  await target.stop();
  const profile = await readProfile(folder);
  return {
    functions: selfTimes(profile, seconds.window),
    parts: selfTimes(profile, seconds.window, partOf),
    units: measurement.units,
  };
}
