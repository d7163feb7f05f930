// Does a Python with exact packages say what is missing, and leave nothing half-made? e2e/python.e2e.ts builds one.

import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';
import { pythonCacheFolder, pythonWith } from '../support/python.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-python-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('a lock left behind by a process that has ended is taken over', async () => {
  const python = join(folder, 'quick-python');
  const body =
    '[ "$1" = -c ] && echo cpython-3.0.2 && exit 0\nmkdir -p "$3/bin" && echo made > "$3/bin/python"\n';
  await writeFile(python, `#!/bin/sh\n${body}`);
  await chmod(python, 0o755);
  const cacheFolder = join(folder, 'abandoned');
  const interpreter = await pythonWith([], { python, cacheFolder });
  const home = join(interpreter, '..', '..');
  await rm(home, { recursive: true });
  const gone = await startProcess('--version');
  await gone.exit;
  await writeFile(`${home}.lock`, String(gone.pid));
  expect(await pythonWith([], { python, cacheFolder })).toBe(interpreter);
  expect(await readdir(cacheFolder)).toHaveLength(1);
});

test('a package without an exact pin is refused', async () => {
  await expect(pythonWith(['openai>=3'])).rejects.toThrow('"openai>=3" needs an exact pin');
});

test('without Python the error says what to install', async () => {
  await expect(pythonWith([], { python: join(folder, 'no-python'), cacheFolder: folder })).rejects.toThrow(
    'install python3',
  );
});

test('without venv and virtualenv the error says what to install, and nothing half-made is left', async () => {
  const python = join(folder, 'bare-python');
  await writeFile(python, '#!/bin/sh\n[ "$1" = -c ] && echo cpython-3.0.0 && exit 0\nexit 1\n');
  await chmod(python, 0o755);
  const cacheFolder = join(folder, 'bare');
  await expect(pythonWith([], { python, cacheFolder })).rejects.toThrow('install python3-venv');
  expect(await readdir(cacheFolder)).toEqual([]);
});

test('an index that cannot be reached is named as the cause', async () => {
  const python = join(folder, 'lonely-python');
  // Makes an "environment" whose pip always fails the way pip does.
  const pip = '#!/bin/sh\\necho "ERROR: No matching distribution found for thing==1.0.0" >&2\\nexit 1\\n';
  const body = `[ "$1" = -c ] && echo cpython-3.0.1 && exit 0\nmkdir -p "$3/bin" && printf '${pip}' > "$3/bin/python" && chmod +x "$3/bin/python"\n`;
  await writeFile(python, `#!/bin/sh\n${body}`);
  await chmod(python, 0o755);
  const cacheFolder = join(folder, 'lonely');
  await expect(pythonWith(['thing==1.0.0'], { python, cacheFolder })).rejects.toThrow(
    /could not install thing==1\.0\.0.*PIP_INDEX_URL.*No matching distribution/,
  );
  expect(await readdir(cacheFolder)).toEqual([]);
});

test('the cache is outside the checkout', () => {
  expect(pythonCacheFolder({ XDG_CACHE_HOME: '/somewhere' })).toBe('/somewhere/penstock/python');
  expect(pythonCacheFolder({})).toMatch(/\.cache\/penstock\/python$/);
});
