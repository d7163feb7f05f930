// What of an operator arrives at a collector? The metrics of its table, as they are pulled, and nothing else.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { operatorMetrics } from '../../../operator/metric-table.ts';
import { exposed, type Metric } from '../../../telemetry/metric.ts';
import { type ArrivedMetric, type Collector, startCollector } from '../../support/collector/collector.ts';
import { type ReadFamily, readPrometheusText } from '../../support/prometheus-text.ts';
import { until } from '../../support/until.ts';
import { useInstallation } from './installation.ts';

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
  pulled = await readPrometheusText(await (await fetch(`${operator.metricsUrl}/metrics`)).text());
  const pulledMs = Date.now();
  // What was pulled was there when the next one is read.
  arrived = await until(async () => {
    const metrics = await collector.metrics();
    return (
      metrics.some(({ gauge }) => gauge?.dataPoints.some((point) => readMs(point) > pulledMs)) && metrics
    );
  });
  // The collector is built once: two minutes of two cores.
}, 20 * 60_000);

afterAll(() => collector?.close());

function readMs({ timeUnixNano }: Readonly<Record<string, unknown>>): number {
  return Number(timeUnixNano) / 1e6;
}

const rows: readonly Metric[] = Object.values(operatorMetrics);

test('every metric that is pulled and has a series arrives, under the name and labels of its row', () => {
  const expected = rows.filter((row) =>
    pulled.some(({ name, samples }) => {
      const own = exposed(row).name;
      return (name === own || `${name}_total` === own) && samples.length > 0;
    }),
  );
  expect(expected.length).toBeGreaterThan(10);
  for (const row of expected) {
    const metric = arrived.find(({ name }) => name === row.name);
    expect(metric, row.name).toMatchObject({ unit: row.unit, description: row.help });
    const data = { counter: metric?.sum, gauge: metric?.gauge, histogram: metric?.histogram }[row.type];
    const labels = new Set(data?.dataPoints.flatMap(({ attributes }) => Object.keys(attributes)));
    expect(
      [...labels].filter((label) => !row.labels.includes(label)),
      row.name,
    ).toEqual([]);
  }
});

test('nothing arrives that its table does not know, but the figures of Node.js', () => {
  const known = new Set(rows.map(({ name }) => name));
  const unknown = arrived.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  expect(unknown.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
});

test('it says which service it is, and sends neither traces nor events', async () => {
  const resources = await collector.resources();
  expect(resources.length).toBeGreaterThan(0);
  for (const resource of resources) expect(resource).toMatchObject({ 'service.name': 'penstock-operator' });
  expect(await Promise.all([collector.spans(), collector.events()])).toEqual([[], []]);
});
