// A real OpenTelemetry Collector, and what has arrived there: metrics, spans and events as it wrote them down, and its own rendering of
// the metrics for Prometheus.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { freePort } from '../../cluster/free-port.ts';
import { goProgram } from '../go-tool.ts';
import { startProcess } from '../process.ts';
import { until } from '../until.ts';

export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  /** Metrics as it shows them to Prometheus. */
  readonly prometheusUrl: string;
  /** Of the last export. */
  metrics(): Promise<readonly ArrivedMetric[]>;
  spans(): Promise<readonly ArrivedSpan[]>;
  events(): Promise<readonly ArrivedEvent[]>;
  /** Attributes of all resources that sent anything. */
  resources(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** All that it has written, as text: what must not be there can be looked for. */
  everything(): Promise<string>;
  close(): Promise<void>;
}

const attribute = z.object({
  key: z.string(),
  value: z.record(z.string(), z.unknown()).transform((value) => {
    const [type, reported] = Object.entries(value)[0] ?? [];
    return type === 'intValue' ? Number(reported) : reported;
  }),
});
const attributes = z
  .array(attribute)
  .default([])
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value])));
const resource = z.object({ attributes });

const point = z.looseObject({ attributes, explicitBounds: z.array(z.number()).optional() });
const metric = z.object({
  name: z.string(),
  description: z.string().default(''),
  unit: z.string().default(''),
  gauge: z.object({ dataPoints: z.array(point) }).optional(),
  sum: z
    .object({ dataPoints: z.array(point), isMonotonic: z.boolean(), aggregationTemporality: z.int() })
    .optional(),
  histogram: z.object({ dataPoints: z.array(point), aggregationTemporality: z.int() }).optional(),
});
export type ArrivedMetric = z.infer<typeof metric>;

const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  traceState: z.string().default(''),
  name: z.string(),
  kind: z.int(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes,
  status: z.looseObject({ code: z.int().optional() }).default({}),
});
export type ArrivedSpan = z.infer<typeof span>;

const event = z.object({
  eventName: z.string(),
  traceId: z.string().default(''),
  spanId: z.string().default(''),
  body: z.unknown(),
  attributes,
});
export type ArrivedEvent = z.infer<typeof event>;

const metricLine = z.object({
  resourceMetrics: z.array(
    z.object({ resource, scopeMetrics: z.array(z.object({ metrics: z.array(metric) })) }),
  ),
});
const spanLine = z.object({
  resourceSpans: z.array(z.object({ resource, scopeSpans: z.array(z.object({ spans: z.array(span) })) })),
});
const eventLine = z.object({
  resourceLogs: z.array(z.object({ resource, scopeLogs: z.array(z.object({ logRecords: z.array(event) })) })),
});

const program = fileURLToPath(new URL('program/', import.meta.url));

/** @throws one sentence that says what is missing and the way out. */
export async function startCollector(): Promise<Collector> {
  const path = await goProgram({ name: 'collector', folder: program });
  const folder = await mkdtemp(join(tmpdir(), 'penstock-collector-'));
  const [port, prometheusPort] = [await freePort(), await freePort()];
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify(configOf(folder, port, prometheusPort)));
  const process = await startProcess('--config', { command: path, args: [config] });
  const endpoint = `http://127.0.0.1:${port}`;
  // It takes POST alone; that it says so shows that it is there.
  await process.answering(`${endpoint}/v1/traces`, 405);

  /** Half a line may stand at the end while it writes. */
  const lines = async (name: string): Promise<readonly unknown[]> => {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line): unknown => JSON.parse(line));
  };
  const metricLines = async () => (await lines('metrics')).map((line) => metricLine.parse(line));
  const spanLines = async () => (await lines('traces')).map((line) => spanLine.parse(line));
  const eventLines = async () => (await lines('logs')).map((line) => eventLine.parse(line));
  return {
    endpoint,
    prometheusUrl: `http://127.0.0.1:${prometheusPort}/metrics`,
    async metrics() {
      const last = await until(async () => (await metricLines()).at(-1));
      return last.resourceMetrics.flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics),
      );
    },
    spans: async () =>
      (await spanLines()).flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    events: async () =>
      (await eventLines()).flatMap(({ resourceLogs }) =>
        resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
      ),
    async resources() {
      const [metrics, spans, events] = await Promise.all([metricLines(), spanLines(), eventLines()]);
      return [
        ...metrics.flatMap(({ resourceMetrics }) => resourceMetrics),
        ...spans.flatMap(({ resourceSpans }) => resourceSpans),
        ...events.flatMap(({ resourceLogs }) => resourceLogs),
      ].map((one) => one.resource.attributes);
    },
    async everything() {
      const parts = ['metrics', 'traces', 'logs'].map((name) =>
        readFile(join(folder, name), 'utf8').catch(() => ''),
      );
      return (await Promise.all(parts)).join('\n');
    },
    async close() {
      await process.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** JSON is YAML. */
function configOf(folder: string, port: number, prometheusPort: number) {
  const signals = ['metrics', 'traces', 'logs'] as const;
  const file = (name: string) => ({ path: join(folder, name), flush_interval: '20ms' });
  return {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: {
      ...Object.fromEntries(signals.map((name) => [`file/${name}`, file(name)])),
      prometheus: { endpoint: `127.0.0.1:${prometheusPort}` },
    },
    service: {
      pipelines: Object.fromEntries(
        signals.map((name) => [
          name,
          {
            receivers: ['otlp'],
            exporters: [`file/${name}`, ...(name === 'metrics' ? ['prometheus'] : [])],
          },
        ]),
      ),
    },
  };
}
