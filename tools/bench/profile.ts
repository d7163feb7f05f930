// Where does a Node target spend its CPU, and what allocates? Runs one scenario under each of V8's sampling profilers.

import { join } from 'node:path';
import { allocationFlags, readAllocations, type SelfBytes, selfBytes } from './allocation-profile.ts';
import { type ComparisonParts, startTarget, whyBroken } from './compare.ts';
import { profilerFlags, readProfile } from './cpu-profile.ts';
import type { LoadScenario } from './scenarios.ts';
import { functionOf, partOf, type SelfTime, selfTimes } from './self-times.ts';
import { takeLoad } from './take-load.ts';
import type { RunningTarget, TargetName } from './targets/target.ts';

interface TargetProfile {
  readonly functions: readonly SelfTime[];
  readonly parts: readonly SelfTime[];
  /** Requests, responses or events of the window. */
  readonly units: number;
}

interface AllocationProfile {
  readonly functions: readonly SelfBytes[];
  readonly parts: readonly SelfBytes[];
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
  parts.say(`profile: ${scenario.name} ${name}`);
  const units = await loadWarm(name, scenario, parts, seconds, profilerFlags(folder));
  const profile = await readProfile(folder);
  return {
    functions: selfTimes(profile, seconds.window),
    parts: selfTimes(profile, seconds.window, partOf),
    units,
  };
}

/** Of the window, and of the drain after it. */
export async function profileAllocations(
  name: TargetName,
  scenario: LoadScenario,
  parts: ComparisonParts,
  seconds: { warm: number; window: number },
): Promise<AllocationProfile> {
  const file = join(parts.context.workFolder, 'allocations.json');
  parts.say(`allocations: ${scenario.name} ${name}`);
  const begin = ({ process: { pid } }: RunningTarget): void => void process.kill(pid, 'SIGWINCH');
  const units = await loadWarm(name, scenario, parts, seconds, allocationFlags(file), begin);
  const head = await readAllocations(file);
  return { functions: selfBytes(head, functionOf), parts: selfBytes(head, partOf), units };
}

/** @returns The units of the window, of a target that was warm, and has ended. */
async function loadWarm(
  name: TargetName,
  scenario: LoadScenario,
  parts: ComparisonParts,
  seconds: { warm: number; window: number },
  nodeArgs: readonly string[],
  onWarm: (target: RunningTarget) => void = () => {},
): Promise<number> {
  const target = await startTarget(name, { ...parts.context, nodeArgs });
  const at = { round: 0, cores: parts.cores };
  await takeLoad(parts.client, target, scenario, { ...at, seconds: seconds.warm });
  onWarm(target);
  const measurement = await takeLoad(parts.client, target, scenario, { ...at, seconds: seconds.window });
  const why = whyBroken(measurement);
  if (why !== undefined) throw new Error(`${name} broke in ${scenario.name}: ${why}`);
  await target.stop();
  return measurement.units;
}
