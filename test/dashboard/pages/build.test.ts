// Are the pages small, and nothing in them that a strict content security policy refuses or that is fetched from elsewhere?

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BuiltFile, buildPages } from '../../../dashboard/build-pages.ts';
import { packagesOfPages } from '../../../tools/pack/contents.ts';

const gzipBytesMax = 120_000;

let folder: string;
let files: readonly BuiltFile[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pages-'));
  files = await buildPages(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const textOf = (path: string) => readFile(join(folder, path), 'utf8');

test('all files together are at most 120 kB in transfer', () => {
  expect(files.length).toBeGreaterThan(2);
  expect(files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0)).toBeLessThanOrEqual(gzipBytesMax);
});

test('files that browsers keep for ever have a hash of their content in the name', () => {
  const named = files.filter(({ path }) => path !== 'index.html');
  for (const { path } of named) expect(path).toMatch(/^assets\/[\w-]+-[\w-]{8}\.(?:js|css|svg)$/);
});

test('each file is compressed too, with the same content', async () => {
  for (const { path } of files)
    expect(
      gunzipSync(await readFile(join(folder, `${path}.gz`))).equals(await readFile(join(folder, path))),
    ).toBe(true);
});

test('the page has no inline script or style, and names no other origin', async () => {
  const html = await textOf('index.html');
  expect(html).toMatch(/<script type="module"[^>]* src="\/assets\/[^"]+"><\/script>/);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
  expect(html).not.toMatch(/(?:src|href)="(?!\/assets\/)/);
});

test('styles load nothing, and scripts neither compile text nor write markup', async () => {
  for (const { path } of files) {
    const text = await textOf(path);
    if (path.endsWith('.css')) expect(text).not.toMatch(/url\(|@import/);
    if (path.endsWith('.js')) expect(text).not.toMatch(/\beval\(|new Function\(|document\.write\(/);
  }
});

test('the packages bundled in them are in the notices', async () => {
  const manifest = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
  for (const folderOf of packagesOfPages)
    expect(Object.keys(manifest.dependencies)).toContain(folderOf.replace('node_modules/', ''));
});
