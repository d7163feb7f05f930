// What is one metric? Its row in the table of its process: from it come the Prometheus registry, what is pushed over OTLP, the
// page about metrics, and whatever names it in dashboards and alerts.

export interface Metric<Label extends string = string> {
  /** As OpenTelemetry has it, with dots: `penstock.request_duration`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** A UCUM unit as OpenTelemetry writes it: `s`, `By`, or what is counted in braces, `{token}`; empty: none. */
  readonly unit: '' | 's' | 'By' | `{${string}}`;
  /** As OpenTelemetry has them, in the order in which values are given. Their values come from the configuration, or are fixed words. */
  readonly labels: readonly Label[];
  /** Upper bounds of the buckets of a histogram, in its unit. */
  readonly bounds?: readonly number[];
  /** Of a counter: how much of what is added is reported as 1; absent: 1. */
  readonly perOne?: number;
  /** One line for readers of the exposition. */
  readonly help: string;
  /** For the page: Markdown on one line. Says `Alert` if the metric is worth an alert. */
  readonly meaning: string;
  /** Absent unless this setting is on. */
  readonly setting?: string;
}

/** The metrics of one process, by what its code calls them. */
export type MetricTable = Readonly<Record<string, Metric>>;

const suffixes: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes' };

/**
 * The name on the pull side: what a collector or Prometheus' OTLP intake makes of the OpenTelemetry name, so that one dashboard
 * serves both ways.
 */
export function prometheusName({ name, type, unit }: Pick<Metric, 'name' | 'type' | 'unit'>): string {
  const words = name.split(/[^a-zA-Z0-9]+/);
  const suffix = suffixes[unit];
  if (suffix !== undefined && !words.includes(suffix)) words.push(suffix);
  if (type === 'counter') words.push('total');
  return words.join('_');
}

export function prometheusLabel(label: string): string {
  return label.replace(/[^a-zA-Z0-9_]/g, '_');
}

/** A metric as the pull side has it. */
interface ExposedMetric {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly bounds: readonly number[];
  readonly perOne?: number;
}

export function exposed(metric: Metric): ExposedMetric {
  return {
    name: prometheusName(metric),
    help: metric.help,
    labels: metric.labels.map(prometheusLabel),
    bounds: metric.bounds ?? [],
    ...(metric.perOne === undefined ? {} : { perOne: metric.perOne }),
  };
}
