// Are the pages built? The first start builds them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Builds them into a folder; undefined: this installation has no builder. */
export type BuildPages = ((folder: string) => Promise<unknown>) | undefined;

/** Undefined: they are there. Else why not, for people. */
export async function ensurePages(folder: string, build: BuildPages): Promise<string | undefined> {
  const isBuilt = (): boolean => existsSync(join(folder, 'index.html'));
  if (isBuilt()) return undefined;
  try {
    await build?.(folder);
  } catch (error) {
    return `the pages could not be built: ${error instanceof Error ? error.message : String(error)}`;
  }
  return isBuilt() ? undefined : `the pages are not built in ${folder}; run npm run build`;
}
