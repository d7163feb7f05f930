// What do all rounds say of each part, and how is it shown? CPU against none of the parts, taken inside a round first.

import type { Machine } from '../machine.ts';
import type { LoadScenario } from '../scenarios.ts';
import { byRound, differencesByRound, median, ratiosByRound, type Spread, spread } from '../statistics.ts';
import type { BrokenPart, PartMeasurement } from './compare-parts.ts';
import { baseNames, type Part } from './parts.ts';

type PartRow = {
  part: string;
  rounds: number;
  cpuUsPerUnit: Spread | undefined;
  /** Against none of the parts. */
  cpuRatio: Spread | undefined;
  addedCpuUs: Spread | undefined;
  unitsPerSecond: Spread | undefined;
  coresUsed: number | undefined;
  rssMib: number | undefined;
};

type PartsSummary = { scenario: LoadScenario; rows: PartRow[] };

export function summariseParts(
  loads: readonly LoadScenario[],
  parts: readonly Part[],
  measurements: readonly PartMeasurement[],
): PartsSummary[] {
  return loads.map((scenario) => {
    const ofScenario = measurements.filter((one) => one.scenario === scenario.name);
    const cpuOf = (part: string) =>
      new Map(ofScenario.filter((one) => one.part === part).map((one) => [one.round, one.cpuUsPerUnit]));
    const base = baseOf(baseNames.map(cpuOf));
    const rows = parts.map(({ name }): PartRow => {
      const own = ofScenario.filter((one) => one.part === name);
      const cpu = cpuOf(name);
      return {
        part: name,
        rounds: own.length,
        cpuUsPerUnit: spread([...cpu.values()]),
        cpuRatio: spread(ratiosByRound(cpu, base)),
        addedCpuUs: spread(differencesByRound(cpu, base)),
        unitsPerSecond: spread(own.map((one) => one.unitsPerSecond)),
        coresUsed: median(own.map((one) => one.coresUsed)),
        rssMib: median(own.map((one) => one.rssMib)),
      };
    });
    return { scenario, rows };
  });
}

/** The mean of processes that are alike, of the rounds that all of them have: one process alone may be lucky. */
function baseOf([first, ...others]: readonly ReadonlyMap<number, number>[]): ReadonlyMap<number, number> {
  let sums: ReadonlyMap<number, number> = first ?? new Map();
  for (const other of others) {
    const rounds = [...sums.keys()].filter((round) => other.has(round));
    const added = byRound(sums, other, (a, b) => a + b);
    sums = new Map(rounds.map((round, i) => [round, added[i] ?? Number.NaN]));
  }
  return new Map([...sums].map(([round, sum]) => [round, sum / (others.length + 1)]));
}

export type PartsReport = {
  date: string;
  machine: Machine;
  /** Undefined: there was none, and its part was left out. */
  store: string | undefined;
  rounds: number;
  windowSeconds: number;
  warmSeconds: number;
  isQuick: boolean;
  parts: readonly Part[];
  summaries: readonly PartsSummary[];
  broken: readonly BrokenPart[];
};

export function writePartsReport(report: PartsReport): string {
  const { machine, parts } = report;
  const sections = [
    `# What parts of the gateway cost, ${report.date}`,
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.kernel}, Node ${machine.node}, commit ${machine.commit}.
N = ${report.rounds} alternating rounds of ${report.windowSeconds} s after ${report.warmSeconds} s of warm-up at full load. The gateway, from its sources, alone on one core; all else on another.
Medians (min..max) over the rounds. CPU is that of the gateway process, of all its threads; ratios and differences are taken inside a round, against the mean of both rows of *off*.`,
    ...(report.isQuick ? ['**A quick run: it shows that everything works; its figures mean little.**'] : []),
    parts.map(({ name, title }) => `- ${name}: ${title}`).join('\n'),
    `Off means: no limit and no budget in the table; records are made and thrown away, none is written; requests and attempts are counted nowhere, though gauges stay; nothing of OpenTelemetry is loaded. Scrapes and exports are many times as frequent as anybody would have them: a second's cost of them is an upper bound.
${report.store === undefined ? 'Neither valkey-server nor redis-server is installed: limits in a store were not measured.' : `The store of limits: ${report.store}.`}`,
    ...writeBroken(report.broken),
    ...report.summaries.map(writeSummary),
  ];
  return `${sections.join('\n\n')}\n`;
}

function writeBroken(broken: readonly BrokenPart[]): string[] {
  if (broken.length === 0) return [];
  const lines = broken.map(({ part, why }) => `- ${part}: ${why}`);
  return [`## Broken\n\nWhat these parts show does not count.\n\n${lines.join('\n')}`];
}

function writeSummary({ scenario, rows }: PartsSummary): string {
  const { unit } = scenario;
  const head = ['part', `CPU µs/${unit}`, '× off', `added µs/${unit}`, `${unit}s/s`, 'cores', 'RSS MiB'];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const body = rows.map((row) =>
    line([
      row.part,
      ranged(row.cpuUsPerUnit, 1),
      ranged(row.cpuRatio, 3),
      ranged(row.addedCpuUs, 1),
      row.unitsPerSecond?.median.toFixed(0) ?? '-',
      row.coresUsed?.toFixed(2) ?? '-',
      row.rssMib?.toFixed(0) ?? '-',
    ]),
  );
  return [
    `## ${scenario.name}: ${scenario.title}`,
    '',
    line(head),
    line(head.map(() => '---')),
    ...body,
  ].join('\n');
}

function ranged(value: Spread | undefined, digits: number): string {
  if (value === undefined) return '-';
  return `${value.median.toFixed(digits)} (${value.min.toFixed(digits)}..${value.max.toFixed(digits)})`;
}
