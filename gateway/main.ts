// The gateway process: settings, table, server, and a drain on SIGTERM. Wiring only.

import closeWithGrace from 'close-with-grace';
import { systemClock } from './clock.ts';
import { openFileJournal } from './meter/journal.ts';
import { type GatewaySettings, readSettings } from './settings.ts';
import { type RunningGateway, startGateway } from './start.ts';
import { TableHolder } from './table/holder.ts';
import { openFileSource } from './table/sources/file.ts';

interface RunningProcess {
  readonly gateway: RunningGateway;
  /** Takes no more tables, and drains. */
  drain(): Promise<void>;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const log = (level: 'info' | 'error', message: string, more: Record<string, unknown> = {}): void => {
  process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), message, ...more })}\n`);
};

try {
  const starting = start(readSettings());
  // Before it has started: who waits for the first answer may be quick to end it.
  drainOnSignal(starting);
  const { gateway } = await starting;
  log('info', 'gateway listening', { url: gateway.url, metricsUrl: gateway.metricsUrl });
} catch (error) {
  log('error', 'the gateway could not start', {
    reason: error instanceof Error ? error.message : String(error),
  });
  process.exitCode = 1;
  // What has been started already would keep the process alive.
  process.exit();
}

async function start(settings: GatewaySettings): Promise<RunningProcess> {
  const holder = new TableHolder();
  const journal = openFileJournal(settings.journalFolder, systemClock, {
    failed: (reason) => log('error', 'the journal could not be written', { reason }),
    dropped: (records) => {
      gateway.metrics.onLedgerDropped(records);
      log('error', 'ledger records were lost', { records });
    },
  });
  const gateway = await startGateway({
    ...settings,
    holder,
    journal,
    onFailure: (error, requestId) => {
      log('error', 'a request failed', {
        requestId,
        error: error instanceof Error ? error.stack : String(error),
      });
    },
  });
  const source = openFileSource(settings.tableFile, holder, {
    taken: (generation) => log('info', 'routing table in use', { generation }),
    refused: (reason) => {
      gateway.metrics.onTableRefused();
      log('error', 'routing table refused', { reason });
    },
  });
  return {
    gateway,
    async drain() {
      source.close();
      await gateway.drain();
    },
  };
}

/** The first signal begins the drain, the second one breaks running streams off; no signal loses a record. */
function drainOnSignal(starting: Promise<RunningProcess>): void {
  let isDraining = false;
  // It ends the process at a second signal, whatever is under way; so the signals are counted here.
  const closer = closeWithGrace({ delay: false, skip: [...signals] }, async ({ err }) => {
    isDraining = true;
    if (err) log('error', 'the process failed and drains', { error: err.stack });
    await (await starting).drain();
  });
  let signalCount = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signalCount++;
    if (signalCount > 1) {
      log('info', 'running streams are broken off', { signal });
      void starting.then(({ gateway }) => gateway.hurry());
    } else if (!isDraining) {
      log('info', 'draining', { signal });
      closer.close();
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
}
