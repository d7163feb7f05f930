// The ledger as it runs, but for Kubernetes: a real store, pulls, and the read API that gateways ask; and gateways whose journals it
// reads. It can go away and come back.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../core/clock.ts';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { openSpendClient } from '../../../gateway/exchange/ask-spend.ts';
import { openFileJournal } from '../../../gateway/meter/journal.ts';
import type { GatewayOptions } from '../../../gateway/process/options.ts';
import { openJournalClient } from '../../../ledger/ask-journal.ts';
import { startPulls } from '../../../ledger/pull.ts';
import { buildReadApi } from '../../../ledger/read-api/read-api.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import { noGateways } from '../../ledger/read-house.ts';
import { until } from '../../support/until.ts';
import { type Rig, startRig } from '../rig.ts';
import { portOf } from './fleet.ts';

const token = 't'.repeat(43);

export interface LedgerHouse {
  /** A gateway with a journal in this folder of the house; one that is closed can be started again over it. */
  startGateway(name: string, table: RoutingTable, options?: Partial<GatewayOptions>): Promise<Rig>;
  /** Resolves when the ledger has reported a gateway of all that this one has spent so far. */
  hasReported(name: string): Promise<void>;
  /** Dollars of a key, of all time. */
  spentBy(apiKey: string): Promise<number>;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

interface Telling {
  /** The ledger has all of its journal. */
  isTaken(): boolean;
  /** How often it has asked. */
  asked: number;
}

/** @param wallMs What the ledger takes for the time. */
export async function openLedgerHouse(wallMs = systemClock.wallMs): Promise<LedgerHouse> {
  const clock = { ...systemClock, wallMs };
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-budgets-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const store = await openSqliteStore(join(folder, 'ledger.sqlite'));
  parts.defer(() => store.close());
  const journals = openJournalClient(systemClock);
  parts.defer(() => journals.close());
  const quiet = () => {};
  const pulls = startPulls({
    store,
    clock,
    random: () => 0,
    ask: journals.ask,
    tokenOf: () => token,
    report: { taken: quiet, quarantined: quiet, restarted: quiet, failed: quiet, recovered: quiet },
  });
  parts.defer(() => pulls.close());
  let server: Server;
  const listen = async (port: number): Promise<number> => {
    server = buildReadApi({
      store,
      access: undefined,
      budgets: () => undefined,
      clock,
      gateways: noGateways,
      token: () => token,
      onFailure: quiet,
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  };
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const port = await listen(0);
  parts.defer(stop);
  const client = openSpendClient({ address: `http://127.0.0.1:${port}` }, () => token, systemClock);
  parts.defer(() => client.close());

  const gateways = new Map<string, string>();
  const tellings = new Map<string, Telling>();
  const watch = (isHere = true): void =>
    pulls.setPods(
      isHere
        ? [...gateways].map(([name, url]) => ({ uid: name, name, ip: '127.0.0.1', port: portOf(url) }))
        : [],
    );
  const started = parts.move();
  return {
    async startGateway(name, table, options = {}) {
      const journal = openFileJournal(join(folder, name), systemClock, { failed: quiet, dropped: quiet });
      const telling: Telling = {
        isTaken: () => journal.progress.taken() === journal.progress.appended(),
        asked: 0,
      };
      tellings.set(name, telling);
      const rig = await startRig(table, {
        journal,
        exchange: { port: 0, journal, token: () => token },
        askSpend(...asked) {
          telling.asked++;
          return client.ask(...asked);
        },
        ...options,
      });
      gateways.set(name, rig.gateway.internalUrl ?? '');
      watch();
      return rig;
    },
    async hasReported(name) {
      const telling = tellings.get(name);
      if (telling === undefined) throw new Error(`there is no gateway ${name}`);
      await until(async () => telling.isTaken());
      const { asked } = telling;
      // It asks again when it has made use of the last answer.
      await until(async () => telling.asked >= asked + 2);
    },
    async spentBy(apiKey) {
      const [spend] = await store.spendOf('apiKey', [apiKey], Date.now());
      return Number(spend?.total.costPicodollars ?? 0n) / 1e12;
    },
    async goAway() {
      watch(false);
      await stop();
    },
    async comeBack() {
      await listen(port);
      watch();
    },
    close: () => started.disposeAsync(),
  };
}
