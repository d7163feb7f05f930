// What does a journal report besides records? Events after `append` has returned, and their counts.

/** Since the journal was opened. */
export interface JournalFigures {
  /** Of records that are there; each full file counts as full. */
  readonly bytes: number;
  readonly failedWrites: number;
  readonly replayedRecords: number;
  readonly damagedLines: number;
  readonly unclaimedRecords: number;
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
  /** So many attempts were in flight when an earlier process ended, and have estimated records now. */
  replayed?(records: number): void;
  /** So many lines were not as they had been written, and were set aside. */
  damaged?(lines: number): void;
  /** Records, as lines, that nobody has taken over and that will not be kept. It goes on when the promise resolves. */
  unclaimed?(lines: Buffer): Promise<void>;
  /** So many records are lost: the disk took none for too long. */
  dropped(records: number): void;
}
