// How does telemetry leave a process? Metrics every minute, spans and events in batches, each as far as it is asked for.

import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Clock } from './clock.ts';
import {
  openEventExporter,
  openMetricExporter,
  openSpanExporter,
  type Refusal,
  type Send,
} from './exporters.ts';
import type { LogEvent, Span } from './items.ts';
import type { MetricTable } from './metric.ts';
import { readOtlpMetrics } from './otlp-metrics.ts';
import { ExportQueue } from './queue.ts';
import type { TelemetrySettings } from './settings.ts';

/** What OpenTelemetry calls the things that are sent. */
export type Signal = 'metrics' | 'traces' | 'logs';

export interface TelemetryParts {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly table: MetricTable;
  /** Of the program. */
  readonly version: string;
  /** Whether events are wanted: they are nothing that everybody asks for. */
  readonly hasEvents: boolean;
  /** Spans and events that nobody will be sent. */
  onDropped(signal: Signal, reason: 'full' | 'failed', items: number): void;
  /** An export has ended; `refusal` says why it was not taken, and holds no value of anything. */
  onExported(signal: Signal, refusal: Refusal): void;
}

export interface Telemetry {
  readonly spans: Pick<ExportQueue<Span>, 'add'> | undefined;
  readonly events: Pick<ExportQueue<LogEvent>, 'add'> | undefined;
  /** Sends what there is, once more; whatever happens, it is over after `withinMs`. */
  close(withinMs: number): Promise<void>;
}

export async function openTelemetry(settings: TelemetrySettings, parts: TelemetryParts): Promise<Telemetry> {
  const { metricsUrl, tracesUrl, logsUrl } = settings;
  const resource = {
    'service.version': parts.version,
    'service.instance.id': randomUUID(),
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'penstock',
    ...settings.resource,
  };
  const options = (url: string) => ({ url, withinMs: settings.exportWithinMs, resource });
  const [spans, events, metrics] = await Promise.all([
    tracesUrl !== undefined
      ? openSpanExporter(options(tracesUrl)).then((send) => openQueue(settings, parts, 'traces', send))
      : undefined,
    logsUrl !== undefined && parts.hasEvents
      ? openEventExporter(options(logsUrl)).then((send) => openQueue(settings, parts, 'logs', send))
      : undefined,
    metricsUrl === undefined
      ? undefined
      : openMetricExporter(options(metricsUrl)).then((send) => startMetrics(settings, parts, send)),
  ]);
  return {
    spans,
    events,
    async close(withinMs) {
      await Promise.all([spans?.close(withinMs), events?.close(withinMs), metrics?.close(withinMs)]);
    },
  };
}

function openQueue<Item>(
  { queue, exportWithinMs }: TelemetrySettings,
  { clock, onDropped, onExported }: TelemetryParts,
  signal: 'traces' | 'logs',
  send: Send<readonly Item[]>,
): ExportQueue<Item> {
  return new ExportQueue<Item>({
    ...queue,
    // The exporter gives up by itself; this is for a collector that never ends its answer.
    sendWithinMs: exportWithinMs + 1_000,
    clock,
    async send(batch) {
      const refusal = await send(batch);
      onExported(signal, refusal);
      return refusal === undefined;
    },
    onDropped: (reason, items) => onDropped(signal, reason, items),
  });
}

/** One export at a time; each tells all, so that one that was missed is missed by nobody. */
function startMetrics(
  { metricsEveryMs, exportWithinMs }: TelemetrySettings,
  { clock, registry, table, onExported }: TelemetryParts,
  send: Send<Awaited<ReturnType<typeof readOtlpMetrics>>>,
): Pick<Telemetry, 'close'> {
  const startedMs = clock.wallMs();
  let isClosed = false;
  let cancelNext = clock.setTimer(metricsEveryMs, () => void push());

  async function push(): Promise<void> {
    await within(exportWithinMs + 1_000, sendAll());
    if (!isClosed) cancelNext = clock.setTimer(metricsEveryMs, () => void push());
  }

  async function sendAll(): Promise<void> {
    const metrics = await readOtlpMetrics(registry, table, startedMs, clock.wallMs());
    onExported('metrics', await send(metrics));
  }

  async function within(ms: number, work: Promise<void>): Promise<void> {
    const over = Promise.withResolvers<void>();
    const cancel = clock.setTimer(ms, over.resolve);
    await Promise.race([work, over.promise]);
    cancel();
  }

  return {
    async close(withinMs) {
      isClosed = true;
      cancelNext();
      await within(withinMs, sendAll());
    },
  };
}
