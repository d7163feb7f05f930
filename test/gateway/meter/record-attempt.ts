// An attempt of which the record is all there is: a journal takes records.

import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { Journal } from '../../../gateway/meter/journal.ts';
import { OpenAttempt } from '../../../gateway/meter/open-attempt.ts';

export class RecordAttempt extends OpenAttempt {
  readonly id: string;
  tell: () => LedgerRecord;

  constructor(id: string, tell: () => LedgerRecord) {
    super();
    this.id = id;
    this.tell = tell;
  }

  estimate(): string {
    return this.line();
  }

  line(): string {
    return JSON.stringify(this.tell());
  }

  record(): LedgerRecord {
    return this.tell();
  }
}

/** @param record Of an attempt that the journal has not heard from before. */
export const ended = (record: LedgerRecord): OpenAttempt => new RecordAttempt(record.id, () => record);

/** Attempts at a journal, by their ids. */
export function attemptsAt(journal: Pick<Journal, 'begin' | 'append'>) {
  const open = new Map<string, RecordAttempt>();
  const at = (id: string, tell: () => LedgerRecord): RecordAttempt => {
    const attempt = open.get(id) ?? new RecordAttempt(id, tell);
    open.set(id, attempt);
    attempt.tell = tell;
    return attempt;
  };
  return {
    begin: (id: string, tell: () => LedgerRecord) => journal.begin(at(id, tell)),
    append: (record: LedgerRecord) => journal.append(at(record.id, () => record)),
  };
}
