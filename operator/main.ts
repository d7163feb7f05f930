// The operator process: settings, connection, operator, and an orderly end on SIGTERM. Wiring only.

import { randomBytes } from 'node:crypto';
import closeWithGrace from 'close-with-grace';
import { systemClock } from '../kube/clock.ts';
import { openConfiguredClient } from '../kube/config.ts';
import { createLog } from './log.ts';
import { readSettings } from './settings.ts';
import { type RunningOperator, startOperator } from './start.ts';

/** An end takes at most so long: writes under way, a last publish, the lease. */
const endMs = 15_000;

const log = createLog((line) => process.stdout.write(line), systemClock.wallMs);

try {
  const operator = await start();
  closeWithGrace({ delay: endMs }, async ({ signal, err }) => {
    if (err) log('error', 'the process failed and ends', { error: err.stack });
    else log('info', 'ending', { signal });
    await operator.close();
  });
  log('info', 'operator started', { metricsUrl: operator.metricsUrl });
} catch (error) {
  log('error', 'the operator could not start', {
    reason: error instanceof Error ? error.message : String(error),
  });
  process.exitCode = 1;
  // What has been started already would keep the process alive.
  process.exit();
}

async function start(): Promise<RunningOperator> {
  const settings = readSettings();
  const { client, server } = await openConfiguredClient({ kubeconfig: settings.kubeconfig });
  return await startOperator({
    client,
    serverHost: new URL(server).host,
    clock: systemClock,
    random: Math.random,
    randomBytes,
    settings,
    log,
  });
}
