// The ledger process: settings, store, connection, ledger, and an orderly end on SIGTERM; or one command by hand. Wiring only.

import { once } from 'node:events';
import closeWithGrace from 'close-with-grace';
import { systemClock } from '../core/clock.ts';
import { helpIfAsked } from '../core/help.ts';
import { openConfiguredClient } from '../core/kube/config.ts';
import { createLog, endingLogger, logEnding } from '../core/kube/log.ts';
import { sendMetrics } from '../core/telemetry/send-metrics.ts';
import packageJson from '../package.json' with { type: 'json' };
import { COMMANDS, runCommand } from './commands.ts';
import { sourceOf } from './export/cloud-events.ts';
import { ledgerMetrics } from './metric-table.ts';
import {
  type LedgerSettings,
  readInstallation,
  readSettings,
  readStorePlace,
  settingNames,
} from './settings.ts';
import { type RunningLedger, startLedger } from './start.ts';
import { openStore } from './store/open.ts';

/** An end takes at most so long: what gateways that end too still write (25 s), and what is being stored. */
const endMs = 40_000;
/** And at most so long for a collector to take the last figures. */
const telemetryFlushMs = 2_000;

const log = createLog((line) => process.stdout.write(line), systemClock.wallMs);
const words = process.argv.slice(2);

const isHelp = helpIfAsked({
  usage: COMMANDS,
  does: 'Without a command, the ledger pulls the journals of the gateways, keeps them and answers about them. The Helm chart starts it.',
  variables: [
    'PENSTOCK_LEDGER_FILE   the SQLite file; in local mode .penstock/ledger.sqlite',
    'PENSTOCK_LEDGER_URL   Postgres instead',
    ...settingNames.filter((name) => name !== 'PENSTOCK_LEDGER_FILE' && name !== 'PENSTOCK_LEDGER_URL'),
  ],
});
if (isHelp) process.exit(0);

if (words.length > 0) await command();
else await serve();

async function command(): Promise<void> {
  // The reader has gone, as in `export … | head`: it has what it wanted.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  try {
    const installation = readInstallation();
    await runCommand(words, {
      source: installation && sourceOf(installation),
      place: () => readStorePlace(),
      wallMs: systemClock.wallMs,
      open: () => openStore(readStorePlace(), { onBroken() {}, onEnd() {} }),
      async write(text) {
        if (!process.stdout.write(text)) await once(process.stdout, 'drain');
      },
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function serve(): Promise<void> {
  try {
    const settings = readSettings();
    const ledger = await start(settings);
    const telemetry = await sendMetrics(settings.telemetry, {
      clock: systemClock,
      registry: ledger.metrics.registry,
      table: ledgerMetrics,
      version: packageJson.version,
      onTelemetry: (message) => log('warn', message),
    });
    closeWithGrace({ delay: endMs, logger: endingLogger(log) }, async (cause) => {
      logEnding(log, cause);
      if (cause.err === undefined) await ledger.outlastGateways();
      await ledger.close();
      await telemetry?.close(telemetryFlushMs);
    });
    log('info', 'ledger started', { url: ledger.url, tlsUrl: ledger.tlsUrl, metricsUrl: ledger.metricsUrl });
  } catch (error) {
    log('error', 'the ledger could not start', {
      reason: error instanceof Error ? error.message : String(error),
    });
    process.exitCode = 1;
    // Parts that have started already would keep the process alive.
    process.exit();
  }
}

async function start(settings: LedgerSettings): Promise<RunningLedger> {
  const store = await openStore(settings.store, {
    onBroken: (reason) => log('warn', 'a connection to the database broke; reconnecting', { reason }),
    onEnd(reason) {
      log('error', 'the database has closed; the process exits', { reason });
      process.exit(1);
    },
    onSlow: (reason) => log('warn', 'the store is slower than it could be', { reason }),
  });
  const { client } = await openConfiguredClient({ kubeconfig: settings.kubeconfig });
  return await startLedger({ client, clock: systemClock, random: Math.random, settings, store, log });
}
