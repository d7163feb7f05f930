// Does the guide say of the sixteen shapes what the last full run has written down?

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shapesTable, type WrittenVerdict } from '../flow/shapes/shapes-table.ts';
import { shapes } from '../flow/shapes.ts';

const root = join(import.meta.dirname, '../..');

function readResults(): readonly WrittenVerdict[] {
  const file: { results: WrittenVerdict[] } = JSON.parse(
    readFileSync(join(root, 'tools/bench/results/failover-shapes.json'), 'utf8'),
  );
  return file.results;
}

test('the table of the guide is that of the file', () => {
  const guide = readFileSync(join(root, 'docs/benchmarks.md'), 'utf8');
  expect(guide).toContain(shapesTable(shapes, readResults()));
});

test('no shape fails, and plain requests are always answered', () => {
  const results = readResults();
  expect(results).toHaveLength(3 * shapes.length);
  const bad = results.filter(
    ({ mode, verdict }) => verdict === 'fail' || (mode !== 'streaming' && verdict === 'safe'),
  );
  expect(bad).toEqual([]);
});
