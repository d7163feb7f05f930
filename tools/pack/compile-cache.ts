// What would V8 have compiled, had each process started once before? Node keeps it in a folder, reads it from a file system that
// cannot be written, and ignores it where it does not fit: another Node, another kind of CPU, another user.
//
// The Dockerfile runs this file too, without packages: `node compile-cache.ts <folder of the bundles> <folder of the cache>`.

import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compiledAhead, urlInImage, user } from './contents.ts';

const run = promisify(execFile);
const warmStart = fileURLToPath(new URL('warm-start.ts', import.meta.url));

/** @param dist with the bundles. @param folder is emptied first. @throws {Error} when Node kept nothing. */
export async function fillCompileCache(node: string, dist: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const name of compiledAhead) {
    // The seed makes the same bytes of the same bundle, and is not among the flags that V8 compares.
    const args = ['--random-seed=1', warmStart, join(dist, `${name}.js`), urlInImage(name), folder];
    await run(node, args, { env: {} });
  }
  const [version, ...others] = await readdir(folder);
  if (version === undefined || others.length > 0)
    throw new Error(`no compile cache of one Node in ${folder}`);
  // The name ends with the id of the user that made it; another user reads it.
  const own = join(folder, version.replace(/-\d+$/, `-${user.id}`));
  await rename(join(folder, version), own);
  const files = await readdir(own);
  if (files.length !== compiledAhead.length)
    throw new Error(`${files.length} files in the compile cache ${own}`);
  await Promise.all(files.map((file) => chmod(join(own, file), 0o444)));
  await Promise.all([folder, own].map((path) => chmod(path, 0o755)));
}

if (import.meta.main) {
  const [dist = '', folder = ''] = process.argv.slice(2);
  await fillCompileCache(process.execPath, dist, folder);
}
