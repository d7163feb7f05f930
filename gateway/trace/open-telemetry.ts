// What does a gateway send over OTLP? Its metrics, a trace of each sampled request, and usage events if they are on.
// Importing this file loads the SDK of OpenTelemetry.

import type { Clock } from '../../core/clock.ts';
import { openTelemetry, type Signal } from '../../core/telemetry/open.ts';
import type { TelemetrySettings } from '../../core/telemetry/settings.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { gatewayMetrics } from '../meter/metric-table.ts';
import type { Metrics } from '../meter/metrics.ts';
import type { PipelineParts } from '../pipeline/parts.ts';
import { createRequestTracer } from './request-tracer.ts';
import { usageEvent } from './usage-event.ts';

interface TelemetryParts {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly hasUsageEvents?: boolean;
  onTelemetry?(message: string): void;
}

export interface GatewayTelemetry extends Pick<PipelineParts, 'tracer' | 'onUsage'> {
  /** Sends what there is, for `withinMs` at most. */
  close(withinMs: number): Promise<void>;
}

export function openGatewayTelemetry(
  settings: TelemetrySettings,
  { clock, metrics, hasUsageEvents = false, onTelemetry }: TelemetryParts,
): GatewayTelemetry {
  const failing = new Set<Signal>();
  const { tracer, logger, close } = openTelemetry(settings, {
    clock,
    registry: metrics.registry,
    table: gatewayMetrics,
    version: packageJson.version,
    hasEvents: hasUsageEvents,
    onDropped: (signal, reason, items) => metrics.onTelemetryDropped(signal, reason, items),
    onExported(signal, refusal) {
      if (refusal !== undefined) metrics.onTelemetryFailed(signal);
      if ((refusal !== undefined) === failing.has(signal)) return;
      if (refusal === undefined) failing.delete(signal);
      else failing.add(signal);
      onTelemetry?.(
        refusal === undefined
          ? `the collector takes ${signal} again`
          : `the collector does not take ${signal} (${refusal}); requests do not wait for it`,
      );
    },
  });
  return {
    tracer: tracer && createRequestTracer({ clock, tracer }),
    onUsage: logger && ((record, span) => logger.emit(usageEvent(record, span))),
    close,
  };
}
