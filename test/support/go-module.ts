// Where are the files of this Go module? Fetched once through the module proxy, and checked against the sums of Go's database:
// projects keep the schemas of their Kubernetes kinds there.

import { tmpdir } from 'node:os';
import { z } from 'zod';
import { run } from '../cluster/run.ts';
import { goCommand } from './go-command.ts';

const downloaded = z.object({ Dir: z.string().optional(), Error: z.string().optional() });

/**
 * The folder of the module, which cannot be written.
 *
 * @param version exact, with its `v`.
 * @throws one sentence that says what is missing and the way out.
 */
export async function goModule(module: string, version: string): Promise<string> {
  const said = await run(await goCommand(), ['mod', 'download', '-json', `${module}@${version}`], {
    cwd: tmpdir(),
    env: { ...process.env, GOFLAGS: '', GOWORK: 'off' },
    timeoutMs: 10 * 60_000,
  });
  const answer = said.stdout.startsWith('{') ? downloaded.parse(JSON.parse(said.stdout)) : {};
  if (answer.Dir === undefined)
    throw new Error(
      `This test needs the Go module ${module} ${version}, and it could not be fetched (${answer.Error ?? said.lastLine}): install Go 1.26 or newer, and let it reach a module proxy`,
    );
  return answer.Dir;
}
