// An attempt as the journal knows it: in its sight from the beginning to the record.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';

export abstract class OpenAttempt {
  /** Its position in the list of open attempts; kept by the list. Below 0: in none. */
  place = -1;
  /** Clock time of its newest line beside the journal; undefined: what is known of it is not written yet. */
  writtenAt: number | undefined = undefined;
  hasLine = false;

  /** Of its record. */
  abstract get id(): string;
  /** The record that it would leave if the process ended now, as JSON. */
  abstract estimate(): string;
  /** Its record, as JSON; once it has ended. */
  abstract line(): string;
  /** The same as an object. */
  abstract record(): LedgerRecord;
}
