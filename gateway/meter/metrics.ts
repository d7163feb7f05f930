// What does a gateway count? Its requests, and what happens to its process.

import { collectDefaultMetrics } from 'prom-client';
import { type LookupMiss, lookupMisses } from '../../core/egress/lookup-lanes.ts';
import { addBuildInfo } from '../../core/telemetry/build-info.ts';
import { type ConnectionRefusal, connectionRefusals } from '../admission/connections.ts';
import { type ShedReason, shedReasons } from '../admission/judge-load.ts';
import { type LoadFailure, loadFailures } from '../table/load-error.ts';
import { addGauges, type MetricReadings } from './gauges.ts';
import { type MetricOptions, RequestMetrics } from './request-metrics.ts';

/** What OpenTelemetry calls the things that are sent. */
type TelemetrySignal = 'metrics' | 'traces' | 'logs';

export class Metrics extends RequestMetrics {
  private readyGateways = 0;

  constructor(readings: MetricReadings, options?: MetricOptions) {
    super(options);
    const { shed, connectionsRefused, tablesRefused, dnsLookupFailures, telemetryDropped } = this.counters;
    for (const reason of shedReasons) shed.add(0, reason);
    for (const reason of connectionRefusals) connectionsRefused.add(0, reason);
    for (const reason of loadFailures) tablesRefused.add(0, reason);
    for (const how of lookupMisses) dnsLookupFailures.add(0, how);
    // An alert sees only what grows, not what begins.
    for (const signal of ['traces', 'logs'])
      for (const reason of ['full', 'failed']) telemetryDropped.add(0, signal, reason);
    addBuildInfo(this.registry);
    addGauges(this.registry, readings, () => this.readyGateways);
    // A finer loop monitor would wake an idle process all the time.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 200 });
  }

  onLookupMiss(how: LookupMiss): void {
    this.counters.dnsLookupFailures.add(1, how);
  }

  onAuthenticationFailureLimited(): void {
    this.counters.authenticationFailuresLimited.add(1);
  }

  onShed(reason: ShedReason): void {
    this.counters.shed.add(1, reason);
  }

  onConnectionRefused(reason: ConnectionRefusal): void {
    this.counters.connectionsRefused.add(1, reason);
  }

  onTableRefused(reason: LoadFailure): void {
    this.counters.tablesRefused.add(1, reason);
  }

  onTableLoaded(loadMs: number): void {
    this.histograms.tableLoad.observe(loadMs / 1000);
  }

  onReadyGateways(count: number): void {
    this.readyGateways = count;
  }

  onLedgerDropped(records: number): void {
    this.counters.ledgerRecordsDropped.add(records);
  }

  /** Spans or events that were dropped. */
  onTelemetryDropped(signal: TelemetrySignal, reason: 'full' | 'failed', items: number): void {
    this.counters.telemetryDropped.add(items, signal, reason);
  }

  onTelemetryFailed(signal: TelemetrySignal): void {
    this.counters.telemetryFailures.add(1, signal);
  }
}
