// Which command is Go? The system's, where its version can fetch the toolchain that a module asks for, else one from a package.

import { run } from '../cluster/run.ts';
import { fetchedProgram } from './fetched-program.ts';

/** Since this minor version, Go fetches a newer toolchain by itself. */
const oldestMinor = 21;

/** @throws one sentence where there is none and none can be fetched. */
export async function goCommand(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { code, stdout } = await run('go', ['version'], { env, timeoutMs: 30_000 });
  const minor = code === 0 ? Number(/\bgo1\.(\d+)/.exec(stdout)?.[1]) : 0;
  if (minor >= oldestMinor) return 'go';
  try {
    const fetched = await fetchedProgram('go', env);
    if (fetched !== undefined) return fetched;
  } catch (error) {
    throw new Error(
      `there is no command "go", and ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  throw new Error('there is no command "go"');
}
