// What does a gateway export of limits? How they are kept, whom they refused, and how the store of all pods is.

import { exposed } from '../../core/telemetry/metric.ts';
import { addGauge } from '../../core/telemetry/prometheus.ts';
import { HotCounter, HotHistogram, type Registry } from './hot-metrics.ts';
import { limitMetrics as table } from './limit-table.ts';

/** What is asked of the running process when metrics are read. */
interface LimitReadings {
  mode(): 'local' | 'store';
  /** Requests and attempts that hold a reservation now. */
  held(): number;
  /** Of what the ledger says was spent; while it says nothing, since it was needed first; undefined if no request has needed it. */
  sumsAgeMs(): number | undefined;
}

const modes = ['local', 'store'] as const;

export class LimitMetrics {
  private readonly limited: HotCounter<string>;
  private readonly calls: HotHistogram<string>;
  private readonly failures: HotCounter<string>;

  constructor(registry: Registry, readings: LimitReadings) {
    this.limited = new HotCounter(registry, exposed(table.limited));
    this.calls = new HotHistogram(registry, exposed(table.limitsStore));
    this.failures = new HotCounter(registry, exposed(table.limitsStoreFailures));
    for (const reason of ['timeout', 'error']) this.failures.add(0, reason);
    addGauge(registry, table.limitsMode, (report) => {
      for (const mode of modes) report(readings.mode() === mode ? 1 : 0, mode);
    });
    addGauge(registry, table.limitsHeld, (report) => report(readings.held()));
    addGauge(registry, table.budgetSumsAge, (report) => {
      const ageMs = readings.sumsAgeMs();
      if (ageMs !== undefined) report(ageMs / 1_000);
    });
  }

  /** Both are of a few fixed words. */
  onLimited(subject: string, limit: string): void {
    this.limited.add(1, subject.replaceAll('-', '_'), limit);
  }

  onCall(durationMs: number): void {
    this.calls.observe(durationMs / 1_000);
  }

  onFailure(reason: string): void {
    this.failures.add(1, reason);
  }
}
