// The gateway process: settings, table, server, and a drain on SIGTERM. Wiring only.

import { systemClock } from '../core/clock.ts';
import { helpIfAsked } from '../core/help.ts';
import { errorInLog } from '../core/kube/error-in-log.ts';
import { openServiceAccountClient } from '../core/kube/service-account.ts';
import { openSpendClient, type SpendClient } from './exchange/ask-spend.ts';
import { openFileJournal } from './meter/journal.ts';
import type { JournalReport } from './meter/journal-report.ts';
import { writeUnacknowledged } from './meter/unacknowledged.ts';
import { leaveNoDump } from './process/leave-no-dump.ts';
import { type GatewaySettings, readSettings, settingNames, type TableSettings } from './process/settings.ts';
import { type RunningGateway, startGateway } from './process/start.ts';
import { startWatchdog } from './process/watchdog.ts';
import { TableHolder } from './table/holder.ts';
import { openFileSource } from './table/sources/file.ts';
import { openSecretSource, type SecretSource, type SecretSourceReport } from './table/sources/secret.ts';
import { TableStatus } from './table/status.ts';

interface RunningProcess {
  readonly gateway: RunningGateway;
  /** Takes no more tables, and drains. */
  drain(): Promise<void>;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;
/** While it drains. A process that fails again and again, as with a broken log pipe, would never finish its drain. */
const errorsMax = 10;

const isHelp = helpIfAsked({
  usage: ['node dist/gateway.js'],
  does: 'The gateway serves /v1 from a routing table: a file, or the Secret that the operator writes. The Helm chart starts it.',
  variables: [...settingNames, 'OTEL_EXPORTER_OTLP_ENDPOINT   metrics, traces and usage events over OTLP'],
});
if (isHelp) process.exit(0);

const log = (level: 'info' | 'error', message: string, more: Record<string, unknown> = {}): void => {
  process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), message, ...more })}\n`);
};

try {
  leaveNoDump();
  const settings = readSettings();
  startWatchdog(settings.watchdogMs, systemClock);
  const starting = start(settings);
  // Before the start has finished: a signal may come at once.
  drainOnSignal(starting);
  const { gateway } = await starting;
  const { url, metricsUrl, internalUrl, internalTlsUrl } = gateway;
  log('info', 'gateway listening', { url, metricsUrl, internalUrl, internalTlsUrl });
} catch (error) {
  log('error', 'the gateway could not start', {
    reason: error instanceof Error ? error.message : String(error),
  });
  process.exitCode = 1;
  // Parts that have started already would keep the process alive.
  process.exit();
}

async function start(settings: GatewaySettings): Promise<RunningProcess> {
  const holder = new TableHolder();
  const { journalFolder, journalBytesMax } = settings;
  const bounds = journalBytesMax === undefined ? {} : { folderBytesMax: journalBytesMax };
  const journalReport: JournalReport = {
    failed: (reason) => log('error', 'the journal could not be written', { reason }),
    dropped: (records) => {
      gateway.metrics.onLedgerDropped(records);
      log('error', 'ledger records were lost', { records });
    },
    replayed: (records) => log('info', 'attempts were in flight when an earlier process ended', { records }),
    damaged: (lines) => log('error', 'damaged journal lines were quarantined', { lines }),
    unacknowledged: (lines) => writeUnacknowledged(lines, (text) => process.stdout.write(text)),
  };
  const journal = openFileJournal(journalFolder, systemClock, journalReport, bounds);
  const tableStatus = new TableStatus(systemClock.wallMs);
  let secretSource: SecretSource | undefined;
  const spend =
    settings.ledgerAddress === undefined
      ? undefined
      : openSpendClient(
          {
            address: settings.ledgerAddress,
            tlsAddress: settings.ledgerTlsAddress,
            trusted: () => secretSource?.internalTls()?.trusted,
          },
          () => secretSource?.exchangeToken(),
          systemClock,
        );
  const gateway = await startGateway({
    ...settings,
    askSpend: spend?.ask,
    holder,
    journal,
    tableStatus,
    operatorSeenMs: () => secretSource?.heartbeatMs(),
    ...(settings.table.type === 'secret'
      ? {
          exchange: {
            port: settings.internalPort,
            tlsPort: settings.internalTlsPort,
            hasPlain: settings.hasInternalPlain,
            journal,
            token: () => secretSource?.exchangeToken(),
          },
        }
      : {}),
    onLedger: (isHeard, error) => {
      if (isHeard) log('info', 'the ledger answers again');
      else log('error', 'the ledger does not report spend', { error: errorInLog(error) });
    },
    onLimitStore: (isInUse, why) => {
      if (isInUse) log('info', 'limits are kept in the store', { why });
      else log('error', 'limits are not kept in the store', { why, instead: settings.limits.onStoreError });
    },
    onTelemetry: (message) => log('info', message),
    onCertificate: (unusable) => {
      if (unusable === undefined) log('info', 'a renewed TLS certificate is in use');
      else
        log('error', 'a renewed TLS certificate cannot be used; the previous one stays in use', {
          reason: unusable,
        });
    },
    onFailure: (error, requestId, clientRequestId) => {
      log('error', 'a request failed', {
        requestId,
        clientRequestId,
        error: errorInLog(error),
      });
    },
    onUnusable: ({ provider, upstreamModel, cause, request, attempt, clientRequestId }) => {
      log('error', 'an upstream sent an unusable answer', {
        provider,
        upstreamModel,
        cause,
        requestId: request,
        attempt,
        clientRequestId,
      });
    },
  });
  const report: SecretSourceReport = {
    certified(pair) {
      const shown = gateway.showCertificate(pair);
      if (shown === 'same') return;
      log('info', 'a certificate for operator and ledger is in use', { isRenewed: shown === 'renewed' });
    },
    taken(generation, taken) {
      tableStatus.taken(taken);
      if (taken.loadMs !== undefined) gateway.metrics.onTableLoaded(taken.loadMs);
      log('info', 'routing table in use', { generation, source: taken.source });
    },
    refused(reason, refused) {
      tableStatus.refused(reason, refused);
      gateway.metrics.onTableRefused(refused.failure);
      log('error', 'routing table refused', { reason });
    },
    noted: (message) => log('info', message),
  };
  if (settings.table.type === 'file') {
    const source = openFileSource(settings.table.path, holder, report);
    return drainable(gateway, spend, () => source.close());
  }
  const { close, source } = watchPointer(settings.table, holder, report);
  secretSource = source;
  return drainable(gateway, spend, close);
}

function drainable(
  gateway: RunningGateway,
  spend: SpendClient | undefined,
  closeSource: () => void | Promise<void>,
): RunningProcess {
  return {
    gateway,
    async drain() {
      await Promise.all([closeSource(), gateway.drain()]);
      spend?.close();
    },
  };
}

function watchPointer(
  settings: Extract<TableSettings, { type: 'secret' }>,
  holder: TableHolder,
  report: SecretSourceReport,
): { readonly source: SecretSource; close(): Promise<void> } {
  const { serviceAccountFolder: folder, apiHost: host, apiPort: port, pointer, copyFolder } = settings;
  const client = openServiceAccountClient({ folder, host, port });
  const source = openSecretSource({
    client,
    clock: systemClock,
    random: Math.random,
    pointer,
    copyFolder,
    holder,
    report,
  });
  return {
    source,
    async close() {
      await source.close();
      client.close();
    },
  };
}

/**
 * The first signal or error begins the drain, a second signal breaks running streams off; neither loses a record. A failure of one request
 * during the drain does not cut the answers of others.
 */
function drainOnSignal(starting: Promise<RunningProcess>): void {
  let signalCount = 0;
  let errorCount = 0;
  let isDraining = false;
  const drain = async (): Promise<void> => {
    isDraining = true;
    try {
      await (await starting).drain();
      process.exit(errorCount === 0 ? 0 : 1);
    } catch (error) {
      log('error', 'the drain failed', { error: errorInLog(error) });
      process.exit(1);
    }
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    signalCount++;
    if (signalCount > 1) {
      log('info', 'open streams are closed', { signal });
      void starting.then(({ gateway }) => gateway.hurry());
    } else if (!isDraining) {
      log('info', 'draining', { signal });
      void drain();
    }
  };
  const onError = (error: unknown): void => {
    errorCount++;
    const message = isDraining ? 'the process failed while it drained' : 'the process failed and drains';
    log('error', message, { error: errorInLog(error) });
    if (errorCount === errorsMax) process.exit(1);
    if (!isDraining) void drain();
  };
  for (const signal of signals) process.on(signal, onSignal);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
}
