// The gateway process: settings, table, server, and a drain on SIGTERM. Wiring only.

import { mkdirSync } from 'node:fs';
import closeWithGrace from 'close-with-grace';
import { systemClock } from './clock.ts';
import { openFileJournal } from './meter/journal.ts';
import { readSettings } from './settings.ts';
import { startGateway } from './start.ts';
import { TableHolder } from './table/holder.ts';
import { openFileSource } from './table/sources/file.ts';

const log = (level: 'info' | 'error', message: string, more: Record<string, unknown> = {}): void => {
  process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), message, ...more })}\n`);
};

const settings = readSettings();
mkdirSync(settings.journalFolder, { recursive: true });
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
log('info', 'gateway listening', { url: gateway.url, metricsUrl: gateway.metricsUrl });

closeWithGrace({ delay: false, onSecondSignal: () => gateway.hurry() }, async ({ signal, err }) => {
  if (err) log('error', 'the process failed and drains', { error: err.stack });
  else log('info', 'draining', { signal });
  source.close();
  await gateway.drain();
});
