// Which folders and cgroups on a machine may a run remove?

import { expect, test } from 'vitest';
import { run } from '../run.ts';
import { startOf } from './processes.ts';
import { isLeftover, makeRunName } from './run-name.ts';

test('what a living process made is no leftover, and several of one process differ', () => {
  const names = [makeRunName(), makeRunName()];
  expect(names.map(isLeftover)).toEqual([false, false]);
  expect(new Set(names).size).toBe(2);
});

test('what a process made that has ended is one, also when its id was given to another', async () => {
  const { stdout } = await run('sh', ['-c', 'echo $$']);
  expect(isLeftover(`penstock-nodes-${stdout.trim()}-123456-abc123`)).toBe(true);
  const own = makeRunName();
  const earlier = own.replace(`-${startOf(process.pid)}-`, '-1-');
  expect(earlier).not.toBe(own);
  expect(isLeftover(earlier)).toBe(true);
});

test('what others made is not ours', () => {
  for (const name of ['kubepods', 'penstock-nodes', 'penstock-nodes-1', 'penstock-cluster-99999999-abc'])
    expect(isLeftover(name)).toBe(false);
});
