// Does the measurement of a change measure what it says, and leave nothing behind?

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { bigSnapshot, withOneKeyChanged } from '../../../tools/bench/big-snapshot.ts';
import { createLauncher } from '../../../tools/bench/launcher.ts';
import { readSettings } from '../../../tools/bench/settings.ts';
import { measureTables, writeTableReport } from '../../../tools/bench/table.ts';
import { bareEnvironment } from '../../support/bare-environment.ts';

const nowMs = Date.parse('2026-06-01T00:00:00Z');

test('every object of the big installation is in its table, and one changed key compiles one object', () => {
  const snapshot = bigSnapshot({ keys: 300, routes: 200 });
  const compile = createCompiler();
  const { table, verdicts, compiled } = compile(snapshot, nowMs);
  expect(verdicts.filter(({ isInTable }) => !isInTable)).toEqual([]);
  expect([table.keys.length, table.routes.length, table.providers.length]).toEqual([300, 200, 100]);
  expect(compiled).toEqual({ providers: 100, routes: 200, keys: 300 });
  let last = snapshot;
  for (const run of [0, 1, 299]) {
    last = withOneKeyChanged(last, run);
    expect(compile(last, nowMs).compiled).toEqual({ providers: 0, routes: 0, keys: 1 });
  }
  expect(compile(withOneKeyChanged(snapshot, 0), nowMs).table).not.toEqual(table);
});

test('it is asked for by --table', () => {
  const asked = (...argv: string[]) => {
    const invocation = readSettings(argv, { PATH: '/bin', HOME: '/somewhere/else' });
    return invocation.kind === 'run' && invocation.settings.isTable;
  };
  expect([asked(), asked('--table')]).toEqual([false, true]);
});

test('a small size is measured from end to end, in a gateway that is gone afterwards', async () => {
  const workFolder = await mkdtemp(join(tmpdir(), 'penstock-table-bench-'));
  const launcher = createLauncher(workFolder, bareEnvironment());
  try {
    const size = { keys: 120, routes: 20 };
    const said: string[] = [];
    const parts = { launcher, workFolder, runs: 2, warmRuns: 1, say: (text: string) => said.push(text) };
    const costs = await measureTables([size], parts);
    expect(costs).toEqual([expect.objectContaining({ size, tableMib: expect.any(Number) })]);
    const [cost] = costs;
    expect(cost?.stall.min).toBeGreaterThanOrEqual(0);
    expect(cost?.swap.median).toBeGreaterThan(0);
    const machine = { cpu: 'x', cores: 2, memoryGib: 1, kernel: 'x', node: 'x', compiler: 'x', commit: 'x' };
    const page = writeTableReport({ date: '2026-01-01', machine, runs: 2, costs });
    expect(page).toMatch(/120 keys, 20 routes/);
    expect(page).toMatch(/\| gateway: longest stall \| \d+\.\d \(\d+\.\d\.\.\d+\.\d\) \|/);
    expect(said).toHaveLength(1);
  } finally {
    await launcher.close();
    await rm(workFolder, { recursive: true, force: true });
  }
});
