// Do the committed files still say what the code says, and does the check notice when they do not?

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findStale, GENERATED, writeStale } from '../../../tools/generate.ts';

const ROOT = join(import.meta.dirname, '../../..');
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-generate-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('the committed files equal the generated ones', async () => {
  expect(await findStale(ROOT, GENERATED)).toEqual([]);
});

test('a missing and a changed file are named, and nothing is written', async () => {
  const files = [
    { path: 'docs/kept.md', content: () => 'kept' },
    { path: 'missing.md', content: () => 'missing' },
    { path: 'changed.md', content: () => 'new' },
  ];
  await writeStale(folder, files.slice(0, 1));
  await writeFile(join(folder, 'changed.md'), 'old');
  expect(await findStale(folder, files)).toEqual(['missing.md', 'changed.md']);
  expect((await readdir(folder)).sort()).toEqual(['changed.md', 'docs']);
});

test('writing returns the changed paths, and then nothing differs', async () => {
  const files = [{ path: 'a/b/c.md', content: () => 'text' }];
  expect(await writeStale(folder, files)).toEqual(['a/b/c.md']);
  expect(await readFile(join(folder, 'a/b/c.md'), 'utf8')).toBe('text');
  expect(await writeStale(folder, files)).toEqual([]);
});
