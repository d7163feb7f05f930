// What does a gateway measure of its journal? Rows of the table in metric-table.ts.

import type { MetricTable } from '../../core/telemetry/metric.ts';

export const journalMetrics = {
  ledgerRecordsReplayed: {
    name: 'penstock.ledger_records_replayed',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records of attempts under way when an earlier process ended.',
    meaning:
      'Records that were made at the start for attempts under way when an earlier process ended, with what had been seen of them. Any increase is a gateway that was killed.',
  },
  ledgerRecordsUnclaimed: {
    name: 'penstock.ledger_records_unclaimed',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records written to the log: nobody had taken them over.',
    meaning:
      'Records written to the log, because nobody had taken them over: the journal was full, or the pod ended and waited 10 s for it, or its disk did not take them until it ended. Alert on any increase: the bill has to be completed from the log.',
  },
  journalBytes: {
    name: 'penstock.journal',
    type: 'gauge',
    unit: 'By',
    labels: [],
    help: 'Ledger records in the journal that nobody has taken over yet; full files count as full.',
    meaning:
      'Bytes of records in the journal of this pod that nobody has taken over yet; a full file of 16 MiB counts until all of it is taken over. Alert where it grows for long.',
  },
  journalWriteErrors: {
    name: 'penstock.journal_write_errors',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Writes to the journal that failed; they are tried again.',
    meaning:
      'Writes to the journal that failed: the disk is full or takes nothing. Requests go on, 100,000 records wait in memory and are written when it takes them again. Alert on any increase.',
  },
  journalDamagedLines: {
    name: 'penstock.journal_damaged_lines',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Lines of the journal set aside: their checksums do not fit.',
    meaning:
      'Lines of the journal whose checksum does not fit. They are set aside in `damaged.jsonl` and not billed. Alert on any increase: look at the disk.',
  },
} satisfies MetricTable;
