// Is a program of the system here that a test cannot do without?

import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/**
 * Its path.
 *
 * @throws with one sentence that says how it is brought.
 */
export async function neededProgram(name: string, debianPackage = name): Promise<string> {
  // Where Debian keeps what only root runs.
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']) {
    const path = join(folder, name);
    const isHere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isHere) return path;
  }
  throw new Error(
    `This test needs ${name}, and it is not installed: on Debian, apt-get install ${debianPackage}, and run again`,
  );
}
