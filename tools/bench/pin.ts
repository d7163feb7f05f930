// How does the runner keep off the proxy's core? It moves itself, and whatever it starts inherits the place.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** @throws Error when taskset is missing. */
export async function pinThisProcess(core: number): Promise<void> {
  try {
    await run('taskset', ['-a', '-c', '-p', String(core), String(process.pid)]);
  } catch (cause) {
    throw new Error(
      'the benchmark pins processes to cores with taskset, which is not there or was refused (Debian, Ubuntu: apt-get install util-linux; Linux only)',
      { cause },
    );
  }
}
