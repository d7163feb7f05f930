// Cost of a change of configuration: compile in the operator, parse and build in the gateway, and the pause of a serving gateway while it
// loads a table of that size.

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseRoutingTable, type RoutingTable } from '../../core/contract/routing-table.ts';
import { buildTableView } from '../../gateway/table/view.ts';
import { createCompiler } from '../../operator/compile/compile.ts';
import type { Snapshot } from '../../operator/watch/snapshot.ts';
import { bigSnapshot, type SnapshotSize, withOneKeyChanged } from './big-snapshot.ts';
import type { Launched, Launcher } from './launcher.ts';
import type { Machine } from './machine.ts';
import { type Spread, spread } from './statistics.ts';
import { podFlags, podMemoryMib } from './targets/pod-flags.ts';

export const tableSizes: readonly SnapshotSize[] = [
  { keys: 5_000, routes: 500 },
  { keys: 50_000, routes: 2_000 },
];

/** Milliseconds, but for the first two. */
type TableCosts = {
  size: SnapshotSize;
  tableMib: number;
  compileFromNothing: Spread;
  compileOneKeyChanged: Spread;
  compileNothingChanged: Spread;
  /** JSON text to plain data. */
  parseJson: Spread;
  /** Plain data to a checked table. */
  check: Spread;
  /** Checked table to the view that requests look things up in. */
  buildView: Spread;
  /** From the rename of the file to the gateway's word that it serves the new table. */
  swap: Spread;
  /** The longest delay of a 1 ms ticker in that time. */
  stall: Spread;
};

type TableParts = {
  launcher: Launcher;
  workFolder: string;
  runs: number;
  warmRuns: number;
  say(text: string): void;
};

const nowMs = Date.parse('2026-06-01T00:00:00Z');

export async function measureTables(
  sizes: readonly SnapshotSize[],
  parts: TableParts,
): Promise<readonly TableCosts[]> {
  const costs: TableCosts[] = [];
  for (const size of sizes) {
    parts.say(`${size.keys} keys, ${size.routes} routes ...`);
    costs.push(await measureOne(size, parts));
  }
  return costs;
}

async function measureOne(size: SnapshotSize, parts: TableParts): Promise<TableCosts> {
  const time = (work: (run: number) => unknown): Spread => measure(parts, work);
  const snapshot = bigSnapshot(size);
  const compileFromNothing = time(() => createCompiler()(snapshot, nowMs));

  const compile = createCompiler();
  const compileNothingChanged = time(() => compile(snapshot, nowMs));
  // Each of them one key away from the one before.
  const changed = [snapshot];
  for (let run = 1; run <= parts.warmRuns + parts.runs; run++) {
    changed.push(withOneKeyChanged(changed.at(-1) ?? snapshot, run));
  }
  const compileOneKeyChanged = time((run) => compile(changed[run + 1] ?? snapshot, nowMs));

  const text = JSON.stringify(tableOf(snapshot, 1));
  const data: unknown = JSON.parse(text);
  const table = parseRoutingTable(data);
  return {
    size,
    tableMib: Buffer.byteLength(text) / 2 ** 20,
    compileFromNothing,
    compileOneKeyChanged,
    compileNothingChanged,
    parseJson: time(() => JSON.parse(text)),
    check: time(() => parseRoutingTable(data)),
    buildView: time(() => buildTableView(table)),
    ...(await measureSwaps(snapshot, parts)),
  };
}

function tableOf(snapshot: Snapshot, generation: number): RoutingTable {
  return { ...createCompiler()(snapshot, nowMs).table, format: 1, minReader: 1, epoch: 1, generation };
}

/** In a gateway as it runs in a pod: its own process, a file that takes the name of the one before. */
async function measureSwaps(
  snapshot: Snapshot,
  { launcher, workFolder, runs, warmRuns }: TableParts,
): Promise<{ swap: Spread; stall: Spread }> {
  const folder = join(workFolder, `table-${snapshot.apiKeys.length}`);
  const tableFile = join(folder, 'table.json');
  await mkdir(folder, { recursive: true });
  await writeFile(tableFile, JSON.stringify(tableOf(snapshot, 1)));
  const gateway = await launcher.start({
    name: 'gateway',
    command: process.execPath,
    args: [
      ...podFlags(podMemoryMib),
      '--import',
      join(import.meta.dirname, 'measure/stall-probe.ts'),
      join(import.meta.dirname, '../../gateway/main.ts'),
    ],
    env: {
      NODE_ENV: 'production',
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_PORT: '0',
      PENSTOCK_METRICS_PORT: '0',
      PENSTOCK_TABLE_FILE: tableFile,
      PENSTOCK_JOURNAL_DIR: join(folder, 'journal'),
      PENSTOCK_DRAIN_ACCEPT_MS: '0',
      PENSTOCK_DRAIN_GRACE_MS: '0',
    },
    stdout: 'lines',
  });
  try {
    const lines = gateway.lines[Symbol.asyncIterator]();
    await nextLine(gateway, lines, isInUse(1));
    const swaps: number[] = [];
    const stalls: number[] = [];
    for (let run = 0; run < warmRuns + runs; run++) {
      const generation = run + 2;
      await writeFile(
        `${tableFile}.next`,
        JSON.stringify(tableOf(withOneKeyChanged(snapshot, run), generation)),
      );
      await readStall(gateway, lines);
      const startedAt = performance.now();
      await rename(`${tableFile}.next`, tableFile);
      await nextLine(gateway, lines, isInUse(generation));
      const swapMs = performance.now() - startedAt;
      const stallMs = await readStall(gateway, lines);
      if (run < warmRuns) continue;
      swaps.push(swapMs);
      stalls.push(stallMs);
    }
    return { swap: spreadOf(swaps), stall: spreadOf(stalls) };
  } finally {
    await gateway.stop();
  }
}

async function readStall(gateway: Launched, lines: AsyncIterator<string>): Promise<number> {
  gateway.stdin.write('\n');
  const said: unknown = JSON.parse(await nextLine(gateway, lines, (line) => line.includes('"stallMs"')));
  if (typeof said !== 'object' || said === null || !('stallMs' in said))
    throw new Error('the gateway reported no stall');
  return Number(said.stallMs);
}

async function nextLine(
  gateway: Launched,
  lines: AsyncIterator<string>,
  isWanted: (line: string) => boolean,
): Promise<string> {
  for (;;) {
    const { done, value } = await lines.next();
    if (done) throw new Error(`the gateway ended\n${gateway.logTail()}`);
    if (value.includes('refused')) throw new Error(`the gateway says: ${value}`);
    if (isWanted(value)) return value;
  }
}

function isInUse(generation: number): (line: string) => boolean {
  return (line) => line.includes(`"routing table in use","generation":${generation},`);
}

/** Milliseconds of the runs after the warm-up. `work` gets the number of the run, from 0. */
function measure({ runs, warmRuns }: TableParts, work: (run: number) => unknown): Spread {
  const times: number[] = [];
  for (let run = 0; run < warmRuns + runs; run++) {
    const startedAt = performance.now();
    work(run);
    if (run >= warmRuns) times.push(performance.now() - startedAt);
  }
  return spreadOf(times);
}

function spreadOf(values: readonly number[]): Spread {
  const found = spread(values);
  if (found === undefined) throw new RangeError('nothing was measured');
  return found;
}

type TableReport = { date: string; machine: Machine; runs: number; costs: readonly TableCosts[] };

export function writeTableReport({ date, machine, runs, costs }: TableReport): string {
  const rows: readonly (readonly [string, (cost: TableCosts) => Spread])[] = [
    ['compile from nothing', (cost) => cost.compileFromNothing],
    ['compile, one key changed', (cost) => cost.compileOneKeyChanged],
    ['compile, nothing changed', (cost) => cost.compileNothingChanged],
    ['gateway: JSON.parse', (cost) => cost.parseJson],
    ['gateway: check', (cost) => cost.check],
    ['gateway: build the view', (cost) => cost.buildView],
    ['gateway: file to in use', (cost) => cost.swap],
    ['gateway: longest stall', (cost) => cost.stall],
  ];
  const cells = (cost: Spread): string =>
    `${cost.median.toFixed(1)} (${cost.min.toFixed(1)}..${cost.max.toFixed(1)})`;
  const line = (columns: readonly string[]): string => `| ${columns.join(' | ')} |`;
  return [
    `# Cost of a change, ${date}`,
    '',
    `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${machine.commit}. Milliseconds, median (min..max) of ${runs} runs after warm-up.`,
    '',
    line(['', ...costs.map(({ size }) => `${size.keys} keys, ${size.routes} routes`)]),
    line(['---', ...costs.map(() => '---')]),
    line(['table, MiB', ...costs.map(({ tableMib }) => tableMib.toFixed(1))]),
    ...rows.map(([name, of]) => line([name, ...costs.map((cost) => cells(of(cost)))])),
    '',
  ].join('\n');
}
