// A ledger and the gateways whose journals it pulls, as the processes that they are in pods: one table in Secrets for all of them, the
// store in a folder or in Postgres.

import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LedgerRecord, ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import type { StorePlace } from '../../ledger/settings.ts';
import { openStore } from '../../ledger/store/open.ts';
import type { LedgerStore, Sums } from '../../ledger/store/store.ts';
import { builtCheckout } from '../cluster/checkout.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { freePort } from '../cluster/free-port.ts';
import { createGatewayPod } from '../cluster/gateway-pods.ts';
import { serverEnvironment } from '../cluster/identities.ts';
import { launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { publish } from '../gateway/table/published.ts';
import { makeTableNamespace } from '../gateway/table/table-namespace.ts';
import type { Postgres } from '../ledger/postgres.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { type RawTarget, rawCall } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

export interface LedgerStage {
  /** One more gateway pod; settled when it is ready. Gives where callers reach it. */
  startGateway(): Promise<Required<Omit<RawTarget, 'localAddress'>>>;
  /** A pod that somebody else plays, ready. */
  addPod(pod: { readonly name: string; readonly ip: string; readonly internalPort: number }): Promise<void>;
  /** The one ledger; the one before must have ended. */
  launchLedger(nodeArgs?: readonly string[], elsewhere?: StorePlace): Promise<LedgerProcess>;
  /** Runs a command of the ledger's program beside it. Gives what it printed. @throws where it fails. */
  command(words: readonly string[], elsewhere?: StorePlace): Promise<string>;
  /** Where it is, unless another place is named. */
  readonly place: StorePlace;
  /** Opened beside the ledger, to look into. */
  openReader(elsewhere?: StorePlace): Promise<LedgerStore>;
  close(): Promise<void>;
}

export interface LedgerProcess {
  readonly process: RunningProcess;
  readonly metricsUrl: string;
}

const labels = { 'app.kubernetes.io/component': 'gateway' };

/** @param postgres Left out: SQLite. */
export async function openLedgerStage(
  plane: ControlPlane,
  table: RoutingTable,
  postgres?: Postgres,
): Promise<LedgerStage> {
  await using parts = new AsyncDisposableStack();
  const place = await makeTableNamespace(plane.client);
  const { namespace } = place.pointer;
  await place.put(publish(table));
  // As it is in the image: it is up sooner, and its threads are beside it.
  const script = join(await builtCheckout(), 'ledger.js');
  const folder = await mkdtemp(join(plane.folder, 'ledger-'));
  const store =
    postgres === undefined
      ? ({ type: 'sqlite', path: join(folder, 'ledger', 'ledger.sqlite') } as const)
      : ({ type: 'postgres', url: await postgres.createDatabase(namespace.replaceAll('-', '_')) } as const);
  let pods = 0;
  const started = parts.move();

  const storeEnvironment = (place: StorePlace): Record<string, string> =>
    place.type === 'sqlite' ? { PENSTOCK_LEDGER_FILE: place.path } : { PENSTOCK_LEDGER_URL: place.url };

  return {
    place: store,
    async command(words, elsewhere = store) {
      const process = await startProcess(script, {
        cwd: folder,
        args: words,
        env: storeEnvironment(elsewhere),
      });
      const { code } = await process.exit;
      if (code !== 0) throw new Error(process.stderr());
      return process.stdout();
    },
    async startGateway() {
      const own = await makeFolder();
      started.defer(() => own.remove());
      const account = join(own.path, 'account');
      await mkdir(account);
      await writeFile(join(account, 'token'), plane.adminToken);
      await writeFile(join(account, 'ca.crt'), await readFile(plane.caFile));
      const internalPort = await freePort();
      const name = `gateway-${pods++}`;
      const pod = await createGatewayPod(plane, { namespace, name, labels, internalPort });
      const gateway = await launchListening(own, {
        PENSTOCK_HOST: pod.ip,
        PENSTOCK_INTERNAL_PORT: String(internalPort),
        PENSTOCK_TABLE_FILE: undefined,
        PENSTOCK_TABLE_SECRET: `${namespace}/${place.pointer.name}`,
        PENSTOCK_TABLE_COPY_DIR: join(own.path, 'copy'),
        PENSTOCK_SERVICE_ACCOUNT_DIR: account,
        ...serverEnvironment(plane),
      });
      started.defer(async () => void (await gateway.process.stop()));
      await pod.setReady(true);
      await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
      return { port: Number(new URL(gateway.url).port), host: pod.ip };
    },
    async addPod(standIn) {
      const pod = await createGatewayPod(plane, { namespace, labels, ...standIn });
      await pod.setReady(true);
    },
    async launchLedger(nodeArgs = [], elsewhere = store) {
      const process = await startProcess(script, {
        cwd: folder,
        nodeArgs,
        env: {
          PENSTOCK_NAMESPACE: namespace,
          PENSTOCK_TABLE_NAMESPACE: namespace,
          PENSTOCK_GATEWAY_SELECTOR: 'app.kubernetes.io/component=gateway',
          PENSTOCK_HOST: '127.0.0.1',
          PENSTOCK_PORT: '0',
          PENSTOCK_METRICS_PORT: '0',
          ...storeEnvironment(elsewhere),
          KUBECONFIG: plane.adminKubeconfig,
        },
      });
      started.defer(async () => void (await process.stop()));
      const said: unknown = JSON.parse(await process.line(/ledger started/));
      if (typeof said !== 'object' || said === null || !('metricsUrl' in said))
        throw new Error('the ledger does not say where it listens');
      return { process, metricsUrl: String(said.metricsUrl) };
    },
    async openReader(elsewhere = store) {
      const reader = await openStore(elsewhere, { onBroken() {}, onEnd() {} });
      started.defer(() => reader.close());
      return reader;
    },
    close: () => started.disposeAsync(),
  };
}

/** Settled when so many attempts are in it, and nothing is left behind: more than there should be would come as well. */
export async function untilTaken(
  reader: LedgerStore,
  ledger: LedgerProcess,
  attempts: number,
): Promise<void> {
  await until(async () => ((await sumsOf(reader))?.attempts ?? 0) >= attempts);
  await until(async () => (await figure(ledger, 'penstock_ledger_lag_seconds')) === 0);
}

/** Of everything. */
export async function sumsOf(reader: LedgerStore): Promise<Sums | undefined> {
  const [row] = await reader.sums({ from: '2000-01-01', to: '2100-01-01', by: [], limit: 1 });
  return row?.sums;
}

export async function recordsOf(reader: LedgerStore): Promise<readonly LedgerRecord[]> {
  const records = await reader.records({ after: 0, limit: 1_000_000 });
  return records.map(({ line }) => ledgerRecordSchema.parse(JSON.parse(line)));
}

/** What the one key has spent; undefined where it has nothing. */
export async function spendOf(reader: LedgerStore, key = 'team/key'): Promise<bigint | undefined> {
  const [spend] = await reader.spendOf('apiKey', [key], Date.now());
  return spend?.total.costPicodollars;
}

/** A metric without labels; 0 where it is not there. */
export async function figure({ metricsUrl }: LedgerProcess, name: string): Promise<number> {
  const { hostname, port } = new URL(metricsUrl);
  const { text } = await rawCall({ host: hostname, port: Number(port) }, { path: '/metrics', method: 'GET' });
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}
