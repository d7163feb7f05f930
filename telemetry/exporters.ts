// Who speaks OTLP? The exporters of OpenTelemetry, each loaded when there is something for it to send, and fed with plain values:
// no provider, no detector and no global of the SDK takes part (docs/decisions/0040).

import type { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import type { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { LogEvent, Span } from './items.ts';
import { hrTimeOf, type OtlpMetric } from './otlp-metrics.ts';

type SpanData = Parameters<OTLPTraceExporter['export']>[0][number];
type LogData = Parameters<OTLPLogExporter['export']>[0][number];
type ResourceMetrics = Parameters<OTLPMetricExporter['export']>[0];
type MetricData = ResourceMetrics['scopeMetrics'][number]['metrics'][number];
type Resource = SpanData['resource'];

export interface ExporterOptions {
  /** Full address. */
  readonly url: string;
  /** With all that it tries again within. */
  readonly withinMs: number;
  readonly resource: Readonly<Record<string, string>>;
}

/** Why nothing was taken, in a word without any value: a code of the system or of HTTP. Undefined: it was taken. */
export type Refusal = string | undefined;

/** Never rejects. */
export type Send<Items> = (items: Items) => Promise<Refusal>;

const scope = { name: 'penstock' };

export async function openSpanExporter(options: ExporterOptions): Promise<Send<readonly Span[]>> {
  const { OTLPTraceExporter: Exporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const exporter = new Exporter(configOf(options));
  const resource = resourceOf(options.resource);
  return (spans) =>
    sent((done) =>
      exporter.export(
        spans.map((span) => spanData(span, resource)),
        done,
      ),
    );
}

export async function openEventExporter(options: ExporterOptions): Promise<Send<readonly LogEvent[]>> {
  const { OTLPLogExporter: Exporter } = await import('@opentelemetry/exporter-logs-otlp-proto');
  const exporter = new Exporter(configOf(options));
  const resource = resourceOf(options.resource);
  return (events) =>
    sent((done) =>
      exporter.export(
        events.map((event) => logData(event, resource)),
        done,
      ),
    );
}

export async function openMetricExporter(options: ExporterOptions): Promise<Send<readonly OtlpMetric[]>> {
  const { OTLPMetricExporter: Exporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const exporter = new Exporter(configOf(options));
  const resource = resourceOf(options.resource);
  return (metrics) =>
    sent((done) =>
      exporter.export({ resource, scopeMetrics: [{ scope, metrics: metrics.map(metricData) }] }, done),
    );
}

function configOf({ url, withinMs }: ExporterOptions) {
  // One connection is kept for the next export.
  return { url, timeoutMillis: withinMs, httpAgentOptions: { keepAlive: true, maxSockets: 2 } };
}

function sent(
  start: (done: (result: { readonly code: number; readonly error?: Error }) => void) => void,
): Promise<Refusal> {
  return new Promise((resolve) => {
    try {
      start(({ code, error }) => resolve(code === 0 ? undefined : wordOf(error)));
    } catch (error) {
      resolve(wordOf(error));
    }
  });
}

/** What a collector says may quote what it was sent. */
function wordOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  return typeof code === 'string' ? code : 'no answer';
}

function resourceOf(attributes: Readonly<Record<string, string>>): Resource {
  const resource: Resource = {
    attributes: { ...attributes },
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

function spanData(span: Span, resource: Resource): SpanData {
  const { traceId, spanId, traceState, parentSpanId, startMs, durationMs } = span;
  const state = traceState === undefined ? {} : { traceState: stateOf(traceState) };
  return {
    name: span.name,
    kind: span.kind === 'server' ? 1 : 2,
    spanContext: () => ({ traceId, spanId, traceFlags: 1, ...state }),
    ...(parentSpanId === undefined
      ? {}
      : {
          parentSpanContext: {
            traceId,
            spanId: parentSpanId,
            traceFlags: 1,
            isRemote: span.isParentRemote,
          },
        }),
    startTime: hrTimeOf(startMs),
    endTime: hrTimeOf(startMs + durationMs),
    duration: hrTimeOf(durationMs),
    status: { code: span.isError ? 2 : 0 },
    attributes: span.attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** It is passed on as it is. */
function stateOf(text: string) {
  const state = { get: () => undefined, set: () => state, unset: () => state, serialize: () => text };
  return state;
}

function logData({ name, atMs, attributes, traceId, spanId }: LogEvent, resource: Resource): LogData {
  const time = hrTimeOf(atMs);
  return {
    hrTime: time,
    hrTimeObserved: time,
    eventName: name,
    severityNumber: 9,
    severityText: 'INFO',
    ...(traceId === undefined || spanId === undefined
      ? {}
      : { spanContext: { traceId, spanId, traceFlags: 1 } }),
    resource,
    instrumentationScope: scope,
    attributes,
    droppedAttributesCount: 0,
  };
}

function metricData({ head, ...metric }: OtlpMetric): MetricData {
  const base = { descriptor: { ...head, valueType: 1 }, aggregationTemporality: 1 };
  switch (metric.type) {
    case 'counter':
      return { ...base, dataPointType: 3, isMonotonic: true, dataPoints: [...metric.points] };
    case 'gauge':
      return { ...base, dataPointType: 2, dataPoints: [...metric.points] };
    case 'histogram':
      return { ...base, dataPointType: 0, dataPoints: [...metric.points] };
  }
}
