// Where does telemetry go? The standard variables of OpenTelemetry; without an endpoint, nowhere, and nothing of it is loaded.

import { z } from 'zod';

const positive = z.coerce.number().int().min(1);
const address = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });
const way = z.enum(['otlp', 'none'], { error: 'must be otlp or none; /metrics is served in any case' });
const protocol = z.literal('http/protobuf', {
  error: 'must be http/protobuf, which collectors accept on port 4318',
});

const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const signals = ['METRICS', 'TRACES', 'LOGS'] as const;

const schema = z.object({
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_SERVICE_NAME: z.string().min(1).optional(),
  /** `key=value`, separated by commas, percent-encoded. */
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: address.optional(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: address.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address.optional(),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: address.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: protocol.optional(),
  OTEL_METRICS_EXPORTER: way.default('otlp'),
  OTEL_TRACES_EXPORTER: way.default('otlp'),
  OTEL_LOGS_EXPORTER: way.default('otlp'),
  /** Milliseconds that one export may take. */
  OTEL_EXPORTER_OTLP_TIMEOUT: positive.default(10_000),
  /** Milliseconds between two exports of metrics. */
  OTEL_METRIC_EXPORT_INTERVAL: positive.default(60_000),
  /** Milliseconds that spans and events wait for others to go with them. */
  OTEL_BSP_SCHEDULE_DELAY: positive.default(5_000),
  OTEL_BSP_MAX_QUEUE_SIZE: positive.default(2_048),
  /** A batch is written in one go, which blocks the event loop. */
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: positive.default(128),
  OTEL_TRACES_SAMPLER: z.enum(samplerNames).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
});

export interface TelemetrySettings {
  /** Full addresses; undefined: that signal is not sent. */
  readonly metricsUrl: string | undefined;
  readonly tracesUrl: string | undefined;
  readonly logsUrl: string | undefined;
  readonly exportWithinMs: number;
  readonly metricsEveryMs: number;
  readonly queue: { readonly itemsMax: number; readonly batchMax: number; readonly delayMs: number };
  readonly sampler: {
    /** The root of the trace decides on sampling. */
    readonly followsParent: boolean;
    /** Share of the traces that begin here, from 0 to 1. */
    readonly ratio: number;
  };
  /** What all that is sent says of its process. */
  readonly resource: Readonly<Record<string, string>>;
}

/**
 * Undefined if nothing is to be sent. Headers, certificates and compression are read by the exporters themselves, by the names
 * of the specification: their values are nothing that we should hold.
 *
 * @param serviceName Where `OTEL_SERVICE_NAME` does not say another.
 * @throws {Error} naming every variable that is wrong, and what it should be.
 */
export function readTelemetrySettings(
  environment: NodeJS.ProcessEnv,
  serviceName: string,
): TelemetrySettings | undefined {
  // Set and empty is as not set (OpenTelemetry specification, environment variables).
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  if (given.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  if (
    !['', ...signals.map((signal) => `${signal}_`)].some(
      (name) => given[`OTEL_EXPORTER_OTLP_${name}ENDPOINT`],
    )
  )
    return undefined;
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`Invalid environment: ${faults.join('; ')}`);
  }
  const { data } = parsed;
  const urlOf = (signal: (typeof signals)[number]): string | undefined => {
    if (data[`OTEL_${signal}_EXPORTER`] === 'none') return undefined;
    const own = data[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
    const base = data.OTEL_EXPORTER_OTLP_ENDPOINT;
    return own ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/${signal.toLowerCase()}`);
  };
  return Object.freeze({
    metricsUrl: urlOf('METRICS'),
    tracesUrl: urlOf('TRACES'),
    logsUrl: urlOf('LOGS'),
    exportWithinMs: data.OTEL_EXPORTER_OTLP_TIMEOUT,
    metricsEveryMs: data.OTEL_METRIC_EXPORT_INTERVAL,
    queue: {
      itemsMax: data.OTEL_BSP_MAX_QUEUE_SIZE,
      batchMax: Math.min(data.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, data.OTEL_BSP_MAX_QUEUE_SIZE),
      delayMs: data.OTEL_BSP_SCHEDULE_DELAY,
    },
    sampler: samplerOf(data.OTEL_TRACES_SAMPLER, data.OTEL_TRACES_SAMPLER_ARG),
    resource: {
      'service.name': serviceName,
      ...parseAttributes(data.OTEL_RESOURCE_ATTRIBUTES ?? ''),
      ...(data.OTEL_SERVICE_NAME === undefined ? {} : { 'service.name': data.OTEL_SERVICE_NAME }),
    },
  });
}

function samplerOf(name: (typeof samplerNames)[number], ratio: number): TelemetrySettings['sampler'] {
  const own = name.replace('parentbased_', '');
  return {
    followsParent: own !== name,
    ratio: own === 'always_on' ? 1 : own === 'always_off' ? 0 : ratio,
  };
}

/** @throws {Error} if it is no list of `key=value`. */
function parseAttributes(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((part) => part.trim() || []);
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      try {
        if (at < 1) throw new URIError('no key');
        return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())];
      } catch {
        throw new Error(
          'Invalid environment: OTEL_RESOURCE_ATTRIBUTES: must be key=value, separated by commas, percent-encoded',
        );
      }
    }),
  );
}
