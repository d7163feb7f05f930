// Does a build give the same bytes wherever it is made? Two checkouts in two folders, each built and packed.

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { buildDist } from '../../tools/pack/bundles.ts';
import { packImage } from '../../tools/pack/pack.ts';
import { root as project } from '../architecture/project.ts';
import { readArchive } from '../tools/pack/oci.ts';
import { sumsOf } from '../tools/pack/sums-of.ts';

const run = promisify(execFile);

test('another checkout in another folder gives the same bundles, and the same image, layer by layer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-image-'));
  try {
    const dist = join(folder, 'here');
    await buildDist(project, dist);
    const packed = await packImage({ dist, node: process.execPath, folder: join(folder, 'images') });
    const checkout = join(folder, 'another', 'checkout');
    await copyProject(checkout);
    await run(process.execPath, ['tools/build.ts', '--images'], { cwd: checkout });
    expect(await sumsOf(join(checkout, 'dist'))).toEqual(await sumsOf(dist));
    const [here, elsewhere] = await Promise.all(
      [packed.archive, join(checkout, 'dist', 'images', 'penstock.tar')].map(readArchive),
    );
    expect(elsewhere?.config).toEqual(here?.config);
    expect(elsewhere?.manifestDigest).toBe(packed.digest);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** What goes into the context of a build with Docker, and nothing else. Packages are those of this checkout. */
async function copyProject(to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const lines = (await readFile(join(project, '.dockerignore'), 'utf8')).split('\n');
  const names = lines.filter((line) => line.startsWith('!') && line !== '!dist').map((line) => line.slice(1));
  for (const name of names) await cp(join(project, name), join(to, name), { recursive: true });
  await symlink(join(project, 'node_modules'), join(to, 'node_modules'));
}
