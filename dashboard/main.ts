// The dashboard process: settings, its ways to Kubernetes and the ledger, the server, and an orderly end on SIGTERM. Wiring only.

import closeWithGrace from 'close-with-grace';
import { systemClock } from '../core/clock.ts';
import { helpIfAsked } from '../core/help.ts';
import { createLog, endingLogger, logEnding } from '../core/kube/log.ts';
import { buildProcessServer, listenAt, stopServer } from '../core/telemetry/process-server.ts';
import { sendMetrics } from '../core/telemetry/send-metrics.ts';
import packageJson from '../package.json' with { type: 'json' };
import { clusterFor, openKubernetes } from './kubernetes/cluster.ts';
import { openOidc } from './kubernetes/oidc.ts';
import { kubernetesSignIn } from './kubernetes/sign-in.ts';
import { openLedger } from './ledger.ts';
import { dashboardMetrics } from './metric-table.ts';
import { createMetrics } from './metrics.ts';
import { openReadiness } from './readiness.ts';
import { readSettings, settingNames } from './settings.ts';
import { startDashboard } from './start.ts';

const endMs = 5_000;
/** At most so much of it for a collector to take the last figures. */
const telemetryFlushMs = 2_000;
const isHelp = helpIfAsked({
  usage: ['node dist/dashboard.js'],
  does: 'The dashboard serves its pages, and asks Kubernetes and the ledger with the token of the signed-in person. The Helm chart starts it.',
  variables: [...settingNames, 'OTEL_EXPORTER_OTLP_ENDPOINT   metrics over OTLP'],
});
if (isHelp) process.exit(0);

const clock = systemClock;
const log = createLog((line) => process.stdout.write(line), clock.wallMs);

try {
  const settings = readSettings();
  const connection = openKubernetes({ ...settings.kubernetes, clock });
  const oidc = settings.oidc && openOidc(settings.oidc, clock.now);
  const metrics = createMetrics();
  const missing = openReadiness(oidc, log);
  const dashboard = await startDashboard({
    settings,
    signIn: kubernetesSignIn(connection, oidc),
    clusterOf: ({ token }) => clusterFor(connection, token, clock),
    ledger:
      settings.ledgerUrl === undefined
        ? undefined
        : openLedger(settings.ledgerUrl, clock, settings.ledgerCaFile),
    pagesFolder: settings.pagesFolder,
    clock,
    log,
    version: packageJson.version,
    metrics,
    missing,
  });
  const inside = buildProcessServer({ registry: metrics.registry, missing });
  const metricsUrl = await listenAt(inside, settings.host, settings.metricsPort);
  const telemetry = await sendMetrics(settings.telemetry, {
    clock,
    registry: metrics.registry,
    table: dashboardMetrics,
    version: packageJson.version,
    onTelemetry: (message) => log('warn', message),
  });
  closeWithGrace({ delay: endMs, logger: endingLogger(log) }, async (cause) => {
    logEnding(log, cause);
    await dashboard.close();
    await telemetry?.close(telemetryFlushMs);
    await stopServer(inside);
    connection.close();
  });
  if (settings.sessionKeys.length === 0)
    log('warn', 'no session keys are set: sessions end with this process, and no other replica knows them');
  log('info', 'dashboard started', { url: dashboard.url, metricsUrl });
} catch (error) {
  log('error', 'the dashboard could not start', {
    reason: error instanceof Error ? error.message : String(error),
  });
  process.exitCode = 1;
  // Parts that have started already would keep the process alive.
  process.exit();
}
