// Where is the binary of a client? Its packages are fetched from the npm registry once, into a cache outside the
// checkout: they are hundreds of megabytes.

import { execFile } from 'node:child_process';
import { access, glob, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../support/lock.ts';

const run = promisify(execFile);

export interface ClientPackage {
  readonly name: string;
  readonly version: string;
  /** Of the native binary, below `node_modules`; may hold wildcards. */
  readonly binary: string;
}

const platform = `${process.platform}-${process.arch}`;

export const codex: ClientPackage = {
  name: '@openai/codex',
  version: '0.169.0',
  binary: `@openai/codex-${platform}/vendor/*/bin/codex`,
};

export const claudeCode: ClientPackage = {
  name: '@anthropic-ai/claude-code',
  version: '2.1.330',
  binary: `@anthropic-ai/claude-code-${platform}/claude`,
};

/** The path of the client's binary. Throws one sentence where it can neither be found nor fetched. */
export async function fetchClient({ name, version, binary }: ClientPackage): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock', 'clients');
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
  throw new Error(`${name} ${version} has no binary for ${platform}: nothing fits ${binary} in ${folder}`);
}

/** Under another name and renamed: what has the final name is complete. The binaries need no install scripts. */
async function install(pinned: string, cache: string, folder: string): Promise<void> {
  const temporary = await mkdtemp(join(cache, 'fetching-'));
  const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  try {
    await run('npm', ['install', '--prefix', temporary, ...quiet, pinned], {
      cwd: temporary,
      timeout: 600_000,
    });
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw new Error(`npm could not install ${pinned}: is its registry reachable?`, { cause: error });
  }
}
