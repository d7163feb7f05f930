// How does OpenTelemetry have what the registry holds? The same numbers, read when they are sent: nothing is counted twice.

import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { exposed, type Metric, type MetricTable } from './metric.ts';

/** Of all that is sent. */
export const scope = { name: 'penstock' };

/** All metrics of the registry, read at each export; cumulative from now on. */
export function metricProducer(registry: Registry, table: MetricTable, clock: Clock): MetricProducer {
  const startTime = millisToHrTime(clock.wallMs());
  return {
    async collect() {
      const times = { startTime, endTime: millisToHrTime(clock.wallMs()) };
      const metrics = await readRegistry(registry, table, times);
      // The resource is that of the SDK.
      return {
        resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope, metrics }] },
        errors: [],
      };
    },
  };
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

interface Value {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}

/**
 * All metrics that have a series. Metrics of the process, which the library makes and no table has, keep their names: an importer into
 * Prometheus appends `_total` to a counter again.
 */
async function readRegistry(registry: Registry, table: MetricTable, times: Times): Promise<MetricData[]> {
  const rows = new Map(Object.values(table).map((metric) => [exposed(metric).name, metric]));
  const families = await registry.getMetricsAsJSON();
  return families.flatMap(({ name, help, type: exportedType, values }): MetricData[] => {
    if (values.length === 0) return [];
    const row = rows.get(name);
    const type = String(exportedType);
    const base = {
      descriptor: {
        name: row?.name ?? (type === 'counter' ? name.replace(/_total$/, '') : name),
        description: help,
        unit: row?.unit ?? '',
        valueType: ValueType.DOUBLE,
      },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    const labels = labelNames(row);
    const numbers = () =>
      values.map(({ value, labels: given }) => ({
        ...times,
        attributes: attributesOf(given, labels),
        value,
      }));
    switch (type) {
      case 'counter':
        return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers() }];
      case 'gauge':
        return [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints: numbers() }];
      case 'histogram': {
        const dataPoints = seriesOf(values).map((series) => ({
          ...times,
          attributes: attributesOf(series.labels, labels),
          value: histogramOf(series.values),
        }));
        return [{ ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints }];
      }
      default:
        return [];
    }
  });
}

/** From what the pull side calls a label to what OpenTelemetry does. */
function labelNames(row: Metric | undefined): ReadonlyMap<string, string> {
  return new Map(row && exposed(row).labels.map((label, index) => [label, row.labels[index] ?? label]));
}

/** Prometheus treats an empty label as absent; so the attribute is left out. */
function attributesOf(labels: Value['labels'], names: ReadonlyMap<string, string>): Attributes {
  const shown = Object.entries(labels).filter(([name, value]) => name !== 'le' && value !== '');
  return Object.fromEntries(shown.map(([name, value]) => [names.get(name) ?? name, String(value)]));
}

interface Series {
  readonly labels: Value['labels'];
  readonly values: Value[];
}

function seriesOf(values: readonly Value[]): readonly Series[] {
  const series = new Map<string, Series>();
  for (const value of values) {
    const { le: _, ...labels } = value.labels;
    const key = JSON.stringify(labels);
    const known = series.get(key);
    if (known) known.values.push(value);
    else series.set(key, { labels, values: [value] });
  }
  return [...series.values()];
}

/** Prometheus counts up to each bound, OpenTelemetry between two. */
function histogramOf(values: readonly Value[]): Histogram {
  const boundaries: number[] = [];
  const counts: number[] = [];
  let [before, sum, count] = [0, 0, 0];
  for (const { value, labels, metricName = '' } of values) {
    if (metricName.endsWith('_sum')) sum = value;
    else if (metricName.endsWith('_count')) count = value;
    else {
      if (labels.le !== '+Inf') boundaries.push(Number(labels.le));
      counts.push(value - before);
      before = value;
    }
  }
  return { buckets: { boundaries, counts }, sum, count };
}
