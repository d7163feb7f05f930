// What does the ledger measure? One row for each metric.

import type { MetricTable } from '../core/telemetry/metric.ts';

export const ledgerMetrics = {
  records: {
    name: 'penstock.ledger.records',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records that were stored, each once.',
    meaning: 'Records that were stored, each once.',
  },
  duplicates: {
    name: 'penstock.ledger.duplicates',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records that came again and were known.',
    meaning: 'Records that came again and were known, as after a restart. They change nothing.',
  },
  badLines: {
    name: 'penstock.ledger.bad_lines',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Lines of journals that are no record that can be counted.',
    meaning:
      'Lines of journals that are no record that can be counted; they are put aside, and the log says why. Alert on any increase: usage may be missing from the bill.',
  },
  skippedLines: {
    name: 'penstock.ledger.skipped_lines',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Lines of journals of another kind than records.',
    meaning: 'Lines of journals of another kind than records.',
  },
  journals: {
    name: 'penstock.ledger.journals',
    type: 'gauge',
    unit: '',
    labels: ['state'],
    help: 'Journals of gateway pods, by how reading them goes.',
    meaning: 'Journals of gateway pods: all `read`, `behind`, or `failing` to be read or stored.',
  },
  lag: {
    name: 'penstock.ledger.lag',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Since when the journal that is longest behind may hold records that are not stored.',
    meaning:
      'Since when the journal that is longest behind may hold records that are not stored. Alert above a minute: budgets do not hear of them yet, and a pod that goes takes them along.',
  },
  leads: {
    name: 'penstock.ledger.leads',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Whether this process takes records off the gateways.',
    meaning:
      'Whether this process takes records off the gateways: 1, or 0 where another one does and this one stands by. Alert where none has 1.',
  },
  pullFailures: {
    name: 'penstock.ledger.pull_failures',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Times that a journal could not be read, or stored.',
    meaning: 'Times that a journal could not be read, or stored; it is tried again.',
  },
  purgedRecords: {
    name: 'penstock.ledger.purged_records',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records that went because of their age.',
    meaning: 'Records that went because of their age; their sums by day stay.',
  },
  eventsSent: {
    name: 'penstock.ledger.events_sent',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records that the receiver of events has taken.',
    meaning: 'Records that the receiver of events has taken.',
  },
  eventsFailures: {
    name: 'penstock.ledger.events_failures',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Batches of events that were not taken.',
    meaning: 'Batches of events that were not taken, and are sent again.',
  },
  eventsUntaken: {
    name: 'penstock.ledger.events_untaken',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'For how long the receiver of events has taken none although there are some for it.',
    meaning:
      'For how long the receiver of events has taken none although there are some for it; 0 where it takes what comes. Alert above a quarter of an hour: it answers nothing, refuses them, or asks to wait.',
  },
  eventsLeftOut: {
    name: 'penstock.ledger.events_left_out',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Records that were too large for the receiver of events even alone.',
    meaning:
      'Records that were too large for the receiver of events even alone, and were left out; they are in the ledger for as long as others, and the log has their ids. Alert on any increase: it does not know of them.',
  },
} satisfies MetricTable;
