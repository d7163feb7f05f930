// How long may Go build? As long as it names packages that it has built. The linker of a large program names none for minutes.

import { type Ran, type RunOptions, run } from '../cluster/run.ts';
import { goCommand } from './go-command.ts';

const quietMs = 15 * 60_000;

/** For hooks and tests that wait for a build: the build ends earlier where it makes no progress. */
export const buildWaitMs = 6 * 3_600_000;

/**
 * `lastLine` is why it failed, and no package.
 *
 * @param command `build` or `install`.
 */
export async function goBuild(
  command: string,
  args: readonly string[],
  options: Omit<RunOptions, 'timeoutMs'> & { readonly env: NodeJS.ProcessEnv },
): Promise<Ran> {
  // The tests that need no cluster run beside it, and some of them measure time.
  const go = ['-n', '19', await goCommand(options.env), command, '-v', ...args];
  const built = await run('nice', go, { ...options, quietMs });
  const isPackage = /^\S+$/;
  const said = built.stderr.trimEnd().split('\n');
  return { ...built, lastLine: said.findLast((line) => !isPackage.test(line)) ?? built.lastLine };
}
