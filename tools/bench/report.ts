// How is a run shown to people? One markdown page: machine, versions, a table per scenario, the gates.

import type { BrokenTarget } from './compare.ts';
import type { Judgement } from './gates.ts';
import type { Machine } from './machine.ts';
import type { LoadScenario } from './scenarios.ts';
import type { Spread } from './statistics.ts';
import { compared, type HoldRow, type LoadRow, type ScenarioSummary, type Summary } from './summary.ts';

export type ReportInput = {
  date: string;
  machine: Machine;
  /** What each target is, by its name. */
  versions: Readonly<Record<string, string>>;
  rounds: number;
  windowSeconds: number;
  warmSeconds: number;
  isQuick: boolean;
  summary: Summary;
  broken: readonly BrokenTarget[];
};

export function writeReport(input: ReportInput): string {
  const { machine } = input;
  const sections = [
    `# Benchmark of ${input.date}`,
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.kernel}, Node ${machine.node}, ${machine.compiler}, commit ${machine.commit}.
N = ${input.rounds} alternating rounds of ${input.windowSeconds} s after ${input.warmSeconds} s of warm-up at full load. Proxy alone on one core; client and mock on another.
Figures are medians over the rounds; ratios (×) are taken inside a round first. The CPU of "direct" is the mock's.`,
    ...(input.isQuick ? ['**A quick run: it shows that everything works; its figures mean little.**'] : []),
    Object.entries(input.versions)
      .map(([name, version]) => `- ${name}: ${version}`)
      .join('\n'),
    ...writeBroken(input.broken),
    ...input.summary.scenarios.map(writeScenario),
    writeJudgements(input.summary.judgements),
  ];
  return `${sections.join('\n\n')}\n`;
}

function writeBroken(broken: readonly BrokenTarget[]): string[] {
  if (broken.length === 0) return [];
  const lines = broken.map((one) => `- ${one.target}, ${one.scenario}, round ${one.round}: ${one.why}`);
  return [`## Broken\n\nThese measurements are left out of the tables.\n\n${lines.join('\n')}`];
}

function writeScenario(summary: ScenarioSummary): string {
  const table = summary.kind === 'load' ? loadTable(summary.scenario, summary.rows) : holdTable(summary.rows);
  const notes = summary.notes.map((note) => `\n\n> ${note}`).join('');
  return `## ${summary.scenario.name}: ${summary.scenario.title}\n\n${table}${notes}`;
}

function loadTable(scenario: LoadScenario, rows: readonly LoadRow[]): string {
  const { unit } = scenario;
  const latency = scenario.isPaced ? 'event delay' : 'latency';
  const ratios = ratioColumns(scenario);
  const hasFirstEvents = rows.some((row) => row.firstEventP50Ms !== undefined);
  const head = [
    'target',
    `${unit}s/s`,
    `CPU µs/${unit} (min..max)`,
    ...ratios.map(({ title }) => `× ${title}`),
    `${latency} p50 / p99 ms`,
    'added p50 / p99 ms',
    ...(hasFirstEvents ? ['first event p50 ms'] : []),
    'cores',
    'RSS MiB',
  ];
  const body = rows.map((row) => [
    row.target,
    number(row.unitsPerSecond?.median, 0),
    ranged(row.cpuUsPerUnit, 1),
    ...ratios.map(({ against }) => number(row.cpuRatio[against], 2)),
    `${number(row.latencyP50Ms, 2)} / ${number(row.latencyP99Ms, 2)}`,
    row.target === 'direct' ? '-' : `${number(row.addedP50Ms, 2)} / ${number(row.addedP99Ms, 2)}`,
    ...(hasFirstEvents ? [number(row.firstEventP50Ms, 2)] : []),
    number(row.coresUsed, 2),
    number(row.rssMib, 0),
  ]);
  return table(head, body);
}

/** The target that the CPU of this scenario is compared with. */
function ratioColumns({ targets, passThrough }: LoadScenario): { against: string; title: string }[] {
  const others = compared.filter((name) => targets?.includes(name) ?? true);
  return [
    ...others.map((name) => ({ against: name, title: name })),
    ...(passThrough === undefined ? [] : [{ against: 'pass-through', title: passThrough }]),
  ];
}

function holdTable(rows: readonly HoldRow[]): string {
  return table(
    ['target', 'RSS KiB per open stream (min..max)', 'RSS MiB before', 'RSS MiB open'],
    rows.map((row) => [
      row.target,
      ranged(row.rssKibPerStream, 1),
      number(row.rssMibBefore, 0),
      number(row.rssMibOpen, 0),
    ]),
  );
}

function writeJudgements(judgements: readonly Judgement[]): string {
  const rows = judgements.map((one) => {
    const { limit } = one;
    const isRatio = limit.kind === 'cpu-ratio';
    return [
      one.level,
      one.scenario,
      isRatio ? `CPU, × ${limit.against} ≤ ${limit.max}` : `latency p99 ≤ ${limit.maxMs} ms`,
      number(one.measured, 2),
      one.verdict === 'miss' ? '**miss**' : one.verdict,
    ];
  });
  return `## Gates and goals of the gateway\n\n${table(['', 'scenario', 'bound', 'measured', 'verdict'], rows)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function ranged(value: Spread | undefined, digits: number): string {
  if (value === undefined) return '-';
  return `${number(value.median, digits)} (${number(value.min, digits)}..${number(value.max, digits)})`;
}

function number(value: number | undefined, digits: number): string {
  return value === undefined ? '-' : value.toFixed(digits);
}
