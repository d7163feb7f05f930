// Which valid objects are in the table in an earlier form? Their condition Programmed reports why the present form waits.

/** Wait of one object, for its condition Programmed. */
export interface Wait {
  readonly status: 'False' | 'Unknown';
  readonly reason: 'Pending' | 'Pinned';
  readonly message: string;
}

/** By `Kind/namespace/name`. */
export type Waits = ReadonlyMap<string, Wait>;
