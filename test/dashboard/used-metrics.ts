// The metrics of a dashboard of which each has a series.

import type { Answered } from '../../dashboard/answered.ts';
import { createMetrics, type DashboardMetrics } from '../../dashboard/metrics.ts';

export const answered = (more: Partial<Answered>): Answered => ({
  method: 'GET',
  route: '/api/namespaces',
  status: 200,
  location: undefined,
  durationMs: 40,
  ...more,
});

export function usedMetrics(): DashboardMetrics {
  const metrics = createMetrics();
  metrics.readStreams(() => 3);
  metrics.onAnswered(answered({}));
  metrics.onAnswered(answered({ status: 503 }));
  metrics.onAnswered(answered({ status: undefined }));
  metrics.onAnswered(answered({ route: '/assets/main-1a2b.js' }));
  metrics.onAnswered(answered({ route: undefined, status: 404 }));
  metrics.onAnswered(answered({ route: '/api/watch', durationMs: 600_000 }));
  metrics.onAnswered(answered({ method: 'POST', route: '/api/session', status: 401 }));
  metrics.onAnswered(answered({ method: 'DELETE', route: '/api/session', status: 204 }));
  metrics.onAnswered(answered({ method: 'DELETE', route: '/api/session', status: 401 }));
  return metrics;
}
