// How does a row of the table become a metric of prom-client?

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { exposed, type Metric } from './metric.ts';

function headOf(registry: Registry, metric: Metric) {
  const { name, help, labels } = exposed(metric);
  return { name, help, labelNames: [...labels], registers: [registry] };
}

export function addCounter(registry: Registry, metric: Metric): Counter {
  return new Counter(headOf(registry, metric));
}

export function addHistogram(registry: Registry, metric: Metric): Histogram {
  return new Histogram({ ...headOf(registry, metric), buckets: [...(metric.bounds ?? [])] });
}

/** Sets one series; label values in the order of the metric's labels. */
type Report = (value: number, ...labels: readonly string[]) => void;

/** A gauge that is read at each scrape: series that `read` does not report are gone. */
export function addGauge(registry: Registry, metric: Metric, read: (report: Report) => void): void {
  const head = headOf(registry, metric);
  const labelsOf = (values: readonly string[]) =>
    Object.fromEntries(head.labelNames.map((name, index) => [name, values[index] ?? '']));
  new Gauge({
    ...head,
    collect() {
      this.reset();
      // prom-client leaves a gauge without labels at 0, even if it has no value.
      if (head.labelNames.length === 0) this.remove();
      read((value, ...values) => this.set(labelsOf(values), value));
    },
  });
}
