// Where is this program, of those that Go installs as they are? In the cache, or built into it now, once a version.

import { createHash } from 'node:crypto';
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { hostPlatform } from '../cluster/programs.ts';
import { goBuild } from './go-build.ts';
import { withLock } from './lock.ts';

export interface GoTool {
  /** Import path of its main package. */
  readonly package: string;
  /** Exact, with its `v`. */
  readonly version: string;
  /** As the file is called; without it, the last part of the package. */
  readonly name?: string;
}

/** The one that `programs.ts` of the test cluster has not. */
export const helm4: GoTool = { package: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' };

/**
 * The path of the program, in `$XDG_CACHE_HOME/penstock/tools` (else below `~/.cache`).
 *
 * @throws one sentence that says what is missing and the way out.
 */
export async function goTool(tool: GoTool, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const name = tool.name ?? basename(tool.package);
  return await built(
    { title: `${name} ${tool.version}`, file: `${name}-${tool.version}`, env },
    (scratch, scratchEnv) => ({
      command: 'install',
      args: ['-trimpath', `${tool.package}@${tool.version}`],
      env: { ...scratchEnv, GOBIN: scratch },
      gives: basename(tool.package),
    }),
  );
}

/**
 * The path of a program whose sources are a folder of ours with a `go.mod`: another one for every other content of its files.
 *
 * @param program With `package`, the main package of a module that the `go.mod` requires; `tags` leave parts of that out.
 * @throws as `goTool`.
 */
export async function goProgram(
  program: {
    readonly name: string;
    readonly folder: string;
    readonly package?: string;
    readonly tags?: readonly string[];
  },
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const { name, folder, tags = [] } = program;
  const digest = createHash('sha256');
  for (const file of (await readdir(folder)).toSorted()) digest.update(await readFile(join(folder, file)));
  const file = `${name}-${digest.digest('hex').slice(0, 16)}`;
  return await built({ title: name, file, env }, (scratch, scratchEnv) => ({
    command: 'build',
    args: [
      ...['-mod=readonly', '-trimpath', '-ldflags', '-s -w', `-tags=${tags.join()}`],
      ...['-o', join(scratch, name), program.package ?? '.'],
    ],
    cwd: folder,
    env: scratchEnv,
    gives: name,
  }));
}

interface Build {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Name of the file that is there then. */
  readonly gives: string;
}

async function built(
  { title, file, env }: { readonly title: string; readonly file: string; readonly env: NodeJS.ProcessEnv },
  build: (scratch: string, env: NodeJS.ProcessEnv) => Build,
): Promise<string> {
  const { os, arch } = hostPlatform();
  const folder = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock', 'tools');
  const path = join(folder, `${file}-${os}-${arch}`);
  if (await isProgram(path)) return path;
  await mkdir(folder, { recursive: true });
  await withLock(`${path}.lock`, async () => {
    if (await isProgram(path)) return;
    const scratch = await mkdtemp(`${path}.unfinished-`);
    try {
      const clean = {
        ...env,
        CGO_ENABLED: '0',
        GOFLAGS: '',
        GOWORK: 'off',
        GOCACHE: join(scratch, 'go-build'),
      };
      const { command, args, gives, ...options } = build(scratch, clean);
      const said = await goBuild(command, args, options);
      if (said.code !== 0)
        throw new Error(
          `This test needs ${title}, and it could not be built (${said.lastLine}): install Go 1.26 or newer, or put the program at ${path}, and run again`,
        );
      await rename(join(scratch, gives), path);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
  return path;
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
