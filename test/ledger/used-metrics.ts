// The metrics of a ledger of which each has a series.

import { createMetrics, type LedgerMetrics } from '../../ledger/metrics.ts';

const pod = { uid: 'u', name: 'gateway', ip: '127.0.0.1', port: 1 };

export function usedMetrics(): LedgerMetrics {
  const metrics = createMetrics({
    lags: () => [
      { pod, lagMs: 0, failure: undefined },
      { pod, lagMs: 1_500, failure: undefined },
      { pod, lagMs: 90_000, failure: 'it does not answer' },
    ],
    isLeading: () => true,
    eventsUntakenMs: () => 1_200_500,
  });
  metrics.onTaken({ added: 5, duplicates: 4, asides: 3, skipped: 2 });
  metrics.onPullFailed();
  metrics.onPurged(6);
  metrics.onEventsSent(7);
  metrics.onEventsFailed();
  metrics.onEventLeftOut();
  return metrics;
}
