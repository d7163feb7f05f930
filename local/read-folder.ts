// Which files of the folder would `kubectl apply -f` take, and what is in them?

import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface ManifestFile {
  readonly name: string;
  readonly content: string;
  /** When it was last written, Unix milliseconds. */
  readonly modifiedMs: number;
}

/**
 * Far more than people write; the API server takes no object larger than 1.5 MiB either. A larger file is
 * told and not read: it would hold up what is being served.
 */
export const FILE_BYTES_MAX = 1_048_576;

/** A file that is there and could not be read. */
export interface UnreadableFile {
  readonly name: string;
  readonly reason: string;
}

/** @throws {Error} one sentence, where there is no such folder. */
export async function readFolder(folder: string): Promise<(ManifestFile | UnreadableFile)[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new Error(explain(folder, cause), { cause });
  });
  // Editors keep locks and half-written copies beside a file, under names that begin with a dot.
  const names = entries
    .filter((entry) => !entry.isDirectory() && /^[^.].*\.(ya?ml|json)$/.test(entry.name))
    .map(({ name }) => name)
    .sort();
  const files = await Promise.all(names.map((name) => readManifestFile(folder, name)));
  return files.flatMap((file) => file ?? []);
}

async function readManifestFile(
  folder: string,
  name: string,
): Promise<ManifestFile | UnreadableFile | undefined> {
  const path = join(folder, name);
  try {
    const { mtimeMs, size } = await stat(path);
    if (size > FILE_BYTES_MAX) {
      const reason = `is larger than ${FILE_BYTES_MAX} bytes (1 MiB) and was not read; split it into several files`;
      return { name, reason };
    }
    const bytes = await readFile(path);
    // As kubectl refuses it too. Read all the same, it would be written back with other characters by a change beside them.
    if (!isUtf8(bytes)) return { name, reason: 'is not written in UTF-8 and was not read; save it as that' };
    return { name, content: bytes.toString(), modifiedMs: mtimeMs };
  } catch (error) {
    // Removed since the folder was listed.
    if (codeOf(error) === 'ENOENT') return undefined;
    return { name, reason: `could not be read (${codeOf(error)}); see its permissions` };
  }
}

function explain(folder: string, error: unknown): string {
  const way = 'PENSTOCK_MANIFESTS names the folder of your YAML files';
  if (codeOf(error) === 'ENOENT') return `The manifests folder '${folder}' does not exist; ${way}.`;
  if (codeOf(error) === 'ENOTDIR') return `'${folder}' is a file and not a folder; ${way}.`;
  return `The manifests folder '${folder}' could not be read (${codeOf(error)}); ${way}.`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
