// What of an operator arrives at a collector? The metrics of its table, as they are pulled, and nothing else.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { exposed, type Metric } from '../../../core/telemetry/metric.ts';
import { operatorMetrics } from '../../../operator/metric-table.ts';
import { expectArrived, expectPulled, unknownOf } from '../../core/telemetry/reported-rows.ts';
import { type ArrivedMetric, type Collector, startCollector } from '../../support/collector/collector.ts';
import { buildWaitMs } from '../../support/go-build.ts';
import { type ReadFamily, readPrometheusText } from '../../support/prometheus-text.ts';
import { until } from '../../support/until.ts';
import { useInstallation } from './installation.ts';

const lastCounted = exposed(operatorMetrics.controllerRuntimeReconcileTime).name;

const installation = useInstallation({ operators: 0, gateways: 0, namespaces: [] });
let collector: Collector;
let pulled: readonly ReadFamily[];
let arrived: readonly ArrivedMetric[];

beforeAll(async () => {
  collector = await startCollector();
  const operator = await installation().startOperator({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_METRIC_EXPORT_INTERVAL: '200',
  });
  await operator.process.line(/table published/);
  // Work is counted a moment after it is done.
  pulled = await until(async () => {
    const families = await readPrometheusText(await (await fetch(`${operator.metricsUrl}/metrics`)).text());
    return families.some(({ name, samples }) => name === lastCounted && samples.length > 0) && families;
  });
  const pulledMs = Date.now();
  // What was pulled was there when the next one is read.
  arrived = await until(async () => {
    const metrics = await collector.metrics();
    return (
      metrics.some(({ gauge }) => gauge?.dataPoints.some((point) => readMs(point) > pulledMs)) && metrics
    );
  });
  // The collector is built once: two minutes of two cores.
}, buildWaitMs);

afterAll(() => collector?.close());

function readMs({ timeUnixNano }: Readonly<Record<string, unknown>>): number {
  return Number(timeUnixNano) / 1e6;
}

/** What this operator does not come to: nothing fails, no pod, object, drill or ledger is there. All rows: test/core/telemetry/other-tables.test.ts. */
const absent = new Set<string>([
  operatorMetrics.publishFailures.name,
  operatorMetrics.objects.name,
  operatorMetrics.conditions.name,
  operatorMetrics.heldAbsences.name,
  operatorMetrics.spendAge.name,
  operatorMetrics.exhaustedKeys.name,
  operatorMetrics.drillPassed.name,
  operatorMetrics.drillTakeover.name,
  operatorMetrics.drillLastRunTimestamp.name,
  operatorMetrics.drillDueTimestamp.name,
  operatorMetrics.healthChecks.name,
  operatorMetrics.events.name,
  operatorMetrics.watchRestarts.name,
]);
const rows: readonly Metric[] = Object.values(operatorMetrics).filter(({ name }) => !absent.has(name));

test.each(rows.map((row) => [row.name, row] as const))('%s is scraped, and arrives', (_, row) => {
  expectPulled(pulled, row);
  expectArrived(arrived, row);
});

test('only metrics of its table and of Node.js arrive', () => {
  expect(unknownOf(operatorMetrics, arrived, pulled)).toEqual([]);
});

test('the operator names itself, and sends neither traces nor events', async () => {
  const resources = await collector.resources();
  expect(resources.length).toBeGreaterThan(0);
  for (const resource of resources) expect(resource).toMatchObject({ 'service.name': 'penstock-operator' });
  expect(await Promise.all([collector.spans(), collector.events()])).toEqual([[], []]);
});
