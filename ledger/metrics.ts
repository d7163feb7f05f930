// What does the ledger export? Every metric of the process, in one place.

import { collectDefaultMetrics, Registry } from 'prom-client';
import { addBuildInfo } from '../core/telemetry/build-info.ts';
import { addCounter, addGauge } from '../core/telemetry/prometheus.ts';
import { ledgerMetrics as table } from './metric-table.ts';
import type { PodLag } from './pull.ts';

/** What is asked of the running process when metrics are read. */
interface LedgerReadings {
  lags(): Iterable<PodLag>;
  isLeading(): boolean;
  /** For how long the receiver of events has taken nothing although there is something for it. */
  eventsUntakenMs(): number;
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
  onEventLeftOut(): void;
}

export function createMetrics({ lags, isLeading, eventsUntakenMs }: LedgerReadings): LedgerMetrics {
  const registry = new Registry();
  addBuildInfo(registry);
  collectDefaultMetrics({ register: registry });
  const records = addCounter(registry, table.records);
  const duplicates = addCounter(registry, table.duplicates);
  const badLines = addCounter(registry, table.badLines);
  const skippedLines = addCounter(registry, table.skippedLines);
  const pullFailures = addCounter(registry, table.pullFailures);
  const purged = addCounter(registry, table.purgedRecords);
  const eventsSent = addCounter(registry, table.eventsSent);
  const eventsFailed = addCounter(registry, table.eventsFailures);
  const eventsLeftOut = addCounter(registry, table.eventsLeftOut);
  addGauge(registry, table.journals, (report) => {
    const counts = { read: 0, behind: 0, failing: 0 };
    for (const { lagMs, failure } of lags())
      counts[failure !== undefined ? 'failing' : lagMs > 0 ? 'behind' : 'read'] += 1;
    for (const [state, count] of Object.entries(counts)) report(count, state);
  });
  addGauge(registry, table.lag, (report) => {
    let longestMs = 0;
    for (const { lagMs } of lags()) longestMs = Math.max(longestMs, lagMs);
    report(longestMs / 1_000);
  });
  addGauge(registry, table.leads, (report) => report(isLeading() ? 1 : 0));
  addGauge(registry, table.eventsUntaken, (report) => report(eventsUntakenMs() / 1_000));

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
    onEventLeftOut: () => eventsLeftOut.inc(),
  };
}
