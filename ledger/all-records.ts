// Every record of a period, one after the other, without holding them all.

import { type LedgerRecord, ledgerRecordSchema } from '../core/contract/ledger-record.ts';
import type { LedgerStore, RecordsQuery } from './store/store.ts';

interface WholeRecord {
  readonly line: string;
  readonly record: LedgerRecord;
}

const pageRecords = 500;

export async function* allRecords(
  store: Pick<LedgerStore, 'records'>,
  query: Omit<RecordsQuery, 'after' | 'limit'>,
): AsyncGenerator<WholeRecord> {
  for (let after = 0; ; ) {
    const page = await store.records({ ...query, after, limit: pageRecords });
    for (const { line } of page) yield { line, record: ledgerRecordSchema.parse(JSON.parse(line)) };
    const last = page.at(-1);
    if (last === undefined || page.length < pageRecords) return;
    after = last.sequence;
  }
}
