// What does the ledger export? Every metric of the process, in one place.

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { PodLag } from './pull.ts';

/** What is asked of the running process when metrics are read. */
export interface LedgerReadings {
  lags(): Iterable<PodLag>;
}

export interface LedgerMetrics {
  readonly registry: Registry;
  onTaken(taken: {
    readonly added: number;
    readonly duplicates: number;
    readonly asides: number;
    readonly skipped: number;
  }): void;
  onPullFailed(): void;
  onPurged(records: number): void;
  onEventsSent(records: number): void;
  onEventsFailed(): void;
}

export function createMetrics({ lags }: LedgerReadings): LedgerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `penstock_ledger_${name}`, help, registers: [registry] });

  const records = counter('records_total', 'Records that were stored, each once.');
  const duplicates = counter('duplicates_total', 'Records that came again and were known.');
  const badLines = counter('bad_lines_total', 'Lines of journals that are no record that can be counted.');
  const skippedLines = counter('skipped_lines_total', 'Lines of journals of another kind than records.');
  const pullFailures = counter('pull_failures_total', 'Times that a journal could not be read, or stored.');
  const purged = counter('purged_records_total', 'Records that went because of their age.');
  const eventsSent = counter('events_sent_total', 'Records that the receiver of events has taken.');
  const eventsFailed = counter('events_failures_total', 'Batches of events that were not taken.');
  new Gauge({
    name: 'penstock_ledger_journals',
    help: 'Journals of gateway pods, by how reading them goes.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const counts = { read: 0, behind: 0, failing: 0 };
      for (const { lagMs, failure } of lags())
        counts[failure !== undefined ? 'failing' : lagMs > 0 ? 'behind' : 'read'] += 1;
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'penstock_ledger_lag_seconds',
    help: 'Since when the journal that is longest behind may hold records that are not stored.',
    registers: [registry],
    collect() {
      let longestMs = 0;
      for (const { lagMs } of lags()) longestMs = Math.max(longestMs, lagMs);
      this.set(longestMs / 1_000);
    },
  });

  return {
    registry,
    onTaken(taken) {
      records.inc(taken.added);
      duplicates.inc(taken.duplicates);
      badLines.inc(taken.asides);
      skippedLines.inc(taken.skipped);
    },
    onPullFailed: () => pullFailures.inc(),
    onPurged: (count) => purged.inc(count),
    onEventsSent: (count) => eventsSent.inc(count),
    onEventsFailed: () => eventsFailed.inc(),
  };
}
