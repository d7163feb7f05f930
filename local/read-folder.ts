// Which files of the folder would `kubectl apply -f` take, and what is in them?

import { isUtf8 } from 'node:buffer';
import type { BigIntStats } from 'node:fs';
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
 * reported and not read: it would hold up what is being served.
 */
export const FILE_BYTES_MAX = 1_048_576;

/** A file that is there and could not be read. */
export interface UnreadableFile {
  readonly name: string;
  readonly reason: string;
}

export interface FolderReading {
  readonly files: readonly (ManifestFile | UnreadableFile)[];
  /** False where a file was caught while it was saved: its last content is here, and it is to be read again after a moment. */
  readonly isSettled: boolean;
}

interface FolderReader {
  /** Unchanged parts are identical values to the last reading's. @throws {Error} one sentence, if the folder does not exist. */
  read(): Promise<FolderReading>;
}

export interface FolderClock {
  now(): number;
  wallMs(): number;
}

type FileRead = ManifestFile | UnreadableFile;

interface Known {
  readonly file: FileRead;
  readonly ino?: bigint | undefined;
  /** Undefined: to be read next time, whatever its size and time are. */
  readonly stamp?: string | undefined;
}

/** A file that was written in place so lately may be half of what it becomes. */
const quietMs = 50;
/** Editors, `cp` and `>` empty a file before they write it. One that is empty for so long is meant to be. */
const emptyMs = 500;
/** A second save within it may leave the same time: some file systems count in steps of two seconds. */
const sameTimeMs = 2_000;

/** With a memory: a file whose size and time are the same is not read again, and one that is being saved counts as it was. */
export function openFolder(folder: string, clock: FolderClock): FolderReader {
  const known = new Map<string, Known>();
  /** Since when a file that had content is empty. */
  const emptySince = new Map<string, number>();

  return {
    async read() {
      const names = await manifestNames(folder);
      const files = await Promise.all(names.map(readNamed));
      for (const name of known.keys()) if (!names.includes(name)) forget(name);
      return {
        files: files.flatMap(({ file }) => file ?? []),
        isSettled: files.every(({ isSettled }) => isSettled),
      };
    },
  };

  async function readNamed(
    name: string,
  ): Promise<{ readonly file: FileRead | undefined; readonly isSettled: boolean }> {
    const path = join(folder, name);
    const last = known.get(name);
    try {
      const before = await stat(path, { bigint: true });
      if (last?.stamp === stampOf(before)) return { file: last.file, isSettled: true };
      if (before.size > FILE_BYTES_MAX) return keep(name, { name, reason: tooLarge }, undefined);
      const bytes = await readFile(path);
      const after = await stat(path, { bigint: true });
      const isWhole = stampOf(before) === stampOf(after) && BigInt(bytes.length) === after.size;
      // A file that took its place in one step has another number, and is whole.
      const isLate = last?.ino === after.ino && isWithin(quietMs, after);
      if (!isWhole || isLate || isEmptied(name, bytes)) return { file: last?.file, isSettled: false };
      return keep(name, fileOf(name, bytes, Number(after.mtimeMs)), after);
    } catch (error) {
      // Removed since the folder was listed.
      if (codeOf(error) === 'ENOENT') {
        forget(name);
        return { file: undefined, isSettled: true };
      }
      const reason = `could not be read (${codeOf(error)}); check its permissions`;
      return keep(name, { name, reason }, undefined);
    }
  }

  function keep(name: string, file: FileRead, stats: BigIntStats | undefined) {
    const last = known.get(name)?.file;
    const isSame = last !== undefined && textOf(last) === textOf(file);
    const next = isSame ? last : file;
    const isSure = stats !== undefined && !isWithin(sameTimeMs, stats);
    known.set(name, { file: next, ino: stats?.ino, stamp: isSure ? stampOf(stats) : undefined });
    return { file: next, isSettled: true };
  }

  /** A time that is still to come says nothing: clocks of mounts differ. */
  function isWithin(ms: number, { mtimeMs }: BigIntStats): boolean {
    const ageMs = clock.wallMs() - Number(mtimeMs);
    return ageMs >= 0 && ageMs < ms;
  }

  function isEmptied(name: string, bytes: Buffer): boolean {
    const last = known.get(name)?.file;
    if (bytes.length > 0 || last === undefined || textOf(last) === '') {
      emptySince.delete(name);
      return false;
    }
    const sinceMs = emptySince.get(name) ?? clock.now();
    emptySince.set(name, sinceMs);
    return clock.now() - sinceMs < emptyMs;
  }

  function forget(name: string): void {
    known.delete(name);
    emptySince.delete(name);
  }
}

async function manifestNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new Error(explain(folder, cause), { cause });
  });
  // Editors keep locks and half-written copies beside a file, under names that begin with a dot.
  return entries
    .filter((entry) => !entry.isDirectory() && /^[^.].*\.(ya?ml|json)$/.test(entry.name))
    .map(({ name }) => name)
    .sort();
}

const tooLarge = `is larger than ${FILE_BYTES_MAX} bytes (1 MiB) and was not read; split it into several files`;

function fileOf(name: string, bytes: Buffer, modifiedMs: number): FileRead {
  // kubectl refuses it too. If it were read, a change beside these bytes would write them back as other characters.
  if (!isUtf8(bytes)) return { name, reason: 'is not UTF-8 and was not read; save it as UTF-8' };
  return { name, content: bytes.toString(), modifiedMs };
}

/** The same for two that say the same. */
function textOf(file: FileRead): string {
  return 'content' in file ? file.content : `\0${file.reason}`;
}

/** Another one after each save. */
function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function explain(folder: string, error: unknown): string {
  const action = 'Set PENSTOCK_MANIFESTS to the folder of your YAML files';
  if (codeOf(error) === 'ENOENT') return `The manifests folder '${folder}' does not exist. ${action}.`;
  if (codeOf(error) === 'ENOTDIR') return `'${folder}' is a file, not a folder. ${action}.`;
  return `The manifests folder '${folder}' could not be read (${codeOf(error)}). ${action}.`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
