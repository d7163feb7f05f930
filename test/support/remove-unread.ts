// How does a cache stay bounded whose entries nobody removes? What was read longest ago goes.

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Of all files below the folder, where there are more than `most`: half as many stay. */
export async function removeUnread(folder: string, most: number): Promise<void> {
  // The folder may not be there yet, and another run may remove the same.
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  if (entries.length <= most) return;
  const files = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry);
      const found = await stat(path).catch(() => undefined);
      return found?.isFile() ? [{ path, readMs: found.atimeMs }] : [];
    }),
  );
  const byAge = files.flat().sort((a, b) => b.readMs - a.readMs);
  await Promise.all(byAge.slice(most / 2).map(({ path }) => rm(path, { force: true })));
}
