// What does the operator export, and does its table say the same?

import { expect, test } from 'vitest';
import { exposed } from '../../core/telemetry/metric.ts';
import { operatorMetrics } from '../../operator/metric-table.ts';
import { createMetrics, type OperatorMetrics } from '../../operator/metrics.ts';
import { readings, usedMetrics } from './used-metrics.ts';

async function textOf(metrics: OperatorMetrics): Promise<string> {
  return await metrics.registry.metrics();
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

test('series of deleted objects are removed', async () => {
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
