// Which folders and cgroups on a machine may a run remove?

import { expect, test } from 'vitest';
import { run } from '../run.ts';
import { startOf } from './processes.ts';
import { isLeftover, makeRunName } from './run-name.ts';

test('a run of a living process is not a leftover, and runs of one process have different names', () => {
  const names = [makeRunName(), makeRunName()];
  expect(names.map(isLeftover)).toEqual([false, false]);
  expect(new Set(names).size).toBe(2);
});

test('a run of an ended process is a leftover, also when its process id was reused', async () => {
  const { stdout } = await run('sh', ['-c', 'echo $$']);
  expect(isLeftover(`penstock-nodes-${stdout.trim()}-123456-abc123`)).toBe(true);
  const own = makeRunName();
  const earlier = own.replace(`-${startOf(process.pid)}-`, '-1-');
  expect(earlier).not.toBe(own);
  expect(isLeftover(earlier)).toBe(true);
});

test('foreign names are not ours', () => {
  for (const name of ['kubepods', 'penstock-nodes', 'penstock-nodes-1', 'penstock-cluster-99999999-abc'])
    expect(isLeftover(name)).toBe(false);
});
