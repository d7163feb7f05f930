// What does a gateway measure of its journal? Rows of the table in metric-table.ts.

import type { MetricTable } from '../../core/telemetry/metric.ts';

export const journalMetrics = {
  ledgerRecordsReplayed: {
    name: 'penstock.ledger_records_replayed',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Ledger records of attempts that were in flight when an earlier process ended.',
    meaning:
      'Ledger records written at the start for attempts that were in flight when an earlier process ended, with the usage seen until then. Each increase is a killed gateway.',
  },
  ledgerRecordsUnacknowledged: {
    name: 'penstock.ledger_records_unclaimed',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Ledger records written to the log because the ledger had not acknowledged them.',
    meaning:
      'Ledger records written to the log because the ledger had not acknowledged them: the journal was full, or the pod ended after a wait of 10 s, or its disk failed until it ended. Alert on any increase: complete the bill from the log.',
  },
  journalBytes: {
    name: 'penstock.journal',
    type: 'gauge',
    unit: 'By',
    labels: [],
    help: 'Bytes of journal records that the ledger has not acknowledged; full files count as full.',
    meaning:
      'Bytes of journal records of this pod that the ledger has not acknowledged. A full file of 16 MiB counts until all of it is acknowledged. Alert on steady growth.',
  },
  journalWriteErrors: {
    name: 'penstock.journal_write_errors',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Failed writes to the journal; each is retried.',
    meaning:
      'Failed writes to the journal: the disk is full or broken. Requests go on; up to 100,000 records wait in memory for the next successful write. Alert on any increase.',
  },
  journalDamagedLines: {
    name: 'penstock.journal_damaged_lines',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Quarantined journal lines with a wrong checksum.',
    meaning:
      'Journal lines with a wrong checksum. They are quarantined in `damaged.jsonl` and not billed. Alert on any increase: check the disk.',
  },
} satisfies MetricTable;
