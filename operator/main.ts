// The operator process: settings, connection, operator, and an orderly end on SIGTERM. Wiring only.

import { randomBytes } from 'node:crypto';
import closeWithGrace from 'close-with-grace';
import { systemClock } from '../core/clock.ts';
import { helpIfAsked } from '../core/help.ts';
import { openConfiguredClient } from '../core/kube/config.ts';
import { createLog, endingLogger, logEnding } from '../core/kube/log.ts';
import { sendMetrics } from '../core/telemetry/send-metrics.ts';
import packageJson from '../package.json' with { type: 'json' };
import { operatorMetrics } from './metric-table.ts';
import { readPolicies } from './read-policies.ts';
import { type OperatorSettings, readSettings, settingNames } from './settings.ts';
import { type RunningOperator, startOperator } from './start.ts';

/** An end takes at most so long: writes in progress, a last publish, the lease. */
const endMs = 15_000;
/** And at most so long for a collector to take the last figures. */
const telemetryFlushMs = 2_000;

const isHelp = helpIfAsked({
  usage: ['node dist/operator.js'],
  does: 'The operator compiles Providers, ModelRoutes and ApiKeys into the routing table of the gateways. The Helm chart starts it.',
  variables: [
    ...settingNames,
    'KUBECONFIG   outside of a pod',
    'OTEL_EXPORTER_OTLP_ENDPOINT   metrics over OTLP',
  ],
});
if (isHelp) process.exit(0);

const log = createLog((line) => process.stdout.write(line), systemClock.wallMs);

try {
  const settings = readSettings();
  const operator = await start(settings);
  const telemetry = await sendMetrics(settings.telemetry, {
    clock: systemClock,
    registry: operator.metrics.registry,
    table: operatorMetrics,
    version: packageJson.version,
    onTelemetry: (message) => log('warn', message),
  });
  closeWithGrace({ delay: endMs, logger: endingLogger(log) }, async (cause) => {
    logEnding(log, cause);
    await operator.close();
    await telemetry?.close(telemetryFlushMs);
  });
  log('info', 'operator started', { metricsUrl: operator.metricsUrl });
} catch (error) {
  log('error', 'the operator could not start', {
    reason: error instanceof Error ? error.message : String(error),
  });
  process.exitCode = 1;
  // Parts that have started already would keep the process alive.
  process.exit();
}

async function start(settings: OperatorSettings): Promise<RunningOperator> {
  const { client, server } = await openConfiguredClient({ kubeconfig: settings.kubeconfig });
  return await startOperator({
    client,
    serverHost: new URL(server).host,
    clock: systemClock,
    random: Math.random,
    randomBytes,
    settings,
    policies: await readPolicies(settings.policiesFile),
    log,
  });
}
