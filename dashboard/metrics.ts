// What does the dashboard export? Every metric of the process, in one place.

import { collectDefaultMetrics, Registry } from 'prom-client';
import { addBuildInfo } from '../core/telemetry/build-info.ts';
import { addCounter, addGauge, addHistogram } from '../core/telemetry/prometheus.ts';
import type { Answered } from './answered.ts';
import { isStream, OUTCOMES, routeWord, signInOf, statusWord, WAYS } from './answered.ts';
import { dashboardMetrics as table } from './metric-table.ts';

export interface DashboardMetrics {
  readonly registry: Registry;
  onAnswered(answered: Answered): void;
  /** How many streams of updates are open is read there when metrics are. */
  readStreams(count: () => number): void;
}

export function createMetrics(): DashboardMetrics {
  const registry = new Registry();
  addBuildInfo(registry);
  collectDefaultMetrics({ register: registry });
  const requests = addCounter(registry, table.requests);
  const durations = addHistogram(registry, table.requestDuration);
  const signIns = addCounter(registry, table.signIns);
  const signOuts = addCounter(registry, table.signOuts);
  // The first of its kind is an increase, which what was not there before does not have.
  for (const way of WAYS) for (const outcome of OUTCOMES) signIns.inc({ way, outcome }, 0);
  let countStreams = (): number => 0;
  addGauge(registry, table.streams, (report) => report(countStreams()));

  return {
    registry,
    onAnswered(answered) {
      const route = routeWord(answered);
      requests.inc({ route, status: statusWord(answered) });
      if (!isStream(answered)) durations.observe({ route }, answered.durationMs / 1000);
      const signIn = signInOf(answered);
      if (signIn !== undefined) signIns.inc({ ...signIn });
      if (route === '/api/session' && answered.method === 'DELETE' && answered.status === 204) signOuts.inc();
    },
    readStreams(count) {
      countStreams = count;
    },
  };
}
