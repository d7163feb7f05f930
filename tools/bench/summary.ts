// What do all rounds say together? Medians per target and scenario, and ratios taken round by round.

import { whyBroken } from './compare.ts';
import { type GatewayFigures, type Judgement, judge } from './gates.ts';
import type { HoldMeasurement, LoadMeasurement, Measurement } from './measurement.ts';
import { type HoldScenario, isServedBy, type LoadScenario, type Scenario } from './scenarios.ts';
import { differencesByRound, median, ratiosByRound, type Spread, spread } from './statistics.ts';
import type { TargetName } from './targets/target.ts';

export const compared = ['nginx', 'envoy', 'floor'] as const;

export type LoadRow = {
  target: TargetName;
  rounds: number;
  unitsPerSecond: Spread | undefined;
  cpuUsPerUnit: Spread | undefined;
  /** By the name of the other target, or `pass-through`. */
  cpuRatio: { [against: string]: number | undefined };
  /** Of paced streams the delay of an event; else of a whole answer. */
  latencyP50Ms: number | undefined;
  latencyP99Ms: number | undefined;
  addedP50Ms: number | undefined;
  addedP99Ms: number | undefined;
  firstEventP50Ms: number | undefined;
  coresUsed: number | undefined;
  loadCoreBusy: number | undefined;
  rssMib: number | undefined;
};

export type HoldRow = {
  target: TargetName;
  rounds: number;
  rssKibPerStream: Spread | undefined;
  rssMibBefore: number | undefined;
  rssMibOpen: number | undefined;
};

export type ScenarioSummary =
  | { kind: 'load'; scenario: LoadScenario; rows: LoadRow[]; notes: string[] }
  | { kind: 'hold'; scenario: HoldScenario; rows: HoldRow[]; notes: string[] };

export type Summary = { scenarios: ScenarioSummary[]; judgements: Judgement[] };

export function summarise(
  scenarios: readonly Scenario[],
  targets: readonly TargetName[],
  measurements: readonly Measurement[],
): Summary {
  const sound = measurements.filter((measurement) => whyBroken(measurement) === undefined);
  const summaries = scenarios.map(
    (scenario): ScenarioSummary =>
      scenario.kind === 'load'
        ? summariseLoad(scenario, targets, sound)
        : summariseHold(scenario, targets, sound),
  );
  return { scenarios: summaries, judgements: judge(gatewayFigures(summaries)) };
}

function summariseLoad(
  scenario: LoadScenario,
  targets: readonly TargetName[],
  measurements: readonly Measurement[],
): ScenarioSummary {
  const ofLoads = measurements.filter((one) => one.kind === 'load');
  const ofScenario = ofLoads.filter((one) => one.scenario === scenario.name);
  const series = (
    target: TargetName,
    read: (one: LoadMeasurement) => number | undefined,
    from: readonly LoadMeasurement[] = ofScenario,
  ) => {
    const values = new Map<number, number>();
    for (const one of from) {
      const value = one.target === target ? read(one) : undefined;
      if (value !== undefined) values.set(one.round, value);
    }
    return values;
  };
  const cpuOf = (target: TargetName, from?: readonly LoadMeasurement[]) =>
    series(target, (one) => one.cpuUsPerUnit, from);
  const ofPassThrough = ofLoads.filter((one) => one.scenario === scenario.passThrough);
  const latency = (one: LoadMeasurement) =>
    scenario.isPaced ? one.client.eventDelayMs : one.client.latencyMs;
  const serving = targets.filter((target) => isServedBy(scenario, target));
  const rows = serving.map((target): LoadRow => {
    const of = (read: (one: LoadMeasurement) => number | undefined) =>
      median([...series(target, read).values()]);
    const added = (read: (one: LoadMeasurement) => number | undefined) =>
      target === 'direct'
        ? undefined
        : median(differencesByRound(series(target, read), series('direct', read)));
    const cpu = cpuOf(target);
    const ratios = [
      ...compared.map((against) => [against, median(ratiosByRound(cpu, cpuOf(against)))]),
      ['pass-through', median(ratiosByRound(cpu, cpuOf(target, ofPassThrough)))],
    ];
    return {
      target,
      rounds: cpu.size,
      unitsPerSecond: spread([...series(target, (one) => one.unitsPerSecond).values()]),
      cpuUsPerUnit: spread([...cpu.values()]),
      cpuRatio: Object.fromEntries(ratios),
      latencyP50Ms: of((one) => latency(one)?.p50),
      latencyP99Ms: of((one) => latency(one)?.p99),
      addedP50Ms: added((one) => latency(one)?.p50),
      addedP99Ms: added((one) => latency(one)?.p99),
      firstEventP50Ms: of((one) => one.client.firstEventMs?.p50),
      coresUsed: of((one) => one.coresUsed),
      loadCoreBusy: of((one) => one.loadCoreBusy),
      rssMib: of((one) => one.rssMib),
    };
  });
  return { kind: 'load', scenario, rows, notes: loadNotes(scenario, rows, ofScenario) };
}

/** Direct must be at least this many times faster than a proxy, or client and mock may be what is measured. */
const DIRECT_FACTOR_MIN = 3;

function loadNotes(
  scenario: LoadScenario,
  rows: readonly LoadRow[],
  measurements: readonly LoadMeasurement[],
): string[] {
  const notes: string[] = [];
  const direct = rows.find((row) => row.target === 'direct')?.unitsPerSecond?.median;
  const isOpenEnded = scenario.ratePerSecond === undefined && !scenario.isPaced;
  for (const row of rows) {
    const own = row.unitsPerSecond?.median;
    if (!isOpenEnded || direct === undefined || own === undefined || row.target === 'direct') continue;
    if (direct >= DIRECT_FACTOR_MIN * own) continue;
    notes.push(
      `Client or mock limits ${row.target}: direct is only ${(direct / own).toFixed(1)} times as fast (below ${DIRECT_FACTOR_MIN}), and ${row.target} used ${percent(row.coresUsed)} of its core. Its throughput and latency are bounds; CPU per ${scenario.unit} holds.`,
    );
  }
  const disturbed = measurements.filter(
    (one) => one.target !== 'direct' && one.proxyCoreBusy > one.coresUsed + 0.1,
  );
  if (disturbed.length > 0) {
    notes.push(
      `Another process used more than a tenth of the proxy's core in ${disturbed.length} of ${measurements.length} measurements.`,
    );
  }
  const short = measurements.filter((one) => one.threadsEnded > 0);
  if (short.length > 0)
    notes.push(`Threads ended during ${short.length} measurements; their CPU is too low.`);
  return notes;
}

function percent(share: number | undefined): string {
  return share === undefined ? 'an unknown part' : `${Math.round(share * 100)} %`;
}

function summariseHold(
  scenario: HoldScenario,
  targets: readonly TargetName[],
  measurements: readonly Measurement[],
): ScenarioSummary {
  const ofScenario = measurements
    .filter((one) => one.kind === 'hold')
    .filter((one) => one.scenario === scenario.name);
  const rows = targets
    .filter((target) => target !== 'direct')
    .map((target): HoldRow => {
      const own = ofScenario.filter((one) => one.target === target);
      const of = (read: (one: HoldMeasurement) => number) => own.map(read);
      return {
        target,
        rounds: own.length,
        rssKibPerStream: spread(of((one) => one.rssKibPerStream)),
        rssMibBefore: median(of((one) => one.rssMibBefore)),
        rssMibOpen: median(of((one) => one.rssMibOpen)),
      };
    });
  return { kind: 'hold', scenario, rows, notes: [] };
}

function gatewayFigures(summaries: readonly ScenarioSummary[]): Map<string, GatewayFigures> {
  const figures = new Map<string, GatewayFigures>();
  for (const summary of summaries) {
    if (summary.kind !== 'load') continue;
    const row = summary.rows.find((each) => each.target === 'gateway');
    if (row) figures.set(summary.scenario.name, { cpuRatio: row.cpuRatio, latencyP99Ms: row.latencyP99Ms });
  }
  return figures;
}
