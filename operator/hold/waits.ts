// Which objects does the table carry in another form than they have now, although nothing is wrong with them? What keeps the
// present form waiting is told in their condition Programmed.

/** Of one object: what its condition Programmed says. */
export interface Wait {
  readonly status: 'False' | 'Unknown';
  readonly reason: 'Pending' | 'Pinned';
  readonly message: string;
}

/** By `Kind/namespace/name`. */
export type Waits = ReadonlyMap<string, Wait>;
