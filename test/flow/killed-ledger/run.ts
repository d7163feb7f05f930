// What does the ledger say when it is killed again and again, or its Postgres, while gateways serve? The callers' own log and that of
// the providers are held against it.

import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type LedgerRecord, ledgerRecordSchema } from '../../../gateway/contract/ledger-record.ts';
import { openStore } from '../../../ledger/store/open.ts';
import type { Sums } from '../../../ledger/store/store.ts';
import { builtCheckout } from '../../cluster/checkout.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { freePort } from '../../cluster/free-port.ts';
import { createGatewayPod } from '../../cluster/gateway-pods.ts';
import { serverEnvironment } from '../../cluster/identities.ts';
import { launchListening, makeFolder } from '../../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../../gateway/rig.ts';
import { publish } from '../../gateway/table/published.ts';
import { makeTableNamespace } from '../../gateway/table/table-namespace.ts';
import type { Postgres } from '../../ledger/postgres.ts';
import type { Random } from '../../simulation/random.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { startWall } from '../../support/wall.ts';

export interface KilledLedger {
  readonly plane: ControlPlane;
  readonly kills: number;
  /** Says when the next kill comes, and of what. */
  readonly random: Random;
  /** Undefined: SQLite. */
  readonly postgres?: Postgres;
}

export interface KilledLedgerSeen {
  /** Ids of requests that were answered, with the attempts that they took. */
  readonly asked: ReadonlyMap<string, number>;
  /** Upstream calls that the providers saw. */
  readonly callsMade: number;
  readonly records: readonly LedgerRecord[];
  readonly sums: Sums | undefined;
  /** What the one key has spent. */
  readonly spentPicodollars: bigint | undefined;
  /** Processes of the ledger, and of Postgres, that a kill has ended. */
  readonly killedLedgers: number;
  readonly killedPostgres: number;
  /** Processes of the ledger that nobody has killed, and that ended all the same. */
  readonly endedByThemselves: number;
}

const gateways = 2;
const callers = 4;
const labels = { 'app.kubernetes.io/component': 'gateway' };
/** From the first record that is stored to the kill. */
const lifeMsMax = 250;

export async function runKilledLedger({
  plane,
  kills,
  random,
  postgres,
}: KilledLedger): Promise<KilledLedgerSeen> {
  await using parts = new AsyncDisposableStack();
  const first = await startWall(({ number }) =>
    number % 3 === 0 ? { type: 'status', status: 503 } : { type: 'answer' },
  );
  parts.defer(() => first.close());
  const second = await startWall();
  parts.defer(() => second.close());
  const place = await makeTableNamespace(plane.client);
  const { namespace } = place.pointer;
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  await place.put(
    publish(tableOf([{ baseUrl: first.baseUrl, providerEntry: { breaker } }, { baseUrl: second.baseUrl }])),
  );
  // As it is in the image: it is up sooner, and its threads are beside it.
  const script = join(await builtCheckout(), 'ledger.js');
  const folder = await mkdtemp(join(plane.folder, 'killed-ledger-'));
  const ports: number[] = [];
  for (let at = 0; at < gateways; at++) ports.push(await startGateway(at));

  const store =
    postgres === undefined
      ? ({ type: 'sqlite', path: join(folder, 'ledger', 'ledger.sqlite') } as const)
      : ({ type: 'postgres', url: await postgres.createDatabase(namespace.replaceAll('-', '_')) } as const);

  const asked = new Map<string, number>();
  let isOver = false;
  const calling = Array.from({ length: callers }, async (_, at) => {
    while (!isOver) await askOne(ports[at % gateways] ?? 0, asked);
  });

  let killedLedgers = 0;
  let killedPostgres = 0;
  let endedByThemselves = 0;
  try {
    for (let life = 0; life < kills; life++) {
      const ledger = await launchLedger();
      const before = await recordsStored(ledger);
      await until(async () => (await recordsStored(ledger)) > before, 5);
      await pause(random.between(0, lifeMsMax));
      // Both at once now and then: what is committed then is known to nobody but Postgres.
      const isPostgres = postgres !== undefined && random.between(0, 2) > 0;
      if (isPostgres) {
        await postgres.kill();
        killedPostgres++;
      }
      const isLedger = !isPostgres || random.between(0, 1) === 0;
      if (isLedger) ledger.process.signal('SIGKILL');
      if (isPostgres) await postgres.start();
      // One that has lost its database goes on when it is back.
      if (!isLedger && !(await storesAgain(ledger))) endedByThemselves++;
      ledger.process.signal('SIGKILL');
      if ((await ledger.process.exit).signal === 'SIGKILL') killedLedgers++;
    }
  } finally {
    isOver = true;
    await Promise.all(calling);
  }

  const callsMade = first.calls.length + second.calls.length;
  const last = await launchLedger();
  const query = { from: '2000-01-01', to: '2100-01-01', by: [], limit: 1 };
  // Records are written in groups, after the answer; and more than there should be would come as well.
  const reader = await openStore(store, { onBroken() {}, onEnd() {} });
  parts.defer(() => reader.close());
  await until(async () => ((await reader.sums(query))[0]?.sums.attempts ?? 0) >= callsMade);
  await until(async () => (await lagOf(last)) === 0);
  await last.process.stop();
  const records = await reader.records({ after: 0, limit: 1_000_000 });
  const [spend] = await reader.spendOf('apiKey', ['team/key'], Date.now());
  return {
    asked,
    callsMade,
    records: records.map(({ line }) => ledgerRecordSchema.parse(JSON.parse(line))),
    sums: (await reader.sums(query))[0]?.sums,
    spentPicodollars: spend?.total.costPicodollars,
    killedLedgers,
    killedPostgres,
    endedByThemselves,
  };

  async function startGateway(at: number): Promise<number> {
    const own = await makeFolder();
    parts.defer(() => own.remove());
    const account = join(own.path, 'account');
    await mkdir(account);
    await writeFile(join(account, 'token'), plane.adminToken);
    await writeFile(join(account, 'ca.crt'), await readFile(plane.caFile));
    const internalPort = await freePort();
    const pod = await createGatewayPod(plane, { namespace, name: `gateway-${at}`, labels, internalPort });
    const gateway = await launchListening(own, {
      PENSTOCK_HOST: pod.ip,
      PENSTOCK_INTERNAL_PORT: String(internalPort),
      PENSTOCK_TABLE_FILE: undefined,
      PENSTOCK_TABLE_SECRET: `${namespace}/${place.pointer.name}`,
      PENSTOCK_TABLE_COPY_DIR: join(own.path, 'copy'),
      PENSTOCK_SERVICE_ACCOUNT_DIR: account,
      ...serverEnvironment(plane),
    });
    parts.defer(async () => void (await gateway.process.stop()));
    await pod.setReady(true);
    await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
    hosts.set(Number(new URL(gateway.url).port), pod.ip);
    return Number(new URL(gateway.url).port);
  }

  async function launchLedger(): Promise<LedgerProcess> {
    const process = await startProcess(script, {
      cwd: folder,
      env: {
        PENSTOCK_NAMESPACE: namespace,
        PENSTOCK_TABLE_NAMESPACE: namespace,
        PENSTOCK_GATEWAY_SELECTOR: 'app.kubernetes.io/component=gateway',
        PENSTOCK_HOST: '127.0.0.1',
        PENSTOCK_PORT: '0',
        PENSTOCK_METRICS_PORT: '0',
        ...(store.type === 'sqlite'
          ? { PENSTOCK_LEDGER_FILE: store.path }
          : { PENSTOCK_LEDGER_URL: store.url }),
        KUBECONFIG: plane.adminKubeconfig,
      },
    });
    parts.defer(async () => void (await process.stop()));
    const said: unknown = JSON.parse(await process.line(/ledger started/));
    if (typeof said !== 'object' || said === null || !('metricsUrl' in said))
      throw new Error('the ledger does not say where it listens');
    return { process, metricsUrl: String(said.metricsUrl) };
  }
}

interface LedgerProcess {
  readonly process: RunningProcess;
  readonly metricsUrl: string;
}

/** Of each gateway, by its port. */
const hosts = new Map<number, string>();

async function askOne(port: number, asked: Map<string, number>): Promise<void> {
  const answer = await rawCall(
    { port, host: hosts.get(port) ?? '127.0.0.1' },
    {
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${testKey}` },
      body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] },
    },
  );
  asked.set(answer.headers['x-request-id'] ?? '', Number(answer.headers['x-penstock-attempts']));
}

async function figure({ metricsUrl }: LedgerProcess, name: string): Promise<number> {
  const { hostname, port } = new URL(metricsUrl);
  const { text } = await rawCall({ host: hostname, port: Number(port) }, { path: '/metrics', method: 'GET' });
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}
const recordsStored = (ledger: LedgerProcess) => figure(ledger, 'penstock_ledger_records_total');
const lagOf = (ledger: LedgerProcess) => figure(ledger, 'penstock_ledger_lag_seconds');

/** False where it has ended instead. */
async function storesAgain(ledger: LedgerProcess): Promise<boolean> {
  const ended = ledger.process.exit.then(() => false);
  const before = await recordsStored(ledger).catch(() => Infinity);
  const isMore = async () => (await recordsStored(ledger).catch(() => 0)) > before;
  return await Promise.race([ended, until(isMore)]);
}
