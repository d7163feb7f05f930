// What does a line of a journal look like? As a gateway writes it; a test shows only what differs.

import { type LedgerRecord, ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import type { Entry } from '../../ledger/store/store.ts';
import { makeRecord } from '../gateway/meter/make-facts.ts';

export function makeLine(more: Partial<LedgerRecord> = {}): string {
  return JSON.stringify({ ...makeRecord(), ...more });
}

export function makeEntry(more: Partial<LedgerRecord> = {}): Entry {
  const line = makeLine(more);
  return { line, record: ledgerRecordSchema.parse(JSON.parse(line)) };
}
