// Answers of status 1xx stand in front of the real one (RFC 9110, section 15.2). A few say that work is going on; one that goes on with
// them without end is no answer.

import { expect, test } from 'vitest';
import { startRig, tableOf } from '../gateway/rig.ts';
import { startWall } from '../support/wall.ts';
import { ask, lineOf } from './ask.ts';

test.each([
  { count: 100, lines: ['1 t0 answered tenant'] },
  { count: 101, lines: ['1 t0 failed reset platform', '2 t0 failed reset platform', '3 t1 answered tenant'] },
])('$count of them, then the answer', async ({ count, lines }) => {
  await using parts = new AsyncDisposableStack();
  const statuses = Array.from({ length: count }, (_, n) => 102 + (n % 2));
  const wall = parts.adopt(await startWall({ type: 'informational', statuses }), (one) => one.close());
  const other = parts.adopt(await startWall(), (one) => one.close());
  const table = tableOf([{ baseUrl: wall.baseUrl }, { baseUrl: other.baseUrl }]);
  const rig = parts.adopt(await startRig(table), (one) => one.close());
  expect((await ask(rig)).status).toBe(200);
  expect(rig.records.map(lineOf)).toEqual(lines);
});
