// Which files is a journal made of? `journal.jsonl`, which grows, and numbered ones that are full. A small file
// keeps what must survive a restart: whose journal it is, and which number the growing one will have.

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

export interface JournalFolder {
  /** Names the journal: cursors of another one mean nothing here. */
  readonly identity: string;
  /** Of the growing file. */
  readonly active: number;
  /** Full files, oldest first. */
  readonly full: readonly number[];
  /** Bytes of whole lines in the growing file when it was opened. */
  readonly bytes: number;
}

const stateFile = 'journal.json';
const growingFile = 'journal.jsonl';

const stateSchema = z.object({ identity: z.string().regex(/^[0-9a-f]{16}$/), active: z.int().min(1) });

/** Created if missing. A line that a crash left incomplete is cut off: it is no record. */
export function openJournalFolder(folder: string): JournalFolder {
  mkdirSync(folder, { recursive: true });
  const full = readdirSync(folder)
    .flatMap((name) => /^journal-(\d+)\.jsonl$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  const known = readState(folder);
  // A crash between the two steps of a rotation leaves the growing one's old number to a full one.
  const active = Math.max(known?.active ?? 1, (full.at(-1) ?? 0) + 1);
  const identity = known?.identity ?? randomUUID().replaceAll('-', '').slice(0, 16);
  if (known?.active !== active) {
    writeFileSync(join(folder, `${stateFile}.next`), stateText(identity, active), { mode: 0o600 });
    renameSync(join(folder, `${stateFile}.next`), join(folder, stateFile));
  }
  return { identity, active, full, bytes: cutHalfLine(join(folder, growingFile)) };
}

/**
 * The ids of the newest records: of all in the growing file and the last full one, which no group is longer than.
 * Records begin with their id.
 */
export function readRecordIds(folder: string, { active, full }: JournalFolder): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const segment of [...full.slice(-1), active]) {
    const text = readExisting(segmentPath(folder, segment, active));
    for (const [, id = ''] of text.matchAll(/^\{"id":"([^"]*)"/gm)) ids.add(id);
  }
  return ids;
}

export function segmentPath(folder: string, segment: number, active: number): string {
  return join(folder, segment === active ? growingFile : `journal-${segment}.jsonl`);
}

/** The growing file becomes a full one; the next has a number more. */
export async function rotate(folder: string, { identity, active }: JournalFolder): Promise<void> {
  await rename(join(folder, growingFile), segmentPath(folder, active, active + 1));
  await writeFile(join(folder, `${stateFile}.next`), stateText(identity, active + 1), { mode: 0o600 });
  await rename(join(folder, `${stateFile}.next`), join(folder, stateFile));
}

export async function removeSegment(folder: string, segment: number): Promise<void> {
  await rm(segmentPath(folder, segment, segment + 1), { force: true });
}

function stateText(identity: string, active: number): string {
  return JSON.stringify({ identity, active });
}

function readState(folder: string): z.infer<typeof stateSchema> | undefined {
  try {
    return stateSchema.parse(JSON.parse(readFileSync(join(folder, stateFile), 'utf8')));
  } catch {
    // Missing or damaged: the journal gets a new name, and its reader starts from the beginning.
    return undefined;
  }
}

/** Gives the bytes that are left. */
function cutHalfLine(path: string): number {
  const file = openExisting(path);
  if (file === undefined) return 0;
  try {
    const { size } = fstatSync(file);
    const piece = Buffer.alloc(64 * 1024);
    for (let end = size; end > 0; ) {
      const from = Math.max(0, end - piece.length);
      const length = readSync(file, piece, 0, end - from, from);
      const at = piece.subarray(0, length).lastIndexOf(0x0a);
      if (at < 0) {
        end = from;
        continue;
      }
      const whole = from + at + 1;
      if (whole < size) ftruncateSync(file, whole); // guard: journal-half-line
      return whole;
    }
    if (size > 0) ftruncateSync(file, 0);
    return 0;
  } finally {
    closeSync(file);
  }
}

function readExisting(path: string): string {
  const file = openExisting(path);
  if (file === undefined) return '';
  try {
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function openExisting(path: string): number | undefined {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
