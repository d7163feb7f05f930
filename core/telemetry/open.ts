// How does telemetry leave a process? Through the SDK of OpenTelemetry, opened with parts that are named one by one: nothing is detected,
// nothing is instrumented, and nothing is sent without an endpoint (docs/decisions/0044). Importing this file loads the SDK, so it is
// loaded by `import()` if an endpoint is set.

import { randomUUID } from 'node:crypto';
import {
  type Counter,
  context,
  createNoopMeter,
  type Logger,
  logs,
  type Meter,
  type MeterProvider,
  metrics,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { MetricTable } from './metric.ts';
import { metricProducer, scope } from './metric-producer.ts';
import type { TelemetrySettings } from './settings.ts';

/** What OpenTelemetry calls the things that are sent. */
export type Signal = 'metrics' | 'traces' | 'logs';

/** Why nothing was taken, in a word without any value: a code of the system or of HTTP. Undefined: it was taken. */
export type Refusal = string | undefined;

export interface TelemetryParts {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly table: MetricTable;
  /** Of the program. */
  readonly version: string;
  /** Whether events are wanted: they are nothing that everybody asks for. */
  readonly hasEvents: boolean;
  /** Spans and events that were dropped. */
  onDropped(signal: Signal, reason: 'full' | 'failed', items: number): void;
  /** An export has ended; `refusal` says why it was not taken, and holds no value of anything. */
  onExported(signal: Signal, refusal: Refusal): void;
}

export interface Telemetry {
  /** Undefined if no traces are sent. */
  readonly tracer: Tracer | undefined;
  /** Undefined if no events are sent. */
  readonly logger: Logger | undefined;
  /** Flushes what is queued; ends after `withinMs` at the latest. */
  close(withinMs: number): Promise<void>;
}

/** Our exporter has its own timeout. The SDK's is later by this much, against a collector that never ends its answer. */
const graceMs = 1_000;

export function openTelemetry(settings: TelemetrySettings, parts: TelemetryParts): Telemetry {
  const { metricsUrl, tracesUrl, exportWithinMs, metricsEveryMs } = settings;
  const logsUrl = parts.hasEvents ? settings.logsUrl : undefined;
  const reporting = <Items>(signal: Signal, exporter: Exporter<Items>): Exporter<Items> =>
    watched(exporter, (refusal) => parts.onExported(signal, refusal));
  const queueOf = (signal: 'traces' | 'logs') => ({
    maxQueueSize: settings.queue.itemsMax,
    maxExportBatchSize: settings.queue.batchMax,
    scheduledDelayMillis: settings.queue.delayMs,
    exportTimeoutMillis: exportWithinMs + graceMs,
    selfObsMeterProvider: dropListener((reason, items) => parts.onDropped(signal, reason, items)),
  });
  const { registry, table, clock } = parts;
  const resource = resourceFromAttributes({
    'service.version': parts.version,
    'service.instance.id': randomUUID(),
    ...settings.resource,
  });
  // An export of metrics is over before the next begins.
  const metricsWithinMs = Math.min(exportWithinMs, metricsEveryMs);
  const sdk = new NodeSDK({
    // The SDK's default resource only describes the SDK itself.
    resource: defaultResource().merge(resource),
    autoDetectResources: false,
    instrumentations: [],
    textMapPropagator: null,
    sampler: samplerOf(settings.sampler),
    // An empty list without an address: if it were left out, the SDK would send to localhost.
    metricReaders: addressed(metricsUrl, (url) => {
      const exporter = reporting('metrics', new OTLPMetricExporter(exporterConfig(url, metricsWithinMs)));
      return new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: metricsEveryMs,
        exportTimeoutMillis: Math.min(exportWithinMs + graceMs, metricsEveryMs),
        metricProducers: [metricProducer(registry, table, clock)],
      });
    }),
    spanProcessors: addressed(tracesUrl, (url) => {
      const exporter = reporting('traces', new OTLPTraceExporter(exporterConfig(url, exportWithinMs)));
      return new BatchSpanProcessor({ exporter, ...queueOf('traces') });
    }),
    logRecordProcessors: addressed(logsUrl, (url) => {
      const exporter = reporting('logs', new OTLPLogExporter(exporterConfig(url, exportWithinMs)));
      return new BatchLogRecordProcessor({ exporter, ...queueOf('logs') });
    }),
  });
  sdk.start();
  const tracer = tracesUrl === undefined ? undefined : trace.getTracer(scope.name);
  const logger = logsUrl === undefined ? undefined : logs.getLogger(scope.name);
  // Libraries would use the SDK's globals, and we have none that does. Removed, they do not conflict with another gateway in this process.
  for (const global of [context, trace, metrics, logs]) global.disable();
  return {
    tracer,
    logger,
    async close(withinMs) {
      const over = Promise.withResolvers<void>();
      const cancel = clock.setTimer(withinMs, over.resolve);
      // An exporter that still fails now reports its own failure.
      await Promise.race([sdk.shutdown().catch(() => {}), over.promise]);
      cancel();
    },
  };
}

function addressed<Part>(url: string | undefined, open: (url: string) => Part): Part[] {
  return url === undefined ? [] : [open(url)];
}

/** Headers, certificates and compression are read by the exporters themselves. */
function exporterConfig(url: string, timeoutMillis: number) {
  // One connection is kept for the next export.
  return { url, timeoutMillis, httpAgentOptions: { keepAlive: true, maxSockets: 2 } };
}

/** Decided by the trace alone, so that all that sample by it take the same ones. */
function samplerOf({ followsParent, ratio }: TelemetrySettings['sampler']): Sampler {
  const root = new TraceIdRatioBasedSampler(ratio);
  return followsParent ? new ParentBasedSampler({ root }) : root;
}

interface Exporter<Items> {
  export(items: Items, done: (result: ExportResult) => void): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

function watched<Items>(exporter: Exporter<Items>, onEnd: (refusal: Refusal) => void): Exporter<Items> {
  return {
    export: (items, done) =>
      exporter.export(items, (result) => {
        onEnd(result.code === ExportResultCode.SUCCESS ? undefined : wordOf(result.error));
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

/** A collector's message may quote the data that it was sent. */
function wordOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP ${code}`;
  return typeof code === 'string' ? code : 'no answer';
}

/** How much it has dropped, and why, a processor says in a metric about itself and nowhere else: the one counter that it has. */
function dropListener(onDropped: (reason: 'full' | 'failed', items: number) => void): MeterProvider {
  const counter: Counter = {
    add(items, attributes) {
      const reason = attributes?.['error.type'];
      if (reason !== undefined) onDropped(reason === 'queue_full' ? 'full' : 'failed', items);
    },
  };
  const meter: Meter = Object.create(createNoopMeter(), { createCounter: { value: () => counter } });
  return { getMeter: () => meter };
}
