// How are requests counted without slowing them? Counters and histograms of our own, rendered by
// prom-client when they are asked for (docs/decisions/0051).

import { type Counter, Registry } from 'prom-client';

interface MetricHead<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
}

interface CounterHead<Label extends string> extends MetricHead<Label> {
  /** How much of what is added is reported as 1: what is counted in small whole units stays exact. */
  readonly perOne?: number;
}

/** Between label values in a key; no name of a resource holds it. */
const separator = '\u0000';

/** One counter of one set of label values: kept by callers that count often. */
export interface CounterSeries {
  readonly labels: readonly string[];
  count: number;
}

/** One histogram of one set of label values. */
export interface HistogramSeries {
  observe(value: number): void;
}

/** @param labelOf Gives undefined for a label that the series does not have. */
export type IsKept = (labelOf: (label: string) => string | undefined) => boolean;

function retainSeries(
  values: Map<string, { readonly labels: readonly string[] }>,
  names: readonly string[],
  isKept: IsKept,
): void {
  for (const [key, { labels }] of values)
    if (!isKept((name) => labels[names.indexOf(name)])) values.delete(key);
}

/** A map by two existing strings: a look-up neither joins them nor hashes a third string. */
export class PairMap<Value> {
  private readonly byFirst = new Map<string, Map<string, Value>>();

  get(first: string, second: string): Value | undefined {
    return this.byFirst.get(first)?.get(second);
  }

  set(first: string, second: string, value: Value): void {
    const bySecond = this.byFirst.get(first);
    if (bySecond) bySecond.set(second, value);
    else this.byFirst.set(first, new Map([[second, value]]));
  }

  clear(): void {
    this.byFirst.clear();
  }
}

/** A counter. An increment builds and looks up a key; with a series from `series` it only adds a number. */
export class HotCounter<Label extends string> {
  private readonly head: CounterHead<Label>;
  private readonly values = new Map<string, CounterSeries>();

  constructor(registry: Registry, head: CounterHead<Label>) {
    this.head = head;
    register(registry, head.name, () => this.render());
  }

  /** Label values in the order of the head's labels. */
  add(count: number, ...labels: readonly string[]): void {
    this.series(...labels).count += count;
  }

  /** Only those series stay whose labels still mean something. */
  retain(isKept: IsKept): void {
    retainSeries(this.values, this.head.labels, isKept);
  }

  series(...labels: readonly string[]): CounterSeries {
    const key = labels.join(separator);
    let series = this.values.get(key);
    if (series === undefined) {
      series = { labels, count: 0 };
      this.values.set(key, series);
    }
    return series;
  }

  private render(): Rendered {
    const { name, help, labels, perOne = 1 } = this.head;
    return {
      name,
      help,
      type: 'counter',
      aggregator: 'sum',
      values: [...this.values.values()].map(({ labels: values, count }) => ({
        value: count / perOne,
        labels: zip(labels, values),
      })),
    };
  }
}

/** A counter that is kept elsewhere and read at each scrape. */
export function exportCount(
  registry: Registry,
  { name, help, read }: { readonly name: string; readonly help: string; readonly read: () => number },
): void {
  register(registry, name, () => ({
    name,
    help,
    type: 'counter',
    aggregator: 'sum',
    values: [{ value: read(), labels: {} }],
  }));
}

/** A histogram. An observation builds and looks up a key, unless it has a series, and then does a short search. */
export class HotHistogram<Label extends string> {
  private readonly head: MetricHead<Label>;
  private readonly bounds: readonly number[];
  private readonly values = new Map<string, Series>();

  constructor(registry: Registry, head: MetricHead<Label> & { readonly bounds: readonly number[] }) {
    this.head = head;
    this.bounds = head.bounds;
    register(registry, head.name, () => this.render());
  }

  observe(value: number, ...labels: readonly string[]): void {
    this.series(...labels).observe(value);
  }

  /** See `HotCounter.retain`. */
  retain(isKept: IsKept): void {
    retainSeries(this.values, this.head.labels, isKept);
  }

  series(...labels: readonly string[]): HistogramSeries {
    const key = labels.join(separator);
    let series = this.values.get(key);
    if (series === undefined) {
      series = new Series(labels, this.bounds);
      this.values.set(key, series);
    }
    return series;
  }

  private render(): Rendered {
    const { name, help, labels } = this.head;
    return {
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      // A series that is kept for what may come has not been seen yet.
      values: [...this.values.values()]
        .filter(({ isUsed }) => isUsed)
        .flatMap((series) => this.renderSeries(name, zip(labels, series.labels), series)),
    };
  }

  private renderSeries(name: string, labels: Labels, { counts, sum }: Series): RenderedValue[] {
    let total = 0;
    const buckets = [...this.bounds, '+Inf'].map((le, index): RenderedValue => {
      total += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, value: total, labels: { ...labels, le } };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, value: sum, labels },
      { metricName: `${name}_count`, value: total, labels },
    ];
  }
}

class Series implements HistogramSeries {
  readonly labels: readonly string[];
  readonly counts: Float64Array;
  sum = 0;
  isUsed = false;
  private readonly bounds: readonly number[];

  constructor(labels: readonly string[], bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let bucket = 0;
    // The first bound that the value is not above.
    for (let end = bounds.length; bucket < end; ) {
      const middle = (bucket + end) >> 1;
      if (value > (bounds[middle] ?? Number.POSITIVE_INFINITY)) bucket = middle + 1;
      else end = middle;
    }
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    this.sum += value;
    this.isUsed = true;
  }
}

type Labels = Record<string, string | number>;

/** What prom-client's text renderer reads of a metric. */
interface Rendered {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly RenderedValue[];
}

interface RenderedValue {
  readonly metricName?: string;
  readonly value: number;
  readonly labels: Labels;
}

function zip(names: readonly string[], values: readonly string[]): Labels {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

/** The registry asks a metric for its name and its values, and for nothing else. */
function register(registry: Registry, name: string, get: () => Rendered): void {
  const metric: unknown = { name, get: () => Promise.resolve(get()), reset: () => {} };
  registry.registerMetric(metric as Counter);
}

export { Registry };
