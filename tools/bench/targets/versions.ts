// Which version of a program runs here?

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Output of the program's version option, from either stream, without line breaks; undefined without the program. */
export async function programVersion(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(command, args);
    return `${stdout}${stderr}`
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim();
  } catch {
    return undefined;
  }
}
