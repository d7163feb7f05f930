// Does a run get the build of its sources, and does a kept one stay as long as it is used?

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keptBuild, sourcesKey } from './kept-build.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'penstock-kept-'));
});

afterEach(() => rm(root, { recursive: true, force: true }));

describe('a kept build', () => {
  let built: string[];
  beforeEach(() => {
    built = [];
  });

  async function startRun(name: string): Promise<string> {
    const run = join(root, name);
    await mkdir(run);
    return run;
  }

  async function ask(run: string, key: string): Promise<string> {
    const dist = await keptBuild({
      folder: join(root, 'built'),
      run,
      key: async () => key,
      async build(folder) {
        built.push(key);
        await mkdir(folder);
        await writeFile(join(folder, 'gateway.js'), key);
      },
    });
    return await readFile(join(dist, 'gateway.js'), 'utf8');
  }

  const kept = async () => (await readdir(join(root, 'built'))).sort();

  test('is built once for the runs of the same sources, also where all ask at the same time', async () => {
    const runs = await Promise.all(['one', 'two', 'three'].map(startRun));
    expect(await Promise.all(runs.map((run) => ask(run, 'same')))).toEqual(['same', 'same', 'same']);
    expect(built).toEqual(['same']);
  });

  test('is built when the sources have changed', async () => {
    expect(await ask(await startRun('before'), 'old')).toBe('old');
    expect(await ask(await startRun('after'), 'new')).toBe('new');
    expect(built).toEqual(['old', 'new']);
  });

  test('of sources that change at the same time serves its own run alone', async () => {
    const keys = ['old', 'new'];
    const run = await startRun('one');
    await keptBuild({
      folder: join(root, 'built'),
      run,
      key: async () => keys.shift() ?? '',
      build: (folder) => mkdir(folder),
    });
    expect(await kept()).toEqual(['one']);
    expect(await ask(await startRun('two'), 'old')).toBe('old');
  });

  test('is the same for all of a run, also when the sources change', async () => {
    const run = await startRun('one');
    await ask(run, 'old');
    expect(await ask(run, 'new')).toBe('old');
  });

  test('goes when two newer ones are there and no run uses it', async () => {
    const first = await startRun('first');
    await ask(first, 'a');
    await ask(await startRun('second'), 'b');
    await ask(await startRun('third'), 'c');
    expect(await kept()).toEqual(['a', 'b', 'c']);
    await rm(first, { recursive: true });
    await ask(await startRun('fourth'), 'd');
    expect(await kept()).toEqual(['b', 'c', 'd']);
  });

  test('is not there where its build has failed, and is built by the next run', async () => {
    const fail = keptBuild({
      folder: join(root, 'built'),
      run: await startRun('failing'),
      key: async () => 'a',
      async build(folder) {
        await mkdir(folder);
        throw new Error('no space left');
      },
    });
    await expect(fail).rejects.toThrow('no space left');
    expect(await ask(await startRun('next'), 'a')).toBe('a');
    expect(await kept()).toEqual(['a']);
  });
});

describe('the key of the sources', () => {
  const put = async (path: string, text: string) => {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), text);
  };

  beforeEach(async () => {
    execFileSync('git', ['init', '--quiet'], { cwd: root });
    await put('.gitignore', 'node_modules/\ndist/\n');
    await put('gateway/main.ts', 'one');
    await put('test/a.test.ts', 'one');
    await put('docs/api.md', 'one');
    await put('package-lock.json', '{}');
    await put('node_modules/.package-lock.json', '{}');
    execFileSync('git', ['add', '.'], { cwd: root });
  });

  test.each([
    ['a changed source', () => put('gateway/main.ts', 'two')],
    ['a new source that git does not know', () => put('gateway/new.ts', '')],
    ['a source that was removed', () => rm(join(root, 'gateway/main.ts'))],
    ['another lockfile', () => put('package-lock.json', '{ }')],
    ['other packages', () => put('node_modules/.package-lock.json', '{ }')],
  ])('changes with %s', async (_, change) => {
    const before = await sourcesKey(root);
    await change();
    expect(await sourcesKey(root)).not.toBe(before);
  });

  test.each([
    ['a changed test', () => put('test/a.test.ts', 'two')],
    ['a changed page of the docs', () => put('docs/api.md', 'two')],
    ['a build', () => put('dist/gateway.js', 'two')],
  ])('stays with %s', async (_, change) => {
    const before = await sourcesKey(root);
    await change();
    expect(await sourcesKey(root)).toBe(before);
  });
});
