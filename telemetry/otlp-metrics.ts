// How does OTLP have what the registry holds? The same numbers, read when they are sent: nothing is counted twice.

import type { Registry } from 'prom-client';
import { exposed, type Metric, type MetricTable } from './metric.ts';

/** Seconds, and nanoseconds of one. */
export type HrTime = [seconds: number, nanoseconds: number];

export function hrTimeOf(unixMs: number): HrTime {
  const seconds = Math.floor(unixMs / 1000);
  return [seconds, Math.round((unixMs - seconds * 1000) * 1e6)];
}

export interface Point<Value> {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: Readonly<Record<string, string>>;
  readonly value: Value;
}

export interface HistogramValue {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] };
  readonly sum: number;
  readonly count: number;
}

interface Head {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
}

export type OtlpMetric =
  | { readonly type: 'counter' | 'gauge'; readonly head: Head; readonly points: readonly Point<number>[] }
  | { readonly type: 'histogram'; readonly head: Head; readonly points: readonly Point<HistogramValue>[] };

interface Value {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}

/**
 * All metrics that have a series. Those that are in no table, which the library makes of the process, keep their names: what takes
 * them into Prometheus gives a counter its `_total` again.
 *
 * @param startedMs Unix milliseconds from which on was counted.
 */
export async function readOtlpMetrics(
  registry: Registry,
  table: MetricTable,
  startedMs: number,
  nowMs: number,
): Promise<readonly OtlpMetric[]> {
  const rows = new Map(Object.values(table).map((metric) => [exposed(metric).name, metric]));
  const times = { startTime: hrTimeOf(startedMs), endTime: hrTimeOf(nowMs) };
  const families = await registry.getMetricsAsJSON();
  return families.flatMap(({ name, help, type: told, values }): OtlpMetric[] => {
    const row = rows.get(name);
    const type = String(told);
    const head = {
      name: row?.name ?? (type === 'counter' ? name.replace(/_total$/, '') : name),
      description: help,
      unit: row?.unit ?? '',
    };
    const labels = labelNames(row);
    if (values.length === 0) return [];
    if (type === 'counter' || type === 'gauge') {
      const points = values.map(({ value, labels: given }) => ({
        ...times,
        attributes: attributesOf(given, labels),
        value,
      }));
      return [{ type, head, points }];
    }
    if (type !== 'histogram') return [];
    const points = seriesOf(values).map((series) => ({
      ...times,
      attributes: attributesOf(series.labels, labels),
      value: histogramOf(series.values),
    }));
    return [{ type, head, points }];
  });
}

/** From what the pull side calls a label to what OpenTelemetry does. */
function labelNames(row: Metric | undefined): ReadonlyMap<string, string> {
  return new Map(row && exposed(row).labels.map((label, index) => [label, row.labels[index] ?? label]));
}

/** To Prometheus a label without a value is none; here it is left out. */
function attributesOf(
  labels: Value['labels'],
  names: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  const told = Object.entries(labels).filter(([name, value]) => name !== 'le' && value !== '');
  return Object.fromEntries(told.map(([name, value]) => [names.get(name) ?? name, String(value)]));
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

/** Prometheus counts up to each bound, OTLP between two. */
function histogramOf(values: readonly Value[]): HistogramValue {
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
