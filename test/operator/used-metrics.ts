// The metrics of an operator of which each has a series.

import { createQueue } from '../../operator/loop.ts';
import { createMetrics, type OperatorMetrics, type OperatorReadings } from '../../operator/metrics.ts';
import { makeClock, settle } from './clock.ts';

export const readings: OperatorReadings = {
  isLeader: () => true,
  tableGeneration: () => 481,
  objects: () => [
    { kind: 'ApiKey', ready: 'True', count: 4 },
    { kind: 'ApiKey', ready: 'False', count: 1 },
  ],
  conditions: () => [{ kind: 'ApiKey', condition: 'Issued', status: 'True', count: 4 }],
  relists: () => [{ watch: 'ApiKey', count: 2 }],
  podLags: () => [0, 0, 1, 7, 11, undefined],
  heldAbsences: () => [{ kind: 'ApiKey', count: 30 }],
  heldForms: () => [{ kind: 'Provider', count: 2 }],
  isPinned: () => true,
  certificatesFail: () => true,
  drills: () => [
    { route: 'team/m', dueMs: 90_000, lastRunMs: 30_500, isPassed: true, takeoverMs: 12 },
    { route: 'team/n', dueMs: 60_000 },
  ],
  spend: () => ({ newsAgeMs: 2_500, exhaustedKeys: 3 }),
  unreadableNamespaces: () => 1,
  watchIdle: () => [{ watch: 'ApiKey', idleMs: 1_500 }],
  crdMismatches: () => [
    { crd: 'providers.penstock.dev', isOther: true },
    { crd: 'apikeys.penstock.dev', isOther: false },
  ],
};

async function useAll(metrics: OperatorMetrics): Promise<void> {
  const clock = makeClock();
  const queue = createQueue({
    name: 'publish',
    workers: 1,
    clock,
    random: () => 0,
    run: () => Promise.reject(new Error('no')),
    onError() {},
    metrics: metrics.queues,
  });
  queue.add('table');
  await settle();
  await queue.close();
  metrics.calls.waited('GET', 'api', 20);
  metrics.calls.ended('GET', 'api', '2xx', 20);
  metrics.onPublished({ durationMs: 120, shardsWritten: 3, bytesWritten: 9_000 });
  metrics.onPublishFailed('conflict');
  metrics.onTableRejected();
  metrics.onWatchRestart('ApiKey', 'Expired');
  metrics.onEvent('written');
  metrics.onHealthCheck('fails');
}

export async function usedMetrics(): Promise<OperatorMetrics> {
  const metrics = createMetrics(readings);
  await useAll(metrics);
  return metrics;
}
