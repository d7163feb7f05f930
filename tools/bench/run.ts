// `npm run bench`: compares the gateway with its neighbours on this machine, in one alternating run. Wiring only.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SelfBytes } from './allocation-profile.ts';
import { type Comparison, type ComparisonParts, compare } from './compare.ts';
import { keepsCeilings } from './gate.ts';
import { growthCases, growthModels, measureGrowth, writeGrowthReport } from './growth.ts';
import { createLauncher, type Launcher } from './launcher.ts';
import { readMachine } from './machine.ts';
import { pickCores } from './measure/cores.ts';
import { buildNative } from './native.ts';
import { compareParts } from './parts/compare-parts.ts';
import { summariseParts, writePartsReport } from './parts/report.ts';
import { pinThisProcess } from './pin.ts';
import { profileAllocations, profileTarget } from './profile.ts';
import { writeReport } from './report.ts';
import type { SelfTime } from './self-times.ts';
import { readSettings, type Settings } from './settings.ts';
import { summarise } from './summary.ts';
import { measureTables, tableSizes, writeTableReport } from './table.ts';
import { targets } from './targets/registry.ts';
import { startUpstream } from './upstream.ts';

async function main(): Promise<number> {
  const invocation = readSettings(process.argv.slice(2), process.env);
  if (invocation.kind === 'help') {
    console.log(invocation.text);
    return 0;
  }
  const { settings } = invocation;
  const workFolder = await mkdtemp(join(tmpdir(), 'penstock-bench-'));
  const launcher = createLauncher(workFolder, settings.environment);
  const end = async () => {
    await launcher.close();
    await rm(workFolder, { recursive: true, force: true });
  };
  let isEnding = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // `on`, not `once`: a second Ctrl-C must not kill the runner before it has ended what it started.
    process.on(signal, () => {
      if (isEnding) return;
      isEnding = true;
      console.error('ending everything that was started ...');
      void end().finally(() => process.exit(130));
    });
  }
  try {
    if (settings.isTable) return await runTable(settings, launcher, workFolder);
    return await run(settings, launcher, workFolder);
  } finally {
    await end();
  }
}

async function run(settings: Settings, launcher: Launcher, workFolder: string): Promise<number> {
  const cores = pickCores();
  await pinThisProcess(cores.load);
  // Asked first: whatever is missing is said before the first minute is spent.
  const versions: Record<string, string> = {};
  for (const name of settings.targets) {
    versions[name] = await targets[name].describe({ cacheFolder: settings.cacheFolder, launcher });
  }
  const native = await buildNative(settings.cacheFolder);
  const upstream = await startUpstream(launcher, native.mock, cores.load);
  const scripted = ['unary', 'burst-20', ...settings.scenarios.map((scenario) => scenario.model)];
  const models = settings.isGrowth ? growthModels : [...new Set(scripted)];
  const parts: ComparisonParts = {
    client: { launcher, program: native.client, core: cores.load },
    context: { launcher, upstream, cacheFolder: settings.cacheFolder, workFolder, core: cores.proxy, models },
    cores,
    say: (text) => console.error(text),
  };
  if (settings.isProfile) return await runProfile(settings, parts);
  if (settings.isParts) return await runParts(settings, parts);
  if (settings.isGrowth) return await runGrowth(settings, parts);
  if (settings.isGate) return (await keepsCeilings(settings, parts)) ? 0 : 1;
  const comparison = await compare(settings, parts);
  return await writeResults(settings, versions, comparison);
}

async function runTable(settings: Settings, launcher: Launcher, workFolder: string): Promise<number> {
  const runs = settings.rounds;
  const say = (text: string) => console.error(text);
  const costs = await measureTables(tableSizes, { launcher, workFolder, runs, warmRuns: 3, say });
  const date = new Date().toISOString().slice(0, 16);
  const report = { date, machine: await readMachine(), runs, costs };
  await writeFigures(settings, 'table.json', report);
  console.log(writeTableReport(report));
  return 0;
}

async function runGrowth(settings: Settings, parts: ComparisonParts): Promise<number> {
  const { rounds, warmSeconds, windowSeconds } = settings;
  const times = { rounds, warmSeconds, windowSeconds };
  const rows = await measureGrowth(growthCases, times, parts);
  const date = new Date().toISOString().slice(0, 16);
  const report = { date, machine: await readMachine(), times, rows };
  await writeFigures(settings, 'growth.json', report);
  console.log(writeGrowthReport(report));
  return 0;
}

async function runProfile(settings: Settings, parts: ComparisonParts): Promise<number> {
  const [name] = settings.targets;
  const [scenario] = settings.scenarios;
  if (name === undefined || scenario?.kind !== 'load')
    throw new Error('--profile takes one target and one load scenario');
  const seconds = { warm: settings.warmSeconds, window: settings.windowSeconds };
  const { functions, parts: inParts, units } = await profileTarget(name, scenario, parts, seconds);
  const line = ({ name: of, ms, share }: SelfTime) =>
    `${(share * 100).toFixed(1).padStart(6)} %  ${((ms * 1000) / units).toFixed(2).padStart(7)} µs  ${of}`;
  console.log(`Self time of ${name} in ${scenario.name}, busy time only, per ${scenario.unit}, by part:\n`);
  for (const time of inParts) console.log(line(time));
  console.log('\nThe largest functions:\n');
  for (const time of functions.slice(0, 40)) console.log(line(time));
  const allocated = await profileAllocations(name, scenario, parts, seconds);
  const bytes = ({ name: of, bytes, share }: SelfBytes) =>
    `${(share * 100).toFixed(1).padStart(6)} %  ${(bytes / allocated.units).toFixed(0).padStart(7)} B   ${of}`;
  console.log(`\nAllocated by ${name} in ${scenario.name}, per ${scenario.unit}, by part:\n`);
  for (const part of allocated.parts) console.log(bytes(part));
  console.log('\nThe functions that allocate most:\n');
  for (const part of allocated.functions.slice(0, 40)) console.log(bytes(part));
  return 0;
}

async function runParts(settings: Settings, parts: ComparisonParts): Promise<number> {
  const loads = settings.scenarios.filter((scenario) => scenario.kind === 'load');
  const { measurements, ...comparison } = await compareParts(settings, loads, parts);
  const { rounds, windowSeconds, warmSeconds, isQuick } = settings;
  const report = {
    date: new Date().toISOString().slice(0, 16),
    machine: await readMachine(),
    ...{ rounds, windowSeconds, warmSeconds, isQuick },
    ...comparison,
    summaries: summariseParts(loads, comparison.parts, measurements),
  };
  const page = writePartsReport(report);
  await writeFigures(settings, 'parts.json', { ...report, measurements });
  await writeFile(join(settings.resultsFolder, 'parts.md'), page);
  console.log(page);
  return comparison.broken.length > 0 ? 1 : 0;
}

async function writeResults(
  settings: Settings,
  versions: Record<string, string>,
  comparison: Comparison,
): Promise<number> {
  const date = new Date().toISOString().slice(0, 16);
  const machine = await readMachine();
  const summary = summarise(settings.scenarios, settings.targets, comparison.measurements);
  const { rounds, windowSeconds, warmSeconds, isQuick } = settings;
  const header = { date, machine, versions, rounds, windowSeconds, warmSeconds, isQuick };
  const report = writeReport({ ...header, summary, broken: comparison.broken });
  const name = `${date.replaceAll(':', '')}-${scenarioSet(settings)}.json`;
  await writeFigures(settings, name, { ...header, summary, ...comparison });
  await writeFile(join(settings.resultsFolder, 'latest.md'), report);
  console.log(report);
  return comparison.broken.length > 0 ? 1 : 0;
}

/** Makes the folder where it is missing. */
async function writeFigures({ resultsFolder }: Settings, name: string, figures: object): Promise<void> {
  await mkdir(resultsFolder, { recursive: true });
  await writeFile(join(resultsFolder, name), `${JSON.stringify(figures, null, 1)}\n`);
}

function scenarioSet(settings: Settings): string {
  if (settings.isQuick) return 'quick';
  const names = settings.scenarios.map((scenario) => scenario.name);
  return names.length > 3 ? `${names.length}-scenarios` : names.join('+');
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
