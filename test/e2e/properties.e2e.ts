// Do the properties hold in all of their runs, and the plays at their full length and width? `npm test` makes an eighth of them, or
// another share.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';
import { allRunsVariable } from '../support/runs.ts';

const root = join(import.meta.dirname, '../..');
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name))
  .filter((name) => readFileSync(join(root, name), 'utf8').includes('support/runs.ts'));

test(`every property of ${files.length} files holds in the full number of runs`, {
  timeout: 3_600_000,
}, async () => {
  const vitest = await startProcess(join(root, 'node_modules/vitest/vitest.mjs'), {
    // Named, so that it gets no flags of the image.
    command: process.execPath,
    args: ['run', ...files],
    cwd: root,
    env: { [allRunsVariable]: 'all' },
  });
  const { code } = await vitest.exit;
  expect(code, vitest.stdout() + vitest.stderr()).toBe(0);
});
