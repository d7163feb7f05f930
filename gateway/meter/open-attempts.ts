// Which attempts are in flight, as far as the disk knows? A file next to the journal: a line for each attempt that outlasts a
// group, with the record it would leave if the process ended now; a new line every few seconds; and a line once its own record
// is in the journal. When the folder is opened after a crash, attempts without a record get one.

import { readFileSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type LedgerRecord, ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { OpenList } from '../stream/open-list.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { sealLine, sortLines } from './sealed-line.ts';

const fileName = 'under-way.jsonl';

/** How old the newest line of an attempt becomes. */
export const progressMs = 5_000;

/** The file is rewritten once it has this size, and is several times as large as a fresh one would be. */
const rewriteBytes = 4 * 1024 * 1024;
const rewriteGrowth = 4;

/** What is to be written with a group, as it was when the group was taken. */
export interface Marks {
  readonly text: string;
  /** In place of all that is there. */
  readonly isWhole: boolean;
}

export class OpenAttempts {
  private readonly folder: string;
  private readonly attempts = new OpenList<OpenAttempt>();
  /** Have a line, and their own record by now. */
  private ended: string[] = [];
  private file: FileHandle | undefined;
  private bytes = 0;
  private wholeBytes = 0;
  /** What lies there is of an earlier process, or was written in part only. */
  private isStale = true;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Again for the same attempt: more is known of it, and written with the next group. */
  begin(attempt: OpenAttempt): void {
    attempt.writtenAt = undefined;
    if (attempt.place < 0) this.attempts.add(attempt);
  }

  end(attempt: OpenAttempt): void {
    if (this.attempts.remove(attempt) && attempt.hasLine) this.ended.push(attempt.id);
  }

  /** Whether a line is to be written once in a while. */
  get isLong(): boolean {
    return this.attempts.items.some(({ hasLine }) => hasLine);
  }

  /** Undefined if there is nothing to write. */
  take(now: number): Marks | undefined {
    const isWhole = this.isStale || this.bytes > Math.max(rewriteBytes, rewriteGrowth * this.wholeBytes);
    const lines = isWhole ? [] : this.ended.map((id) => sealLine(JSON.stringify({ ended: id })));
    this.ended = [];
    for (const attempt of this.attempts.items) {
      const isFresh = attempt.writtenAt !== undefined && now - attempt.writtenAt < progressMs;
      if (isFresh && !isWhole) continue;
      lines.push(sealLine(attempt.estimate()));
      attempt.writtenAt = now;
      attempt.hasLine = true;
    }
    if (lines.length === 0 && !(isWhole && this.bytes > 0)) return undefined;
    return { text: lines.map((line) => `${line}\n`).join(''), isWhole };
  }

  /** After a failure, the next write repeats all lines. @throws the error of the disk. */
  async write({ text, isWhole }: Marks): Promise<void> {
    const wasStale = this.isStale;
    this.isStale = true;
    if (isWhole) await this.writeWhole(text);
    else if (wasStale) return;
    else await this.file?.appendFile(text);
    this.bytes += Buffer.byteLength(text);
    if (isWhole) this.wholeBytes = this.bytes;
    this.isStale = false;
  }

  /** The group's marks are written again, in whichever file the write failed. */
  failed(): void {
    this.isStale = true;
  }

  async close(): Promise<void> {
    await this.file?.close();
    this.file = undefined;
  }

  /**
   * The attempts that an earlier process has left unfinished, each in its last reported state.
   *
   * @returns Also how many lines could not be read.
   */
  readLeft(): { readonly records: readonly LedgerRecord[]; readonly damaged: readonly Buffer[] } {
    const bytes = readExisting(join(this.folder, fileName));
    this.bytes = bytes.length;
    const { sound, damaged } = sortLines(bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1));
    const left = new Map<string, string>();
    // Most have ended: only what is left is worth reading.
    for (const [line, kind, id = ''] of sound.toString('utf8').matchAll(/^\{"(id|ended)":"([^"]*)".*$/gm)) {
      if (kind === 'ended') left.delete(id);
      else left.set(id, line);
    }
    const unknown: Buffer[] = [];
    const records = [...left.values()].flatMap((line) => {
      const parsed = ledgerRecordSchema.safeParse(JSON.parse(line));
      if (parsed.success) return [parsed.data];
      unknown.push(Buffer.from(`${line}\n`));
      return [];
    });
    return { records, damaged: [...damaged, ...unknown] };
  }

  private async writeWhole(text: string): Promise<void> {
    await this.close();
    const next = await open(join(this.folder, `${fileName}.next`), 'w', 0o600);
    this.file = next;
    await next.appendFile(text);
    await rename(join(this.folder, `${fileName}.next`), join(this.folder, fileName));
    this.bytes = 0;
  }
}

function readExisting(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
