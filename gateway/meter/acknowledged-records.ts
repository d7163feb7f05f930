// How many of the records of this process has the ledger acknowledged? Cursors are places in files; limits and budgets count records.

import type { Place } from './quarantine.ts';

interface Mark {
  /** Behind a group. */
  readonly place: Place;
  /** Records of this process up to there. */
  readonly records: number;
}

/** Most that are kept without an acknowledgement: some 100 s of a busy pod. */
const marksMax = 1_000;

export class AcknowledgedRecords {
  private appendedCount = 0;
  private passed = 0;
  private takenCount = -1;
  private marks: Mark[] = [];

  /** @param start Behind what an earlier process left. */
  constructor(start: Place, isEmpty: boolean) {
    if (isEmpty) this.takenCount = 0;
    else this.marks.push({ place: start, records: 0 });
  }

  appended(): number {
    return this.appendedCount;
  }

  /** How many, from the first on; below 0 while records of an earlier process are open. Dropped records count: no ledger will read them. */
  taken(): number {
    return this.takenCount;
  }

  onAppended(): void {
    this.appendedCount++;
  }

  onDropped(records: number): void {
    this.passed += records;
  }

  /** Of positions; bounded, even without any acknowledgement. */
  get size(): number {
    return this.marks.length;
  }

  /** A group that ends at the place. */
  onWritten(place: Place, records: number): void {
    this.passed += records;
    // The last two become one: its records count as taken later than they were, never earlier.
    if (this.marks.length === marksMax) this.marks.pop();
    this.marks.push({ place, records: this.passed });
  }

  /** All up to the place. */
  onTaken(place: Place): void {
    const open = this.marks.findIndex((mark) => isBefore(place, mark.place));
    const reached = this.marks.splice(0, open === -1 ? this.marks.length : open);
    this.takenCount = Math.max(this.takenCount, reached.at(-1)?.records ?? this.takenCount);
  }
}

function isBefore(a: Place, b: Place): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}
