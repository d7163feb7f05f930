// Statuses that say the same are kept once, say what they said, and the pool does not grow for ever.

import { expect, test } from 'vitest';
import { createStatusPool } from '../../../operator/watch/status-pool.ts';

const condition = (type: string) => ({ type, status: 'True', reason: type, message: '' });
const status = (...types: string[]) => ({ observedGeneration: 1, conditions: types.map(condition) });
const conditionsOf = (value: unknown) => (value as ReturnType<typeof status>).conditions;

test('equal conditions are one value, and each status keeps its content', () => {
  const pool = createStatusPool();
  const [one, other] = [pool.share(status('Ready', 'Issued')), pool.share(status('Ready'))];
  expect(one).toEqual(status('Ready', 'Issued'));
  expect(conditionsOf(other)[0]).toBe(conditionsOf(one)[0]);
});

test('a value that is no status of ours is not changed', () => {
  const pool = createStatusPool();
  for (const odd of [undefined, null, 'text', { conditions: 'none' }]) expect(pool.share(odd)).toEqual(odd);
});

test('a full pool starts again', () => {
  const pool = createStatusPool(2);
  const first = pool.share(status('Ready'));
  pool.share(status('Issued', 'Accepted'));
  expect(conditionsOf(pool.share(status('Ready')))[0]).not.toBe(conditionsOf(first)[0]);
});
