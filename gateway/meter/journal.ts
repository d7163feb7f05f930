// Where do ledger records go? Into a local file, one JSON line each, written in groups: a write per
// record would cost more than the request it describes.

import { mkdirSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { LedgerRecord } from '../contract/ledger-record.ts';
import { LineQueue } from './line-queue.ts';

export interface Journal {
  append(record: LedgerRecord): void;
  /** Resolves when all that was appended before is written. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface JournalReport {
  /** Records are kept in memory and written at the next chance. */
  failed(reason: string): void;
  /** So many records are lost: the disk took none for too long. */
  dropped(records: number): void;
}

/** Records wait at most this long for their group. */
const groupMs = 100;

/** After a failed write the next one waits this long, where no new record brings it about earlier. */
const retryMs = 1_000;

/** Records kept while the disk takes none; above this the oldest are dropped, and counted. */
const waitingMax = 100_000;

/** The records of this process, in `journal.jsonl` of a folder that is made where it is missing. */
export function openFileJournal(folder: string, clock: Clock, report: JournalReport): Journal {
  mkdirSync(folder, { recursive: true });
  return new FileJournal(join(folder, 'journal.jsonl'), clock, report);
}

/** For tests, and where the records are not wanted: hands each one over. */
export function openMemoryJournal(onRecord: (record: LedgerRecord) => void): Journal {
  return { append: onRecord, flush: () => Promise.resolve(), close: () => Promise.resolve() };
}

class FileJournal implements Journal {
  private readonly path: string;
  private readonly clock: Clock;
  private readonly report: JournalReport;
  private file: FileHandle | undefined;
  private readonly waiting = new LineQueue();
  private writing: Promise<void> | undefined;
  private hasTimer = false;
  private isClosed = false;

  constructor(path: string, clock: Clock, report: JournalReport) {
    this.path = path;
    this.clock = clock;
    this.report = report;
  }

  append(record: LedgerRecord): void {
    this.waiting.add(JSON.stringify(record));
    this.writeIn(groupMs);
  }

  async flush(): Promise<void> {
    // A write under way may have missed the latest records.
    await this.writing;
    this.writing ??= this.writeGroup().finally(() => {
      this.writing = undefined;
    });
    await this.writing;
  }

  async close(): Promise<void> {
    await this.flush();
    this.isClosed = true;
    const lost = this.waiting.keepLatest(0);
    if (lost > 0) this.report.dropped(lost);
    await this.file?.close();
    this.file = undefined;
  }

  private writeIn(ms: number): void {
    if (this.hasTimer || this.isClosed) return;
    this.hasTimer = true;
    this.clock.setTimer(ms, () => {
      this.hasTimer = false;
      void this.flush();
    });
  }

  private async writeGroup(): Promise<void> {
    const group = this.waiting.take();
    if (group.bytes.length === 0) return;
    try {
      this.file ??= await openAtLine(this.path);
      for (const bytes of group.bytes) await this.file.appendFile(bytes);
      group.done();
    } catch (error) {
      this.report.failed(error instanceof Error ? error.message : String(error));
      group.putBack();
      const dropped = this.waiting.keepLatest(waitingMax);
      if (dropped > 0) this.report.dropped(dropped);
      this.writeIn(retryMs);
      await this.file?.close().catch(() => {});
      this.file = undefined;
    }
  }
}

/** Opens for appending. A crash or a full disk may have left half a line, which must not swallow the next record. */
async function openAtLine(path: string): Promise<FileHandle> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    if (size > 0 && last[0] !== 0x0a) await file.appendFile('\n');
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
