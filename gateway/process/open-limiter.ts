// What keeps the limits of this gateway: its own share or a common store, and the ledger that says what was spent?

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { Limiter } from '../limits/limiter.ts';
import { openStore } from '../limits/store.ts';
import { LimitMetrics } from '../meter/limit-metrics.ts';
import type { Metrics } from '../meter/metrics.ts';
import type { GatewayOptions } from './options.ts';

interface Parts {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Ready gateway pods; 0 while that is not known. */
  readyPods(): number;
}

export async function openLimiter(options: GatewayOptions, parts: Parts): Promise<Limiter> {
  const { askSpend, journal, limits = {} } = options;
  const { store, callBudgetMs, onStoreError = 'LocalShare', gateways = 1 } = limits;
  const metrics = new LimitMetrics(parts.metrics.registry, {
    mode: () => limiter.mode,
    held: () => limiter.heldCount,
    sumsAgeMs: () => limiter.sumsAgeMs,
  });
  const ledger = askSpend &&
    journal.progress && {
      ask: askSpend,
      progress: journal.progress,
      onTurn: (isHeard: boolean, error?: unknown) => options.onLedger?.(isHeard, error),
    };
  const limiter = new Limiter({
    clock: parts.clock,
    name: randomUUID(),
    pods: () => parts.readyPods() || gateways,
    store: store && (await openStore(store)),
    callBudgetMs,
    onStoreError,
    ledger,
    events: {
      onLimited: (subject, limit) => metrics.onLimited(subject, limit),
      onCall: (durationMs) => metrics.onCall(durationMs),
      onFailure: (reason) => metrics.onFailure(reason),
      onTurn: (isInUse, why) => options.onLimitStore?.(isInUse, why),
    },
  });
  return limiter;
}
