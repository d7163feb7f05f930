// Which work of a load is replaceable? Unpacking, the files of the copy, and yielding to the event loop. Passed in, so that a
// simulation decides when each of them is done.

import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { nextTurn } from '../next-turn.ts';

export interface LoadWork {
  /** Resolves after one turn of the event loop. */
  yieldNow(): Promise<void>;
  readonly unpack: Unpack;
  readonly files: CopyFiles;
}

/** zstd. Rejects with the code `ERR_BUFFER_TOO_LARGE` if it would be more than that. */
export type Unpack = (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** As in node:fs/promises; a missing file is an error with the code `ENOENT`. */
export interface CopyFiles {
  readFile(path: string): Promise<Buffer>;
  writeFile(path: string, content: string | Buffer, options: { readonly mode: number }): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  mkdir(path: string, options: { readonly recursive: true; readonly mode: number }): Promise<unknown>;
  readdir(path: string): Promise<readonly string[]>;
  rm(path: string, options: { readonly recursive: boolean; readonly force: boolean }): Promise<void>;
}

export const systemFiles: CopyFiles = { chmod, mkdir, readdir, readFile, rename, rm, writeFile };

export const systemWork: LoadWork = {
  yieldNow: nextTurn,
  unpack: promisify(zstdDecompress),
  files: systemFiles,
};
