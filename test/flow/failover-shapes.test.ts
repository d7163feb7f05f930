// Does the gateway win the public benchmark of failover? Its sixteen shapes in a twentieth of their time, streamed, plain and with
// assured delivery; `npm run e2e -- failover-shapes` plays them at full length.

import { expect, test } from 'vitest';
import type { ShapeResult } from './shapes/run-shape.ts';
import { countVerdicts, runShapes, writeVerdict } from './shapes/run-shapes.ts';
import { fastTiming } from './shapes/shape.ts';

function expectNone(results: readonly ShapeResult[], wanted: (result: ShapeResult) => boolean): void {
  expect(results.filter((result) => !wanted(result)).map(writeVerdict)).toEqual([]);
}

test.concurrent('streamed: at least 13 of 16 pass, and none fails', async () => {
  const results = await runShapes('streaming', fastTiming);
  expectNone(results, ({ verdict }) => verdict !== 'fail');
  expect(countVerdicts(results).pass).toBeGreaterThanOrEqual(13);
}, 120_000);

test.concurrent('plain, fetched as streams: every shape is answered', async () => {
  const results = await runShapes('plain', fastTiming);
  expectNone(results, ({ verdict }) => verdict === 'pass' || verdict === 'partial');
}, 120_000);

test.concurrent('with assured delivery: every shape is answered', async () => {
  const results = await runShapes('assured', fastTiming);
  expectNone(results, ({ verdict }) => verdict === 'pass' || verdict === 'partial');
}, 120_000);
