// A gateway without parts that no setting disables: PENSTOCK_BENCH_FEATURES selects journal, ledger and metrics. Wiring only; it ends at
// once on a signal, because none of its state is kept.

import { systemClock } from '../../../core/clock.ts';
import { openFileJournal, openMemoryJournal } from '../../../gateway/meter/journal.ts';
import type { JournalReport } from '../../../gateway/meter/journal-report.ts';
import { RequestMetrics } from '../../../gateway/meter/request-metrics.ts';
import { readSettings } from '../../../gateway/process/settings.ts';
import { startGateway } from '../../../gateway/process/start.ts';
import { startWatchdog } from '../../../gateway/process/watchdog.ts';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { openFileSource } from '../../../gateway/table/sources/file.ts';
import { benchToken } from './token.ts';

/** Nothing is counted of what every request and attempt is. */
class Uncounted extends RequestMetrics {
  override onRequest(): void {}
  override onAttempt(): void {}
}

const settings = readSettings();
const features = new Set(process.env.PENSTOCK_BENCH_FEATURES?.split(','));
// A gateway whose journal fails does other work than the work under test, so the run ends.
const end = (why: string): never => {
  console.log(why);
  process.exit(1);
};
const report: JournalReport = {
  failed: (reason) => end(`the journal could not be written: ${reason}`),
  dropped: (records) => end(`${records} records were lost`),
  unacknowledged: () => end('the journal was full, and records were given up'),
};
const { journalBytesMax } = settings;
const fileJournal = features.has('journal')
  ? openFileJournal(
      settings.journalFolder,
      systemClock,
      report,
      journalBytesMax === undefined ? {} : { folderBytesMax: journalBytesMax },
    )
  : undefined;
const holder = new TableHolder();

startWatchdog(settings.watchdogMs, systemClock);
if (settings.table.type !== 'file') throw new Error('the table to measure with comes from a file');
await startGateway({
  ...settings,
  holder,
  journal: fileJournal ?? openMemoryJournal(() => {}),
  ...(features.has('metrics') ? {} : { requestMetrics: new Uncounted() }),
  ...(fileJournal !== undefined && features.has('ledger')
    ? { exchange: { port: settings.internalPort, journal: fileJournal, token: () => benchToken } }
    : {}),
  onLimitStore: (isInUse, why) => console.log(`limits in the store: ${isInUse}: ${why}`),
  onTelemetry: (message) => console.log(message),
  onFailure: (error) => console.log(error),
});
openFileSource(settings.table.path, holder, {
  taken: (generation) => console.log(`table ${generation} in use`),
  refused: (reason) => end(`table refused: ${reason}`),
});
