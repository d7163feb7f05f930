// What does the ledger measure? One row for each metric.

import { buildInfo } from '../core/telemetry/build-info.ts';
import type { MetricTable } from '../core/telemetry/metric.ts';

export const ledgerMetrics = {
  records: {
    name: 'penstock.ledger.records',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records stored, each once.',
    meaning: 'Records stored, each once.',
  },
  duplicates: {
    name: 'penstock.ledger.duplicates',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Duplicate records, ignored.',
    meaning: 'Duplicate records, as after a restart. They change nothing.',
  },
  badLines: {
    name: 'penstock.ledger.bad_lines',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Journal lines that are not a valid record.',
    meaning:
      'Journal lines that are not a valid record. They are quarantined, and the log has the reason. Alert on any increase: usage may be missing from the bill.',
  },
  skippedLines: {
    name: 'penstock.ledger.skipped_lines',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Journal lines of an unknown kind, skipped.',
    meaning: 'Journal lines of an unknown kind, skipped.',
  },
  journals: {
    name: 'penstock.ledger.journals',
    type: 'gauge',
    unit: '',
    labels: ['state'],
    help: 'Journals of gateway pods, by state (read, behind, failing).',
    meaning:
      'Journals of gateway pods, by state: `read` (up to date), `behind`, or `failing` (not readable or not stored).',
  },
  lag: {
    name: 'penstock.ledger.lag',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Age of the oldest journal records that may not be stored yet.',
    meaning:
      'Age of the oldest journal records that may not be stored yet. Alert above 1 minute: budgets do not include them yet, and they are lost with a pod that is deleted.',
  },
  leads: {
    name: 'penstock.ledger.leads',
    type: 'gauge',
    unit: '',
    labels: [],
    help: '1 if this process is the leader and reads the journals, 0 if it is a standby.',
    meaning:
      'Is 1 if this process is the leader and reads the journals, 0 if it is a standby. Alert when no process has 1.',
  },
  pullFailures: {
    name: 'penstock.ledger.pull_failures',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Failed reads or writes of journal pages.',
    meaning: 'Failed reads or writes of journal pages; each is retried.',
  },
  purgedRecords: {
    name: 'penstock.ledger.purged_records',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records purged because of their age.',
    meaning: 'Records purged because of their age; their daily sums stay.',
  },
  eventsSent: {
    name: 'penstock.ledger.events_sent',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records acknowledged by the event receiver.',
    meaning: 'Records acknowledged by the event receiver.',
  },
  eventsFailures: {
    name: 'penstock.ledger.events_failures',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Failed batches of events.',
    meaning: 'Failed batches of events; each is retried.',
  },
  eventsUntaken: {
    name: 'penstock.ledger.events_untaken',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Seconds without an acknowledgement of the event receiver while events wait.',
    meaning:
      'Seconds without an acknowledgement of the event receiver while events wait; 0 otherwise. Alert above 15 minutes: the receiver does not answer, rejects the events, or asks for a delay.',
  },
  eventsLeftOut: {
    name: 'penstock.ledger.events_left_out',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records too large for the event receiver, skipped.',
    meaning:
      'Records too large for the event receiver, skipped. They stay in the ledger, and the log has their ids. Alert on any increase: the receiver misses them.',
  },
  buildInfo,
} satisfies MetricTable;
