// What does the operator export, and does its table say the same?

import { expect, test } from 'vitest';
import { createQueue } from '../../operator/loop.ts';
import { operatorMetrics } from '../../operator/metric-table.ts';
import { createMetrics, type OperatorMetrics, type OperatorReadings } from '../../operator/metrics.ts';
import { exposed } from '../../telemetry/metric.ts';
import { makeClock, settle } from './clock.ts';

const readings: OperatorReadings = {
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

/** Every metric that there is, with at least one series. */
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

async function textOf(metrics: OperatorMetrics): Promise<string> {
  return await metrics.registry.metrics();
}

async function usedMetrics(): Promise<OperatorMetrics> {
  const metrics = createMetrics(readings);
  await useAll(metrics);
  return metrics;
}

test.each([
  'leader_election_master_status{name="operator"} 1',
  'penstock_operator_table_generation 481',
  'penstock_operator_objects{kind="ApiKey",ready="True"} 4',
  'penstock_operator_objects{kind="ApiKey",ready="False"} 1',
  'penstock_operator_conditions{kind="ApiKey",condition="Issued",status="True"} 4',
  'penstock_operator_relists_total{watch="ApiKey"} 2',
  'controller_runtime_reconcile_panics_total{controller="publish"} 0',
  'penstock_operator_gateway_pods{lag="0"} 2',
  'penstock_operator_spend_age_seconds 2.5',
  'penstock_operator_exhausted_keys 3',
  'penstock_operator_gateway_pods{lag="1"} 1',
  'penstock_operator_gateway_pods{lag="2-10"} 1',
  'penstock_operator_gateway_pods{lag="more"} 1',
  'penstock_operator_gateway_pods{lag="unknown"} 1',
  'penstock_operator_held_absences{kind="ApiKey"} 30',
  'penstock_operator_drill_passed{route="team/m"} 1',
  'penstock_operator_drill_takeover_seconds{route="team/m"} 0.012',
  'penstock_operator_drill_last_run_timestamp_seconds{route="team/m"} 30.5',
  'penstock_operator_drill_due_timestamp_seconds{route="team/m"} 90',
  'penstock_operator_drill_due_timestamp_seconds{route="team/n"} 60',
  'penstock_operator_watch_idle_seconds{watch="ApiKey"} 1.5',
  'penstock_operator_publish_duration_seconds_sum 0.12',
  'penstock_operator_publish_failures_total{reason="conflict"} 1',
  'penstock_operator_shards_written_total 3',
  'penstock_operator_shard_bytes_written_total 9000',
  'penstock_operator_tables_rejected_total 1',
  'penstock_operator_watch_restarts_total{watch="ApiKey",reason="Expired"} 1',
  'penstock_operator_events_total{result="written"} 1',
  'penstock_operator_health_checks_total{result="fails"} 1',
  'penstock_operator_unreadable_namespaces 1',
  'penstock_operator_crd_mismatch{crd="providers.penstock.dev"} 1',
  'penstock_operator_crd_mismatch{crd="apikeys.penstock.dev"} 0',
  'workqueue_adds_total{name="publish"} 1',
  'workqueue_retries_total{name="publish"} 1',
  'workqueue_depth{name="publish"} 0',
  'controller_runtime_reconcile_total{controller="publish",result="error"} 1',
  'controller_runtime_reconcile_errors_total{controller="publish"} 1',
  'controller_runtime_max_concurrent_reconciles{controller="publish"} 1',
  'rest_client_requests_total{code="2xx",method="GET",host="api"} 1',
  'rest_client_request_duration_seconds_sum{verb="GET",host="api"} 0.02',
  'rest_client_rate_limiter_duration_seconds_sum{verb="GET",host="api"} 0.02',
])('%s', async (line) => {
  expect((await textOf(await usedMetrics())).split('\n')).toContain(line);
});

test('what is gone leaves the figures', async () => {
  let objects: { kind: 'ApiKey'; ready: 'False'; count: number }[] = [
    { kind: 'ApiKey', ready: 'False', count: 1 },
  ];
  const metrics = createMetrics({ ...readings, objects: () => objects });
  expect(await textOf(metrics)).toContain('penstock_operator_objects{');
  objects = [];
  expect(await textOf(metrics)).not.toContain('penstock_operator_objects{');
});

test('the table has a row for every metric of the operator, with its type and labels, and no other', async () => {
  interface Row {
    readonly name: string;
    readonly type: string;
    readonly labels: readonly string[];
  }
  const byName = (a: Row, b: Row): number => a.name.localeCompare(b.name);
  const text = await textOf(await usedMetrics());
  // A histogram's labels are those of its count.
  const exported = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']): Row => {
    const series = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, 'm').exec(text)?.[1] ?? '';
    const labels = [...series.matchAll(/(\w+)="/g)].map(([, label = '']) => label).toSorted();
    return { name, type, labels };
  });
  const rows = Object.values(operatorMetrics).map((metric): Row => {
    const { name, labels } = exposed(metric);
    return { name, type: metric.type, labels: labels.toSorted() };
  });
  const ours = exported.filter(({ name }) => !/^(process|nodejs)_/.test(name));
  expect(ours.toSorted(byName)).toEqual(rows.toSorted(byName));
});
