// Which build does a run use? That of its sources, which an earlier run may have left: one for all the run, also while sources change.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { exists } from '../support/exists.ts';
import { withLock } from '../support/lock.ts';

export interface KeptBuild {
  /** Of all builds that are kept. */
  readonly folder: string;
  /** The folder of the run: what it uses is kept at least as long as this is there. */
  readonly run: string;
  /** Names what the build is made of; asked again after it was built. */
  readonly key: () => Promise<string>;
  /** Fills a folder that is not there yet. */
  readonly build: (folder: string) => Promise<void>;
}

/** As many as this, and those in use. Each has some 70 MB. */
const most = 2;

/** The folder that `build` has filled, in this run or in an earlier one. */
export async function keptBuild({ folder, run, key, build }: KeptBuild): Promise<string> {
  const chosen = join(run, 'dist');
  const known = () => readlink(chosen).catch(() => undefined);
  const early = await known();
  if (early !== undefined) return early;
  await mkdir(folder, { recursive: true });
  return await withLock(`${folder}.lock`, async () => {
    const late = await known();
    if (late !== undefined) return late;
    const name = await key();
    let place = join(folder, name);
    if (!(await exists(place))) {
      const unfinished = join(folder, `unfinished-${process.pid}`);
      await rm(unfinished, { recursive: true, force: true });
      await mkdir(join(unfinished, 'runs'), { recursive: true });
      await build(join(unfinished, 'dist'));
      // Sources that changed during the build may be in it in part: a build for this run alone.
      if ((await key()) !== name) place = join(folder, basename(run));
      // Whole or not there.
      await rename(unfinished, place);
    }
    const now = new Date();
    await utimes(place, now, now);
    await symlink(run, join(place, 'runs', basename(run)));
    await symlink(join(place, 'dist'), chosen);
    await removeOlder(folder);
    return join(place, 'dist');
  });
}

async function removeOlder(folder: string): Promise<void> {
  const places = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const path = join(folder, name);
      return { path, usedMs: (await stat(path)).mtimeMs };
    }),
  );
  places.sort((a, b) => b.usedMs - a.usedMs);
  for (const { path } of places.slice(most)) {
    if (await isUsed(path)) continue;
    // Whole or not there, also if this process is killed now.
    const removed = `${path}-removed`;
    await rename(path, removed);
    await rm(removed, { recursive: true, force: true });
  }
}

/** A run that was killed leaves its folder to the next one, which removes it. */
async function isUsed(place: string): Promise<boolean> {
  const runs = join(place, 'runs');
  const names = await readdir(runs).catch(() => []);
  return (await Promise.all(names.map((name) => exists(join(runs, name))))).includes(true);
}

/**
 * Of all files that can go into a build: those of the checkout, known to git or new, but for tests and docs; of the packages, what npm
 * has noted. The checkout is part of it: a test asks whether a build names it.
 *
 * @throws where git does not know the folder.
 */
export async function sourcesKey(project: string): Promise<string> {
  const listing = [
    'ls-files',
    '-z',
    '--cached',
    '--others',
    '--exclude-standard',
    '--',
    '.',
    ':!test',
    ':!docs',
  ];
  const { stdout } = await promisify(execFile)('git', listing, { cwd: project, maxBuffer: 64 * 1024 * 1024 });
  const names = [
    ...new Set(stdout.split('\0').filter((name) => name !== '')),
    'node_modules/.package-lock.json',
  ];
  const contents = await Promise.all(
    // A file that was removed is still known to git.
    names.map((name) => readFile(join(project, name)).catch(() => undefined)),
  );
  const digest = createHash('sha256').update(JSON.stringify([process.version, project]));
  for (const [index, name] of names.entries())
    digest.update(JSON.stringify([name, contents[index]?.length ?? 'gone'])).update(contents[index] ?? '');
  return digest.digest('hex').slice(0, 16);
}
