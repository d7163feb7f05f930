// Are the pages built? They are built at the first start, and stay.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Builds them into a folder; undefined: nobody can, here. */
export type BuildPages = ((folder: string) => Promise<unknown>) | undefined;

/** Undefined where they are there in the end; else why they are not, for people. */
export async function ensurePages(folder: string, build: BuildPages): Promise<string | undefined> {
  const isBuilt = (): boolean => existsSync(join(folder, 'index.html'));
  if (isBuilt()) return undefined;
  try {
    await build?.(folder);
  } catch (error) {
    return `its pages could not be built: ${error instanceof Error ? error.message : String(error)}`;
  }
  return isBuilt() ? undefined : `its pages are not built in ${folder}`;
}
