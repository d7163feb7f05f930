// Which keys has this laptop issued? Made once and kept, so that a snippet copied yesterday works today.
//
// One file per key, `keys/<namespace>/<name>`: several processes may share the folder, and the process that links
// the file first has made the key.

import { randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { encodeKey, isWellFormedKey } from '../operator/resources/key-material.ts';

interface KeyOwner {
  readonly namespace: string;
  readonly name: string;
}

export interface KeyStore {
  /**
   * The key of an ApiKey; made at the first asking.
   *
   * @throws {Error} where what is kept is no key.
   */
  keyFor(apiKey: KeyOwner, prefix: string): Promise<string>;
  /** The file that holds it. */
  pathOf(apiKey: KeyOwner): string;
}

/** @throws {Error} where the folder cannot be made. */
export async function openKeyStore(stateFolder: string): Promise<KeyStore> {
  const folder = join(stateFolder, 'keys');
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const fact = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `The folder for keys and journal cannot be created (${fact}). Set PENSTOCK_STATE_DIR to another folder.`,
      {
        cause,
      },
    );
  }
  const pathOf = ({ namespace, name }: KeyOwner): string => join(folder, namespace, name);
  return {
    pathOf,
    async keyFor(apiKey, prefix) {
      const path = pathOf(apiKey);
      const key = (await readKey(path)) ?? (await makeKey(path, prefix));
      if (isWellFormedKey(prefix, key)) return key;
      throw new Error(`${path} holds no key. Delete the file; a new key is made at the next start.`);
    },
  };
}

async function readKey(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Written to a temporary name and linked: a reader never sees half a file, and an existing key is never replaced. */
async function makeKey(path: string, prefix: string): Promise<string> {
  const key = encodeKey(prefix, randomBytes(32));
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // No ApiKey has a name that begins with a dot.
  const draft = join(dirname(path), `.${randomUUID()}`);
  await writeFile(draft, `${key}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, path);
    return key;
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    return (await readKey(path)) ?? key;
  } finally {
    await rm(draft, { force: true });
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
