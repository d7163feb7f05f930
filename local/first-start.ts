// Which manifests does a first start serve? A copy of the quickstart, outside Git: edits and the dashboard's new files leave the clone clean.

import { cp, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** @returns What to print; undefined if the folder exists already, which is never touched. */
export async function copyQuickstart(from: string, to: string): Promise<string | undefined> {
  if (await isThere(to)) return undefined;
  // Renamed in one step: a reader never sees half a folder, and of two starts at once the first wins.
  const draft = await mkdtemp(join(dirname(to), '.manifests-'));
  try {
    await cp(from, draft, { recursive: true, preserveTimestamps: true });
    await rename(draft, to);
  } catch (error) {
    if (await isThere(to)) return undefined;
    throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return `Copied ${from} to ${to}. Edit the files there; Git ignores them.`;
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
