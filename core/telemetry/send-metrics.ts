// How do the metrics of a process leave it that sends nothing else? Where an address is set; if none is, nothing of OpenTelemetry is
// loaded.

import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { MetricTable } from './metric.ts';
import type { Telemetry } from './open.ts';
import type { TelemetrySettings } from './settings.ts';

interface SendParts {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly table: MetricTable;
  /** Of the program. */
  readonly version: string;
  /** Once when the collector no longer takes them, and once when it does again; holds no value of anything. */
  onTelemetry(message: string): void;
}

/** Undefined if they are sent nowhere. */
export async function sendMetrics(
  settings: TelemetrySettings | undefined,
  { clock, registry, table, version, onTelemetry }: SendParts,
): Promise<Pick<Telemetry, 'close'> | undefined> {
  if (settings?.metricsUrl === undefined) return undefined;
  const { openTelemetry } = await import('./open.ts');
  let isFailing = false;
  return openTelemetry(
    { ...settings, tracesUrl: undefined, logsUrl: undefined },
    {
      clock,
      registry,
      table,
      version,
      hasEvents: false,
      onDropped() {},
      onExported(_, refusal) {
        if ((refusal !== undefined) === isFailing) return;
        isFailing = refusal !== undefined;
        onTelemetry(
          isFailing
            ? `the collector does not accept metrics (${refusal}); /metrics still serves them`
            : 'the collector accepts metrics again',
        );
      },
    },
  );
}
