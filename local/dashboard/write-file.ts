// How does a text come into the manifests folder? Written to a temporary name and renamed in one step, and never over a change that was
// made since the file was read.

import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { link, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The file is not as it was read. */
export class FileChanged extends Error {}

/**
 * @param before What was read of it.
 * @param after Undefined: the file goes.
 * @throws {FileChanged} and nothing is written.
 */
export async function replaceFile(path: string, before: string, after: string | undefined): Promise<void> {
  // Where it is a link, the file behind it is meant.
  const target = await realpath(path).catch((error: unknown) => refuseGone(error));
  if (after === undefined) {
    expectSame(target, before);
    rmSync(target);
    return;
  }
  const { mode } = await stat(target).catch((error: unknown) => refuseGone(error));
  await withDraft(dirname(target), after, mode & 0o777, async (draft) => {
    // Nothing of this process comes between the two.
    expectSame(target, before);
    renameSync(draft, target);
  });
}

/**
 * Under the first of the names that is free.
 *
 * @param isSecret Readable only by the user of this process.
 * @returns the name.
 */
export async function createFile(
  folder: string,
  names: readonly string[],
  content: string,
  isSecret: boolean,
): Promise<string> {
  return await withDraft(folder, content, isSecret ? 0o600 : 0o644, async (draft) => {
    for (const name of names) {
      try {
        // Unlike a rename, it takes no one's place.
        await link(draft, join(folder, name));
        return name;
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
      }
    }
    throw new FileChanged(`${names.join(', ')} already exist`);
  });
}

async function withDraft<T>(
  folder: string,
  content: string,
  mode: number,
  use: (draft: string) => Promise<T>,
): Promise<T> {
  // No manifest has a name that begins with a dot.
  const draft = join(folder, `.${randomUUID()}`);
  try {
    await writeFile(draft, content, { mode, flag: 'wx' });
    return await use(draft);
  } finally {
    await rm(draft, { force: true });
  }
}

function expectSame(path: string, before: string): void {
  if (readPresent(path) !== before) throw new FileChanged('the file has changed');
}

function readPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return refuseGone(error);
  }
}

function refuseGone(error: unknown): never {
  if (isCode(error, 'ENOENT')) throw new FileChanged('the file was deleted');
  throw error;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
