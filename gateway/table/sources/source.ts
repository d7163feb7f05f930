// Where do new tables come from? A source keeps the holder up to date until it is closed.

export interface TableSource {
  /** Resolves when the first table has been taken or refused. */
  readonly started: Promise<void>;
  close(): void;
}

/** What a source tells the process about; the message is fit for the log. */
export interface SourceReport {
  taken(generation: number): void;
  /** The last good table stays in use. */
  refused(reason: string): void;
}
