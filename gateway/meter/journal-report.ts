// What does a journal report besides records? Events after `append` has returned, and their counts.

/** Since the journal was opened. */
export interface JournalFigures {
  /** Bytes of stored records; each full file counts as full. */
  readonly bytes: number;
  readonly failedWrites: number;
  readonly replayedRecords: number;
  readonly damagedLines: number;
  readonly unacknowledgedRecords: number;
}

export interface JournalBounds {
  /** A file that has grown to this is full. */
  readonly segmentBytes: number;
  /** Above it the oldest full files are given up. */
  readonly folderBytesMax: number;
}

/** Events after `append` has returned. Methods may be called while the journal is being opened. */
export interface JournalReport {
  /** Records are kept in memory and written at the next chance. */
  failed(reason: string): void;
  /** The number of attempts that were in flight when an earlier process ended; each has an estimated record now. */
  replayed?(records: number): void;
  /** The number of lines that were damaged and put into quarantine. */
  damaged?(lines: number): void;
  /** Unacknowledged records, as lines, that will not be kept. The journal continues when the promise resolves. */
  unacknowledged?(lines: Buffer): Promise<void>;
  /** The number of lost records: the disk took no writes for too long. */
  dropped(records: number): void;
}
