// What does a gateway export of limits? How they are kept, whom they refused, and how the store of all pods is.

import { Gauge } from 'prom-client';
import { HotCounter, HotHistogram, type Registry } from './hot-metrics.ts';

/** What is asked of the running process when metrics are read. */
export interface LimitReadings {
  mode(): 'local' | 'store';
  /** Requests and attempts that hold a reservation now. */
  held(): number;
}

const modes = ['local', 'store'] as const;

/** Seconds. A call has 25 ms. */
const callBounds = [0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032];

export class LimitMetrics {
  private readonly limited: HotCounter<'subject' | 'limit'>;
  private readonly calls: HotHistogram<never>;
  private readonly failures: HotCounter<'reason'>;

  constructor(registry: Registry, readings: LimitReadings) {
    this.limited = new HotCounter(registry, {
      name: 'penstock_limited_total',
      help: 'Requests refused, and attempts passed over, because a limit was reached, by whose and which limit it is.',
      labels: ['subject', 'limit'],
    });
    this.calls = new HotHistogram(registry, {
      name: 'penstock_limits_store_seconds',
      help: 'Calls to the store of limits that were answered in time.',
      labels: [],
      bounds: callBounds,
    });
    this.failures = new HotCounter(registry, {
      name: 'penstock_limits_store_failures_total',
      help: 'Calls to the store of limits that failed, or were not answered within 25 ms, by reason.',
      labels: ['reason'],
    });
    for (const reason of ['timeout', 'error']) this.failures.add(0, reason);
    new Gauge({
      name: 'penstock_limits_mode',
      help: 'How limits are kept: 1 for local (each pod its share) or for store (all pods together).',
      labelNames: ['mode'],
      registers: [registry],
      collect() {
        for (const mode of modes) this.set({ mode }, readings.mode() === mode ? 1 : 0);
      },
    });
    new Gauge({
      name: 'penstock_limits_held',
      help: 'Reservations of requests and attempts under way, at the limits of this pod or of the store.',
      registers: [registry],
      collect() {
        this.set(readings.held());
      },
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
