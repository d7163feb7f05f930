// What becomes of a ledger that comes back to the journals of many gateways? The real process with the heap that the chart gives it,
// stand-ins for the pods.

import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { freePort } from '../../cluster/free-port.ts';
import { figure, openLedgerStage, sumsOf } from '../../flow/ledger-stage.ts';
import { tableOf } from '../../gateway/rig.ts';
import type { Postgres } from '../../ledger/postgres.ts';
import { startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { type Resident, readResident } from '../scale/readings.ts';
import { PAGE_RECORDS } from './page-records.ts';

export interface Backlog {
  readonly plane: ControlPlane;
  readonly pods: number;
  /** In the journal of each. */
  readonly pages: number;
  /** Undefined: SQLite. */
  readonly postgres?: Postgres | undefined;
}

export interface BacklogSeen {
  readonly records: number;
  /** In the ledger. */
  readonly taken: number;
  /** From the start of the process on. */
  readonly readyMs: number;
  readonly takenMs: number;
  /** Of the ledger's processor time, a record. */
  readonly cpuUs: number;
  /** Undefined where it has ended. */
  readonly resident: Resident | undefined;
  readonly log: string;
}

/** As the chart starts it. */
const nodeArgs = ['--max-old-space-size=256', '--max-semi-space-size=8'];

export async function runBacklog({ plane, pods, pages, postgres }: Backlog): Promise<BacklogSeen> {
  await using parts = new AsyncDisposableStack();
  const stage = await openLedgerStage(plane, tableOf([{ baseUrl: 'http://127.0.0.1:1/v1' }]), postgres);
  parts.defer(() => stage.close());
  const port = await freePort();
  const script = fileURLToPath(new URL('./stand-ins.ts', import.meta.url));
  const standIns = await startProcess(script, { args: [String(port), String(pages)] });
  parts.defer(async () => void (await standIns.stop()));
  await standIns.line(/listening/);
  for (let at = 0; at < pods; at++)
    await stage.addPod({
      name: `stand-in-${at}`,
      ip: `127.2.${Math.floor(at / 200)}.${(at % 200) + 1}`,
      internalPort: port,
    });

  const startedMs = performance.now();
  const ledger = await stage.launchLedger(nodeArgs);
  await ledger.process.answering(`${ledger.metricsUrl}/readyz`);
  const readyMs = performance.now() - startedMs;
  let hasEnded = false;
  void ledger.process.exit.then(() => {
    hasEnded = true;
  });
  const records = pods * pages * PAGE_RECORDS;
  // Seldom: what is asked of the ledger takes its time from it.
  const isTaken = async () => (await figure(ledger, 'penstock_ledger_records_total')) >= records;
  await Promise.race([until(isTaken, 500), ledger.process.exit]);
  const takenMs = performance.now() - startedMs;
  const cpuSeconds = hasEnded ? 0 : await figure(ledger, 'process_cpu_seconds_total');
  const resident = hasEnded ? undefined : await readResident(ledger.process);
  const reader = await stage.openReader();
  return {
    records,
    taken: (await sumsOf(reader))?.attempts ?? 0,
    readyMs,
    takenMs,
    cpuUs: Math.round((cpuSeconds * 1_000_000) / records),
    resident,
    log: ledger.process.stdout(),
  };
}
