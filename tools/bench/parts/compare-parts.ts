// The comparison of parts: one gateway for each, all with the same table, keys and load; started once, warmed, then in turns.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ComparisonParts, rotate, whyBroken } from '../compare.ts';
import { RunEndedError } from '../launcher.ts';
import type { LoadMeasurement } from '../measurement.ts';
import type { LoadScenario } from '../scenarios.ts';
import type { Settings } from '../settings.ts';
import { takeLoad } from '../take-load.ts';
import { awaitAnswer } from '../targets/await-answer.ts';
import { benchKey, benchTable, publicModel } from '../targets/gateway.ts';
import { podFlags, podMemoryMib } from '../targets/pod-flags.ts';
import { freePort } from '../targets/ports.ts';
import { pinned, type RunningTarget, runningTarget, type TargetContext } from '../targets/target.ts';
import { findIdle, type Seen, sumOf } from './at-work.ts';
import { type Collector, readMetrics, startCollector } from './collector.ts';
import { type BenchLedger, startBenchLedger } from './ledger.ts';
import { type LimitStore, startLimitStore } from './limit-store.ts';
import { parts as allParts, collectEveryMs, environmentOf, type Part, tableWith } from './parts.ts';

export type PartMeasurement = LoadMeasurement & { part: string };

export type BrokenPart = { part: string; why: string };

type PartsComparison = {
  parts: readonly Part[];
  store: string | undefined;
  measurements: PartMeasurement[];
  broken: BrokenPart[];
};

type RunningPart = { part: Part; target: RunningTarget; metricsPort: number; internalPort: number };

type Surroundings = { collector: Collector; ledger: BenchLedger };

/** Between two looks at a gateway that is under load. */
const LOOK_MS = 200;

export async function compareParts(
  settings: Pick<Settings, 'rounds' | 'warmSeconds' | 'windowSeconds'>,
  loads: readonly LoadScenario[],
  { client, context, cores, say }: ComparisonParts,
  wanted: readonly Part[] = allParts,
): Promise<PartsComparison> {
  const { launcher, workFolder } = context;
  const store = await startLimitStore(launcher, workFolder, client.core);
  const parts = wanted.filter(({ features }) => store !== undefined || !features.includes('limit-store'));
  const comparison: PartsComparison = { parts, store: store?.version, measurements: [], broken: [] };
  const collector = await startCollector();
  try {
    const running: RunningPart[] = [];
    for (const part of parts) {
      say(`start: ${part.name}`);
      running.push(await startPart(part, context, collector, store));
    }
    const pulled = running.filter(({ part }) => part.features.includes('ledger'));
    const ports = pulled.map(({ internalPort }) => internalPort);
    const ledger = await startBenchLedger(launcher, workFolder, client.core, ports);
    const take = async (one: RunningPart, load: LoadScenario, round: number, seconds: number) => {
      const measurement = await takeLoad(client, one.target, load, { round, seconds, cores });
      if (pulled.includes(one)) await ledger.caughtUp();
      return measurement;
    };
    const held = new Map<RunningPart, number>();
    for (const load of loads) {
      for (const one of running) {
        say(`warm-up: ${load.name}, ${one.part.name}`);
        const warming = note(comparison, one.part, () => take(one, load, 0, settings.warmSeconds));
        held.set(one, Math.max(await readHeld(one, warming), held.get(one) ?? 0));
        await warming;
      }
    }
    for (let round = 1; round <= settings.rounds; round++) {
      for (const load of round % 2 === 1 ? loads : loads.toReversed()) {
        const turns = rotate(round % 2 === 1 ? running : running.toReversed(), round);
        for (const one of turns) {
          say(`round ${round}: ${load.name}, ${one.part.name}`);
          const taken = await note(comparison, one.part, () =>
            take(one, load, round, settings.windowSeconds),
          );
          if (taken !== undefined) comparison.measurements.push({ ...taken, part: one.part.name });
        }
      }
    }
    for (const one of running) {
      const faults = await findFaults(one, held.get(one) ?? 0, { collector, ledger });
      comparison.broken.push(...faults.map((why) => ({ part: one.part.name, why })));
    }
  } finally {
    collector.close();
  }
  return comparison;
}

async function startPart(
  part: Part,
  context: TargetContext,
  collector: Collector,
  store: LimitStore | undefined,
): Promise<RunningPart> {
  const [port, metricsPort, internalPort] = [await freePort(), await freePort(), await freePort()];
  const folder = join(context.workFolder, `part-${port}`);
  await mkdir(folder, { recursive: true });
  const tableFile = join(folder, 'table.json');
  const table = tableWith(benchTable(context.upstream.port, context.models), part.features);
  await writeFile(tableFile, JSON.stringify(table));
  const launched = await context.launcher.start({
    name: 'gateway',
    command: process.execPath,
    args: [...podFlags(podMemoryMib), join(import.meta.dirname, 'gateway-process.ts')],
    env: {
      NODE_ENV: 'production',
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_PORT: String(port),
      PENSTOCK_METRICS_PORT: String(metricsPort),
      PENSTOCK_INTERNAL_PORT: String(internalPort),
      PENSTOCK_TABLE_FILE: tableFile,
      PENSTOCK_JOURNAL_DIR: join(folder, 'journal'),
      // Without a ledger that reads it, it holds all of a run.
      PENSTOCK_JOURNAL_BYTES_MAX: String(8 * 2 ** 30),
      ...environmentOf(part.features, {
        limitStoreUrl: store?.url,
        collectorUrl: collector.urlFor(part.name),
      }),
    },
    cwd: folder,
    ...pinned(context),
  });
  const target = {
    ...runningTarget('gateway', port, launched),
    authorization: `Bearer ${benchKey}`,
    modelName: publicModel,
  };
  await awaitAnswer(target);
  if (part.features.includes('collection')) collector.scrape(metricsPort);
  return { part, target, metricsPort, internalPort };
}

/** The first that is seen while `load` is in progress; 0 where none is. */
async function readHeld({ metricsPort }: RunningPart, load: Promise<unknown>): Promise<number> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  load.then(end, end);
  for (;;) {
    // The load of a process reports that it has ended.
    const text = await readMetrics(metricsPort).catch(() => '');
    const held = sumOf(text, 'penstock_limits_held');
    if (held > 0 || isOver) return held;
    await delay(LOOK_MS);
  }
}

/** Periodic exports may still be in progress. */
const ON_ITS_WAY_MS = 3 * collectEveryMs;

async function findFaults(one: RunningPart, held: number, around: Surroundings): Promise<string[]> {
  const endsAtMs = performance.now() + ON_ITS_WAY_MS;
  for (;;) {
    const { process } = one.target;
    if (process.hasExited()) return [`it ended; its log says: ${process.logTail() || 'nothing'}`];
    const text = await readMetrics(one.metricsPort);
    const faults = findIdle(one.part.features, { held, ...see(one, text, around) });
    const failures = sumOf(text, 'penstock_limits_store_failures_total');
    if (failures > 0) return [...faults, `${failures} calls to the store of limits failed`];
    if (faults.length === 0 || performance.now() > endsAtMs) return faults;
    await delay(100);
  }
}

function see(
  { part, internalPort }: RunningPart,
  metrics: string,
  { collector, ledger }: Surroundings,
): Omit<Seen, 'held'> {
  return {
    storeCalls: sumOf(metrics, 'penstock_limits_store_seconds_count'),
    journalBytes: sumOf(metrics, 'penstock_journal_bytes'),
    stored: ledger.stored(internalPort),
    requests: sumOf(metrics, 'penstock_requests_total'),
    metricExports: collector.taken(part.name, 'metrics'),
    traceExports: collector.taken(part.name, 'traces'),
  };
}

/** Undefined where it is not worth having; why is noted then. */
async function note(
  { broken }: PartsComparison,
  { name: part }: Part,
  take: () => Promise<LoadMeasurement>,
): Promise<LoadMeasurement | undefined> {
  try {
    const measurement = await take();
    const why = whyBroken(measurement);
    if (why === undefined) return measurement;
    broken.push({ part, why });
  } catch (error) {
    if (error instanceof RunEndedError) throw error;
    broken.push({ part, why: error instanceof Error ? error.message : String(error) });
  }
  return undefined;
}
