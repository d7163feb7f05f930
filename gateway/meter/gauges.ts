// What of a running gateway is read when its metrics are?

import type { Registry } from 'prom-client';
import { exposed } from '../../core/telemetry/metric.ts';
import { addGauge } from '../../core/telemetry/prometheus.ts';
import type { TableOrigin } from '../table/sources/source.ts';
import { exportCount } from './hot-metrics.ts';
import type { JournalFigures } from './journal-report.ts';
import { gatewayMetrics as table } from './metric-table.ts';

const tableSources: readonly TableOrigin[] = ['api', 'copy', 'file'];

/** What is asked of the running process when metrics are read. */
export interface MetricReadings {
  tableGeneration(): number;
  requestsInFlight(): number;
  /** Undefined before the first table. */
  tableSource(): TableOrigin | undefined;
  /** Since the operator's last heartbeat; undefined for tables without an operator. */
  tableAgeSeconds(): number | undefined;
  /** Breakers that are not closed. */
  breakers(): readonly BreakerFacts[];
  /** Keys in cooldown. */
  coolingKeys(): readonly CoolingKeyFacts[];
  /** Undefined if no journal is kept. */
  journal?(): JournalFigures | undefined;
  /** Readings of the door; left out: no such metrics. */
  readonly load?: LoadReadings;
}

interface BreakerFacts {
  readonly provider: string;
  /** Absent: of the endpoint as a whole. */
  readonly upstreamModel?: string;
  readonly phase: string;
}

interface CoolingKeyFacts {
  readonly provider: string;
  /** Absent if the provider takes none. */
  readonly key?: string;
  /** Absent: the whole key is in cooldown. */
  readonly upstreamModel?: string;
  readonly reason: string;
  /** Remaining cooldown. */
  readonly forMs: number;
}

interface LoadReadings {
  /** 0 while nothing is in flight. */
  loopDelaySeconds(): number;
  bodyBytes(): number;
  /** Bytes of answers that clients have not taken yet. */
  answerBytes(): number;
  /** Heap in use, as a part of its limit. */
  heapShare(): number;
  inFlightMax(): number;
}

/** @param readyGateways From the operator's last report. */
export function addGauges(registry: Registry, readings: MetricReadings, readyGateways: () => number): void {
  addGauge(registry, table.tableGeneration, (report) => report(readings.tableGeneration()));
  addGauge(registry, table.requestsInFlight, (report) => report(readings.requestsInFlight()));
  addGauge(registry, table.tableSource, (report) => {
    for (const source of tableSources) report(readings.tableSource() === source ? 1 : 0, source);
  });
  addGauge(registry, table.configAge, (report) => {
    const ageSeconds = readings.tableAgeSeconds();
    if (ageSeconds !== undefined) report(ageSeconds);
  });
  addGauge(registry, table.breakerState, (report) => {
    for (const { provider, upstreamModel = '', phase } of readings.breakers()) {
      report(1, provider, upstreamModel, phase);
    }
  });
  addGauge(registry, table.keyCooldown, (report) => {
    for (const { provider, key = '', upstreamModel = '', reason, forMs } of readings.coolingKeys()) {
      report(forMs / 1000, provider, key, upstreamModel, reason);
    }
  });
  addGauge(registry, table.readyGateways, (report) => report(readyGateways()));
  addJournal(registry, () => readings.journal?.());
  const { load } = readings;
  if (!load) return;
  addGauge(registry, table.eventLoopDelay, (report) => report(load.loopDelaySeconds()));
  addGauge(registry, table.requestBodyBytes, (report) => report(load.bodyBytes()));
  addGauge(registry, table.heldBytes, (report) => report(load.answerBytes()));
  addGauge(registry, table.heapShare, (report) => report(load.heapShare()));
  addGauge(registry, table.requestsInFlightMax, (report) => report(load.inFlightMax()));
}

function addJournal(registry: Registry, figures: () => JournalFigures | undefined): void {
  addGauge(registry, table.journalBytes, (report) => report(figures()?.bytes ?? 0));
  const counts = [
    [table.journalWriteErrors, 'failedWrites'],
    [table.journalDamagedLines, 'damagedLines'],
    [table.ledgerRecordsReplayed, 'replayedRecords'],
    [table.ledgerRecordsUnacknowledged, 'unacknowledgedRecords'],
  ] as const;
  for (const [metric, figure] of counts)
    exportCount(registry, { ...exposed(metric), read: () => figures()?.[figure] ?? 0 });
}
