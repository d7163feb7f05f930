// Where do ledger records go? Into a local file, one JSON line each, written in groups: a write per
// record would cost more than the request it describes. The ledger reads them from here by a cursor, which
// also acknowledges all records before it: full files that are acknowledged are removed. Attempts in
// flight are in a file of their own (open-attempts.ts), so that a crash leaves a record of them too.

import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '../../core/clock.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { AcknowledgedRecords } from './acknowledged-records.ts';
import {
  type JournalFolder,
  openJournalFolder,
  readRecordIds,
  removeSegment,
  rotate,
  segmentPath,
} from './journal-folder.ts';
import type { JournalBounds, JournalFigures, JournalReport } from './journal-report.ts';
import { LineQueue } from './line-queue.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { type Marks, OpenAttempts, progressMs } from './open-attempts.ts';
import { type Place, Quarantine } from './quarantine.ts';
import { readLines } from './read-lines.ts';

export interface Journal {
  /**
   * An attempt has been begun, whose record is appended when it has ended. One that outlasts a group is written down. Called again for
   * the same attempt where more is known of it, though its record cannot be appended yet.
   */
  begin(attempt: OpenAttempt): void;
  append(attempt: OpenAttempt): void;
  /** A line that is no record, as JSON: it is kept and handed out as records are. Absent: nothing is kept. */
  note?(json: string): void;
  /** Resolves when all that was appended before is written. */
  flush(): Promise<void>;
  close(): Promise<void>;
  /** Absent if nothing is kept. */
  readonly figures?: JournalFigures;
  /** How far the reader has come, in records; absent without a reader. */
  readonly progress?: Pick<AcknowledgedRecords, 'appended' | 'taken'>;
}

/** Whole lines, and the cursor after the last of them. */
export interface JournalPage {
  readonly bytes: Buffer;
  readonly cursor: string;
}

/** A journal that hands out what it has written. One reader at a time. */
export interface ReadableJournal extends Journal {
  /**
   * The records after the cursor, at most about a mebibyte of them; without a cursor from the oldest on. All up to
   * the cursor is acknowledged.
   *
   * @returns Undefined if the cursor belongs to another journal.
   */
  read(after: string | undefined): Promise<JournalPage | undefined>;
  /** @returns A function that removes the listener. */
  onWritten(listener: () => void): () => void;
  /**
   * Waits until the reader has acknowledged all records, and hands the others to `JournalReport.unacknowledged`.
   *
   * @param hasReader There is one, though it may not have asked this process yet; default: there is one if it has.
   */
  handOver?(patienceMs: number, hasReader?: boolean): Promise<void>;
}

/** Records wait at most this long for their group. */
const groupMs = 100;

/** After a failed write the next one waits this long, if no new record brings it about earlier. */
const retryMs = 1_000;

/** Records kept while the disk takes none; above this the oldest are dropped, and counted. */
const waitingMax = 100_000;

const defaultBounds: JournalBounds = {
  segmentBytes: 16 * 1024 * 1024,
  // Some 300,000 records: a day without the ledger at three and a half per second.
  folderBytesMax: 256 * 1024 * 1024,
};

/** The disk takes no writes now, and may later: requests are still served. */
const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

/** The same failure is reported at most this often. */
const reportAgainMs = 10_000;

/**
 * The records of this process, in `journal.jsonl` of a folder that is made if it is missing. A disk that is full or
 * takes nothing is no reason not to: records wait in memory.
 *
 * @throws what the system says of a folder that cannot be made or used for another reason.
 */
export function openFileJournal(
  folder: string,
  clock: Clock,
  report: JournalReport,
  bounds: Partial<JournalBounds> = {},
): ReadableJournal & Required<Pick<ReadableJournal, 'note' | 'handOver' | 'figures' | 'progress'>> {
  return new FileJournal(folder, clock, report, { ...defaultBounds, ...bounds });
}

/** For tests, and where the records are not wanted: hands each one over. */
export function openMemoryJournal(onRecord: (record: LedgerRecord) => void): Journal {
  return {
    begin: () => {},
    append: (attempt) => onRecord(attempt.record()),
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

class FileJournal implements ReadableJournal {
  private readonly folder: string;
  private readonly clock: Clock;
  private readonly report: JournalReport;
  private readonly segmentBytes: number;
  /** Full files that are kept beside the growing one. */
  private readonly fullMax: number;
  private state: JournalFolder;
  /** False while the disk has not even taken the folder. */
  private isOpen = true;
  /** Bytes of the growing file that are whole groups. */
  private written: number;
  private file: FileHandle | undefined;
  private readonly waiting = new LineQueue();
  private readonly openAttempts: OpenAttempts;
  readonly progress: AcknowledgedRecords;
  private cancelProgress: (() => void) | undefined;
  private readonly quarantine: Quarantine;
  private writing: Promise<void> | undefined;
  private renames = 0;
  private isRenaming = false;
  private hasTimer = false;
  private isClosed = false;
  private readonly listeners = new Set<() => void>();
  /** How far the reader has come. */
  private taken: Place | undefined;
  private onTaken: (() => void) | undefined;
  private givingUp: Promise<void> | undefined;
  private lastFailure: { readonly reason: string; readonly at: number } | undefined;
  private readonly counts = { failedWrites: 0, replayedRecords: 0, unacknowledgedRecords: 0 };

  constructor(folder: string, clock: Clock, report: JournalReport, bounds: JournalBounds) {
    this.folder = folder;
    this.clock = clock;
    this.report = report;
    this.segmentBytes = Math.min(bounds.segmentBytes, Math.ceil(bounds.folderBytesMax / 4));
    this.fullMax = Math.floor(bounds.folderBytesMax / this.segmentBytes) - 1;
    this.state = this.openFolder();
    this.written = this.state.bytes;
    const isEmpty = this.state.full.length === 0 && this.written === 0;
    this.progress = new AcknowledgedRecords({ segment: this.state.active, offset: this.written }, isEmpty);
    this.openAttempts = new OpenAttempts(folder);
    this.quarantine = new Quarantine(
      folder,
      (lines) => report.damaged?.(lines),
      (error) => this.noteFailure(error),
    );
    this.replay();
  }

  begin(attempt: OpenAttempt): void {
    this.openAttempts.begin(attempt);
    this.writeIn(groupMs);
  }

  // guard: journal-once
  append(attempt: OpenAttempt): void {
    this.openAttempts.end(attempt);
    this.wait(attempt.line());
    this.writeIn(groupMs);
  }

  note(json: string): void {
    this.wait(json);
    this.writeIn(groupMs);
  }

  async flush(): Promise<void> {
    // A write in progress may have missed the latest records.
    await this.writing;
    this.writing ??= this.writeGroup().finally(() => {
      this.writing = undefined;
    });
    await this.writing;
  }

  async close(): Promise<void> {
    await this.flush();
    this.isClosed = true;
    this.cancelProgress?.();
    await this.file?.close();
    this.file = undefined;
    await this.openAttempts.close();
    await this.givingUp;
    await this.reportUnwritten();
  }

  get figures(): JournalFigures {
    const damagedLines = this.quarantine.count;
    return { ...this.counts, damagedLines, bytes: this.state.full.length * this.segmentBytes + this.written };
  }

  async read(after: string | undefined): Promise<JournalPage | undefined> {
    const place = after === undefined ? this.oldest() : this.placeOf(after);
    if (!place) return undefined;
    this.taken = place;
    this.progress.onTaken(place);
    this.onTaken?.();
    await this.removeBefore(place.segment);
    const page = await this.pageAt(place);
    return (
      page && { bytes: page.bytes, cursor: `${this.state.identity}.${page.to.segment}.${page.to.offset}` }
    );
  }

  async handOver(patienceMs: number, hasReader = this.taken !== undefined): Promise<void> {
    await this.flush();
    // Behind a crash a reader waits before it asks again: what lies here, also from before, would go with the pod.
    if (hasReader) await this.untilTaken(patienceMs);
    await this.reportUnacknowledged(this.taken && this.isHere(this.taken) ? this.taken : this.oldest());
  }

  /** Whole undamaged lines from a position on, as many as fit into a page, and the position after them. */
  private async pageAt(place: Place): Promise<{ readonly bytes: Buffer; readonly to: Place } | undefined> {
    for (let { segment, offset } = place; ; ) {
      const { active } = this.state;
      const isGrowing = segment === active;
      const path = segmentPath(this.folder, segment, active);
      const { renames } = this;
      const bytes = await readLines(path, offset, isGrowing ? this.written : undefined);
      if (renames !== this.renames || this.isRenaming) {
        // A rotation may have replaced the file under the same name in the meantime.
        await this.writing;
        return this.pageAt(place);
      }
      // Not the end of a line, or the file is gone.
      if (!bytes) return undefined;
      if (bytes.length === 0 && !isGrowing) {
        segment++;
        offset = 0;
        continue;
      }
      const sound = await this.quarantine.sortOut({ segment, offset }, bytes);
      offset += bytes.length;
      if (sound.length === 0 && bytes.length > 0) continue;
      return { bytes: sound, to: { segment, offset } };
    }
  }

  onWritten(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Attempts that were in flight when an earlier process crashed. */
  private replay(): void {
    const { records, damaged } = this.openAttempts.readLeft();
    void this.quarantine.add(damaged);
    if (records.length === 0) return;
    // The end of one may have been written, and not yet that it has ended.
    const known = readRecordIds(this.folder, this.state);
    const left = records.filter(({ id }) => !known.has(id));
    for (const record of left) this.wait(JSON.stringify(record));
    this.counts.replayedRecords = left.length;
    if (left.length > 0) this.report.replayed?.(left.length);
    this.writeIn(groupMs);
  }

  private wait(line: string): void {
    this.waiting.add(line);
    this.progress.onAppended();
  }

  private noteFailure(error: unknown): void {
    this.counts.failedWrites++;
    const reason = error instanceof Error ? error.message : String(error);
    const at = this.clock.now();
    if (this.lastFailure?.reason === reason && at - this.lastFailure.at < reportAgainMs) return;
    this.lastFailure = { reason, at };
    this.report.failed(reason);
  }

  private openFolder(): JournalFolder {
    try {
      return openJournalFolder(this.folder);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && fullCodes.has(String(error.code)))) throw error;
      this.isOpen = false;
      this.noteFailure(error);
      return { identity: '0'.repeat(16), active: 1, full: [], bytes: 0 };
    }
  }

  private async untilTaken(patienceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onTaken = () => {
      const { state, written } = this;
      const taken = this.taken ?? this.oldest();
      if (taken.segment === state.active && taken.offset === written) resolve();
    };
    this.onTaken();
    const cancel = this.clock.setTimer(patienceMs, resolve);
    await promise;
    cancel();
    this.onTaken = undefined;
  }

  /** @param segment Of this file alone; without it, of all there are. */
  private async reportUnacknowledged(from: Place, segment?: number): Promise<void> {
    for (let place = from; ; ) {
      const page = await this.pageAt(place);
      if (!page || page.bytes.length === 0) return;
      if (segment !== undefined && page.to.segment !== segment) return;
      this.counts.unacknowledgedRecords += countLines(page.bytes);
      await this.report.unacknowledged?.(page.bytes);
      place = page.to;
    }
  }

  /** Records that the disk does not take are lost with the process, unless the log takes them. */
  private async reportUnwritten(): Promise<void> {
    const { report } = this;
    const { bytes, lines } = this.waiting.take();
    if (lines === 0) return;
    if (report.unacknowledged === undefined) report.dropped(lines);
    else {
      this.counts.unacknowledgedRecords += lines;
      await report.unacknowledged(Buffer.concat(bytes));
    }
  }

  /** The oldest files are not acknowledged, and the disk has other users, too. */
  private async giveUpOldest(): Promise<void> {
    while (!this.isClosed && this.state.full.length > this.fullMax) {
      const [oldest = 0] = this.state.full;
      await this.reportUnacknowledged({ segment: oldest, offset: 0 }, oldest);
      await this.removeBefore(oldest + 1);
    }
  }

  private oldest(): Place {
    return { segment: this.state.full[0] ?? this.state.active, offset: 0 };
  }

  private placeOf(cursor: string): Place | undefined {
    const [, identity, segment, offset] = /^([0-9a-f]{16})\.(\d{1,12})\.(\d{1,15})$/.exec(cursor) ?? [];
    if (identity !== this.state.identity) return undefined;
    const place = { segment: Number(segment), offset: Number(offset) };
    return this.isHere(place) ? place : undefined;
  }

  private isHere({ segment }: Place): boolean {
    return segment === this.state.active || this.state.full.includes(segment);
  }

  /** A cursor acknowledges all earlier files, but not the file it is in: the last answer may have been lost. */
  private async removeBefore(segment: number): Promise<void> {
    const done = this.state.full.filter((full) => full < segment);
    if (done.length === 0) return;
    this.state = { ...this.state, full: this.state.full.filter((full) => full >= segment) };
    for (const full of done) await removeSegment(this.folder, full);
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
    // Both at once: what ends while the group is written has ended in the next one.
    const group = this.waiting.take();
    const marks = this.openAttempts.take(this.clock.now());
    if (group.bytes.length > 0 && !(await this.writeRecords(group))) {
      this.openAttempts.failed();
      return;
    }
    if (marks) await this.writeMarks(marks);
    this.keepUpToDate();
    if (group.bytes.length > 0) for (const listener of this.listeners) listener();
  }

  /** False: they wait again. */
  private async writeRecords(group: ReturnType<LineQueue['take']>): Promise<boolean> {
    try {
      this.file ??= await this.openAtEnd();
      for (const bytes of group.bytes) await this.file.appendFile(bytes);
      group.done();
      this.written += group.bytes.reduce((sum, { length }) => sum + length, 0);
      this.progress.onWritten({ segment: this.state.active, offset: this.written }, group.lines);
      if (this.written >= this.segmentBytes) await this.startNext();
      this.givingUp ??= this.giveUpOldest().finally(() => {
        this.givingUp = undefined;
      });
      return true;
    } catch (error) {
      this.noteFailure(error);
      group.putBack(); // guard: journal-failed-group
      const dropped = this.waiting.keepLatest(waitingMax);
      this.progress.onDropped(dropped);
      if (dropped > 0) this.report.dropped(dropped);
      this.writeIn(retryMs);
      await this.file?.close().catch(() => {});
      this.file = undefined;
      return false;
    }
  }

  private async writeMarks(marks: Marks): Promise<void> {
    try {
      await this.openAttempts.write(marks);
    } catch (error) {
      this.noteFailure(error);
      this.writeIn(retryMs);
    }
  }

  /** Long attempts are written again and again, so that after a crash most of their tokens are counted. */
  private keepUpToDate(): void {
    if (this.cancelProgress || this.isClosed || !this.openAttempts.isLong) return;
    this.cancelProgress = this.clock.setTimer(progressMs, () => {
      this.cancelProgress = undefined;
      void this.flush();
    });
  }

  /** Cuts off what a failed group wrote after the last whole group: the group will be written again. */
  private async openAtEnd(): Promise<FileHandle> {
    if (!this.isOpen) {
      this.state = openJournalFolder(this.folder);
      this.written = this.state.bytes;
      this.isOpen = true;
    }
    const file = await open(segmentPath(this.folder, this.state.active, this.state.active), 'a', 0o600);
    try {
      const { size } = await file.stat();
      if (size > this.written) await file.truncate(this.written);
      else this.written = size;
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** If it fails, the file grows further, and the next group tries again. */
  private async startNext(): Promise<void> {
    this.isRenaming = true;
    try {
      await rotate(this.folder, this.state);
      const { identity, active, full } = this.state;
      this.state = { identity, active: active + 1, full: [...full, active], bytes: 0 };
      this.written = 0;
      const { file } = this;
      this.file = undefined;
      await file?.close();
    } catch (error) {
      this.noteFailure(error);
    } finally {
      this.renames++;
      this.isRenaming = false;
    }
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines++;
  return lines;
}
