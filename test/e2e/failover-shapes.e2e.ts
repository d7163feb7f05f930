// Does the gateway win the public benchmark of failover, at full length? All sixteen shapes side by side, streamed, plain and with
// assured delivery; the verdicts go to tools/bench/results/failover-shapes.json, from which the guide is made.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readMachine } from '../../tools/bench/machine.ts';
import type { ShapeResult } from '../flow/shapes/run-shape.ts';
import { countVerdicts, runShapes, writeVerdict } from '../flow/shapes/run-shapes.ts';
import { fullTiming, type ShapeMode } from '../flow/shapes/shape.ts';
import { shapesTable } from '../flow/shapes/shapes-table.ts';
import { shapes } from '../flow/shapes.ts';
import { openScorecard } from './scorecard.ts';

const resultsFile = fileURLToPath(new URL('../../tools/bench/results/failover-shapes.json', import.meta.url));

const modes: readonly { mode: ShapeMode; passesMin: number; isAnswered: boolean }[] = [
  { mode: 'streaming', passesMin: 13, isAnswered: false },
  { mode: 'plain', passesMin: 13, isAnswered: true },
  { mode: 'assured', passesMin: 13, isAnswered: true },
];

test('sixteen shapes in three modes: none fails', { timeout: 400_000 }, async () => {
  const card = openScorecard('sixteen failover shapes');
  const results: ShapeResult[] = [];
  const runs = await Promise.all(modes.map(({ mode }) => runShapes(mode, fullTiming, shapes.length)));
  for (const [index, { mode, passesMin, isAnswered }] of modes.entries()) {
    const run = runs[index] ?? [];
    results.push(...run);
    process.stdout.write(`${run.map(writeVerdict).join('\n')}\n`);
    const counts = countVerdicts(run);
    const fired = run.filter(({ calls }) => calls.first > 0).length;
    const figures = Object.entries(counts)
      .map(([verdict, count]) => `${count} ${verdict}`)
      .join(', ');
    card.add({ what: `${mode}: no shape fails`, tried: run.length, failed: counts.fail, fired, figures });
    card.add({
      what: `${mode}: at least ${passesMin} pass`,
      tried: run.length,
      failed: run.length - counts.pass,
      allowed: run.length - passesMin,
      fired,
    });
    if (isAnswered) {
      const unanswered = run.filter(({ verdict }) => verdict !== 'pass' && verdict !== 'partial').length;
      card.add({ what: `${mode}: every shape is answered`, tried: run.length, failed: unanswered, fired });
    }
  }
  card.print();
  process.stdout.write(`\nFor docs/benchmarks.md:\n${shapesTable(shapes, results)}\n`);
  const machine = await readMachine();
  const rows = results.map(({ id, mode, verdict, missed, calls, longestMs }) => ({
    id,
    mode,
    verdict,
    missed,
    calls,
    seconds: Math.round(longestMs / 100) / 10,
  }));
  await writeFile(resultsFile, `${JSON.stringify({ machine, results: rows }, null, 1)}\n`);
  expect(results).toHaveLength(3 * shapes.length);
  expect(card.misses()).toEqual([]);
});
