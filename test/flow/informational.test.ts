// Answers of status 1xx stand in front of the real one (RFC 9110, section 15.2). A few say that work is going on; one that goes on with
// them without end is no answer.

import { expect, test } from 'vitest';
import { startRig, tableOf } from '../gateway/rig.ts';
import { startWall } from '../support/wall.ts';
import { ask, lineOf } from './ask.ts';

test.each([102, 103])('a single %i, then the answer', async (status) => {
  expect(await linesAfter([status])).toEqual(['1 t0 answered tenant']);
});

test.each([100, 101])('an unrequested %i is not an answer', async (status) => {
  expect(await linesAfter([status])).toEqual(['1 t0 failed bad_head platform', '2 t1 answered tenant']);
});

test.each([
  { count: 100, lines: ['1 t0 answered tenant'] },
  { count: 101, lines: ['1 t0 failed bad_head platform', '2 t1 answered tenant'] },
])('$count of them, then the answer', async ({ count, lines }) => {
  expect(await linesAfter(Array.from({ length: count }, (_, n) => 102 + (n % 2)))).toEqual(lines);
});

async function linesAfter(statuses: readonly number[]): Promise<string[]> {
  await using parts = new AsyncDisposableStack();
  const wall = parts.adopt(await startWall({ type: 'informational', statuses }), (one) => one.close());
  const other = parts.adopt(await startWall(), (one) => one.close());
  const table = tableOf([{ baseUrl: wall.baseUrl }, { baseUrl: other.baseUrl }]);
  const rig = parts.adopt(await startRig(table), (one) => one.close());
  expect((await ask(rig)).status).toBe(200);
  return rig.records.map(lineOf);
}
