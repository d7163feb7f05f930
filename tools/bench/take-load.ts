// One target, one scenario, once: put the load on, look at CPU and memory when the window opens and when it closes.

import { type LoadClient, runLoad } from './load.ts';
import { coreBusy, readCoreTicks } from './measure/core-time.ts';
import type { Cores } from './measure/cores.ts';
import { cpuUsed, readCpu } from './measure/cpu.ts';
import { readRssKib } from './measure/memory.ts';
import { processTree } from './measure/process-tree.ts';
import type { LoadMeasurement } from './measurement.ts';
import type { LoadScenario } from './scenarios.ts';
import type { RunningTarget } from './targets/target.ts';

/** Load before the window opens, so that connections and first streams are not measured. */
const LEAD_MS = 300;

export async function takeLoad(
  client: LoadClient,
  target: RunningTarget,
  scenario: LoadScenario,
  at: { round: number; seconds: number; cores: Cores },
): Promise<LoadMeasurement> {
  const pids = processTree(target.process.pid);
  const { result, before, after } = await runLoad(
    client,
    {
      port: target.port,
      model: target.modelName(scenario.model),
      bodyBytes: scenario.bodyBytes,
      connections: scenario.connections,
      seconds: at.seconds,
      leadMs: LEAD_MS,
      ...(scenario.ratePerSecond === undefined ? {} : { ratePerSecond: scenario.ratePerSecond }),
      ...(scenario.events === undefined ? {} : { events: scenario.events }),
      ...(scenario.dialect === undefined ? {} : { dialect: scenario.dialect }),
      ...(scenario.rampMs === undefined ? {} : { rampMs: scenario.rampMs }),
      ...(target.authorization === undefined ? {} : { authorization: target.authorization }),
    },
    () => ({ cpu: readCpu(pids), cores: readCoreTicks() }),
  );
  const { ns, threadsEnded } = cpuUsed(before.cpu, after.cpu);
  const units = scenario.unit === 'event' ? result.events : result.good;
  return {
    kind: 'load',
    round: at.round,
    scenario: scenario.name,
    target: target.name,
    units,
    unitsPerSecond: units / result.seconds,
    cpuUsPerUnit: units === 0 ? Number.NaN : ns / 1000 / units,
    coresUsed: ns / 1e9 / result.seconds,
    proxyCoreBusy: coreBusy(before.cores, after.cores, at.cores.proxy),
    loadCoreBusy: coreBusy(before.cores, after.cores, at.cores.load),
    threadsEnded,
    rssMib: readRssKib(pids) / 1024,
    client: result,
  };
}
