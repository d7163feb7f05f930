// Which whole lines follow a position in a file? As many as fit into an answer, at least one.

import { type FileHandle, open } from 'node:fs/promises';

const pageBytes = 1024 * 1024;

/**
 * @param end Reading ends there; absent: at the end of the file.
 * @returns Undefined if the file is gone, or the position is not the end of a line.
 */
export async function readLines(
  path: string,
  offset: number,
  end: number | undefined,
): Promise<Buffer | undefined> {
  const file = await openExisting(path);
  // A file without a write so far can only be read at its beginning.
  if (!file) return offset === 0 && end === 0 ? Buffer.alloc(0) : undefined;
  try {
    const { size } = await file.stat();
    const last = Math.min(end ?? size, size);
    if (offset > last || !(await isLineStart(file, offset))) return undefined;
    for (let length = pageBytes; ; length *= 2) {
      const bytes = Buffer.alloc(Math.min(length, last - offset));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
      const whole = bytes.subarray(0, bytes.subarray(0, bytesRead).lastIndexOf(0x0a) + 1);
      if (whole.length > 0 || offset + length >= last) return whole;
    }
  } finally {
    await file.close();
  }
}

async function isLineStart(file: FileHandle, offset: number): Promise<boolean> {
  if (offset === 0) return true;
  const before = Buffer.alloc(1);
  const { bytesRead } = await file.read(before, 0, 1, offset - 1);
  return bytesRead === 1 && before[0] === 0x0a;
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
