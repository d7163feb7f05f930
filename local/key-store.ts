// Which keys has this laptop issued? Made once and kept, so that a snippet copied yesterday works today.

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { encodeKey } from '../operator/resources/key-material.ts';

export interface KeyStore {
  /** The key of an ApiKey (`namespace/name`); made at the first asking. */
  keyFor(apiKey: string, prefix: string): Promise<string>;
}

const fileSchema = z.record(z.string(), z.string());

/** @throws {Error} where the file of an earlier run cannot be read. */
export async function openKeyStore(folder: string): Promise<KeyStore> {
  const path = join(folder, 'keys.json');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const keys = await readKeys(path);
  return {
    async keyFor(apiKey, prefix) {
      const known = keys.get(apiKey);
      if (known !== undefined) return known;
      const made = encodeKey(prefix, randomBytes(32));
      keys.set(apiKey, made);
      // Written beside and renamed, so that a crash cannot leave half a file.
      await writeFile(`${path}.new`, `${JSON.stringify(Object.fromEntries(keys), null, 2)}\n`, {
        mode: 0o600,
      });
      await rename(`${path}.new`, path);
      return made;
    },
  };
}

async function readKeys(path: string): Promise<Map<string, string>> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch {
    return new Map();
  }
  try {
    return new Map(Object.entries(fileSchema.parse(JSON.parse(content))));
  } catch (cause) {
    throw new Error(`${path} cannot be read; remove it, and new keys are made`, { cause });
  }
}
