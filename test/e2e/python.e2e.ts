// Is a Python with exact packages built once, also where two ask at the same time?

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonWith, runPython } from '../support/python.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-python-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('two callers get one environment; later it is found, and runs scripts', {
  timeout: 120_000,
}, async () => {
  const cacheFolder = join(folder, 'cache');
  const [first, second] = await Promise.all([
    pythonWith([], { cacheFolder }),
    pythonWith([], { cacheFolder }),
  ]);
  expect(second).toBe(first);
  expect(await pythonWith([], { cacheFolder })).toBe(first);
  expect(await readdir(cacheFolder)).toHaveLength(1);

  const script =
    'import os, sys; print(sys.argv[1], os.environ["COLOUR"]); print("oh", file=sys.stderr); sys.exit(4)';
  const ran = await runPython(first, script, { args: ['one'], env: { COLOUR: 'blue' } });
  expect(ran).toEqual({ stdout: 'one blue\n', stderr: 'oh\n', exitCode: 4 });
  const endless = await runPython(first, 'import time; time.sleep(600)', { timeoutMs: 50 });
  expect(endless.exitCode).toBeNull();
});
