// Where is this program, of those that Go installs as they are? In the cache, or built into it now, once a version.

import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { hostPlatform } from '../cluster/programs.ts';
import { run } from '../cluster/run.ts';
import { withLock } from './lock.ts';

export interface GoTool {
  /** Import path of its main package. */
  readonly package: string;
  /** Exact, with its `v`. */
  readonly version: string;
  /** As the file is called; without it, the last part of the package. */
  readonly name?: string;
}

/**
 * The path of the program, in `$XDG_CACHE_HOME/penstock/tools` (else below `~/.cache`).
 *
 * @throws one sentence that says what is missing and the way out.
 */
export async function goTool(tool: GoTool, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { os, arch } = hostPlatform();
  const name = tool.name ?? basename(tool.package);
  const folder = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock', 'tools');
  const path = join(folder, `${name}-${tool.version}-${os}-${arch}`);
  if (await isProgram(path)) return path;
  await mkdir(folder, { recursive: true });
  await withLock(`${path}.lock`, async () => {
    if (await isProgram(path)) return;
    const scratch = await mkdtemp(`${path}.unfinished-`);
    try {
      const built = await run(
        'nice',
        ['-n', '19', 'go', 'install', '-trimpath', `${tool.package}@${tool.version}`],
        {
          env: {
            ...env,
            CGO_ENABLED: '0',
            GOFLAGS: '',
            GOWORK: 'off',
            GOBIN: scratch,
            GOCACHE: join(scratch, 'go-build'),
          },
          timeoutMs: 30 * 60_000,
        },
      );
      if (built.code !== 0)
        throw new Error(
          `This test needs ${name} ${tool.version}, and it could not be built (${built.lastLine}): install Go 1.26 or newer, or put the program at ${path}, and run again`,
        );
      await rename(join(scratch, basename(tool.package)), path);
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
