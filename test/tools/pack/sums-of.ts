// Which files does a build leave, and with which bytes? The images beside them are looked at by their own digests.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** SHA-256 by name. */
export async function sumsOf(dist: string): Promise<Record<string, string>> {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(dist, join(parentPath, name)))
    .filter((name) => !name.startsWith('images/'))
    .sort();
  const sums = names.map(async (name): Promise<[string, string]> => {
    return [
      name,
      createHash('sha256')
        .update(await readFile(join(dist, name)))
        .digest('hex'),
    ];
  });
  return Object.fromEntries(await Promise.all(sums));
}
