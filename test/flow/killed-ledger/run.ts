// What does the ledger say when it is killed again and again, or its Postgres, while gateways serve? The callers' own log and that of
// the providers are held against it.

import { setTimeout as pause } from 'node:timers/promises';
import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { Sums } from '../../../ledger/store/store.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { tableOf, testKey } from '../../gateway/rig.ts';
import type { Postgres } from '../../ledger/postgres.ts';
import type { Random } from '../../simulation/random.ts';
import { type RawTarget, rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { startWall } from '../../support/wall.ts';
import {
  figure,
  type LedgerProcess,
  type LedgerStage,
  openLedgerStage,
  recordsOf,
  spendOf,
  sumsOf,
  untilTaken,
} from '../ledger-stage.ts';

export interface KilledLedger {
  readonly plane: ControlPlane;
  readonly kills: number;
  /** Says when the next kill comes, and of what. */
  readonly random: Random;
  /** Undefined: SQLite. */
  readonly postgres?: Postgres;
}

export interface LedgerSeen {
  /** Ids of requests that were answered, with the attempts that they took. */
  readonly asked: ReadonlyMap<string, number>;
  /** Upstream calls that the providers saw. */
  readonly callsMade: number;
  readonly records: readonly LedgerRecord[];
  readonly sums: Sums | undefined;
  /** What the one key has spent. */
  readonly spentPicodollars: bigint | undefined;
}

export interface KilledLeaderSeen extends LedgerSeen {
  /** Of each kill, until the next one had stored a record. */
  readonly failoverMs: readonly number[];
}

export interface KilledLedgerSeen extends LedgerSeen {
  /** Processes of the ledger, and of Postgres, that a kill has ended. */
  readonly killedLedgers: number;
  readonly killedPostgres: number;
  /** Processes of the ledger that nobody has killed, and that ended all the same. */
  readonly endedByThemselves: number;
}

const gateways = 2;
const callers = 4;
/** Between two requests of a caller: there are records at any time, and the cores have others to serve. */
const pauseMs = 20;
/** From the first record that is stored to the kill. */
const lifeMsMax = 250;

interface Load {
  readonly stage: LedgerStage;
  readonly asked: ReadonlyMap<string, number>;
}

/** Gateways, and callers who do not stop, while `kill` runs; then what the ledger says. */
async function underLoad(
  plane: ControlPlane,
  postgres: Postgres | undefined,
  kill: (load: Load) => Promise<void>,
): Promise<LedgerSeen> {
  await using parts = new AsyncDisposableStack();
  const first = await startWall(({ number }) =>
    number % 3 === 0 ? { type: 'status', status: 503 } : { type: 'answer' },
  );
  parts.defer(() => first.close());
  const second = await startWall();
  parts.defer(() => second.close());
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  const table = tableOf([
    { baseUrl: first.baseUrl, providerEntry: { breaker } },
    { baseUrl: second.baseUrl },
  ]);
  const stage = await openLedgerStage(plane, table, postgres);
  parts.defer(() => stage.close());
  const doors: RawTarget[] = [];
  for (let at = 0; at < gateways; at++) doors.push(await stage.startGateway());

  const asked = new Map<string, number>();
  let isOver = false;
  const calling = Array.from({ length: callers }, async (_, at) => {
    while (!isOver) {
      await askOne(doors[at % gateways] ?? { port: 0 }, asked);
      await pause(pauseMs);
    }
  });
  try {
    await kill({ stage, asked });
  } finally {
    isOver = true;
    await Promise.all(calling);
  }

  const callsMade = first.calls.length + second.calls.length;
  const last = await stage.launchLedger();
  // Records are written in groups, after the answer.
  const reader = await stage.openReader();
  await untilTaken(reader, last, callsMade);
  await last.process.stop();
  return {
    asked,
    callsMade,
    records: await recordsOf(reader),
    sums: await sumsOf(reader),
    spentPicodollars: await spendOf(reader),
  };
}

export async function runKilledLedger({
  plane,
  kills,
  random,
  postgres,
}: KilledLedger): Promise<KilledLedgerSeen> {
  let killedLedgers = 0;
  let killedPostgres = 0;
  let endedByThemselves = 0;
  const seen = await underLoad(plane, postgres, async ({ stage }) => {
    for (let life = 0; life < kills; life++) {
      const ledger = await stage.launchLedger();
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
  });
  return { ...seen, killedLedgers, killedPostgres, endedByThemselves };
}

/** Two ledgers in one Postgres; again and again the one that leads is killed, and another one comes to stand by. */
export async function runKilledLeader({
  plane,
  kills,
  random,
  postgres,
}: Required<KilledLedger>): Promise<KilledLeaderSeen> {
  const failoverMs: number[] = [];
  const seen = await underLoad(plane, postgres, async ({ stage }) => {
    let standing = [await stage.launchLedger(), await stage.launchLedger()];
    const leaderOf = async (): Promise<LedgerProcess | undefined> => {
      for (const ledger of standing) if ((await figure(ledger, 'penstock_ledger_leads')) === 1) return ledger;
      return undefined;
    };
    for (let life = 0; life < kills; life++) {
      const leader = await until(leaderOf);
      const before = await recordsStored(leader);
      await until(async () => (await recordsStored(leader)) > before, 5);
      await pause(random.between(0, lifeMsMax));
      leader.process.signal('SIGKILL');
      const killedMs = performance.now();
      await leader.process.exit;
      standing = standing.filter((ledger) => ledger !== leader);
      const next = await until(leaderOf);
      await until(async () => (await recordsStored(next)) > 0, 5);
      failoverMs.push(performance.now() - killedMs);
      standing.push(await stage.launchLedger());
    }
    for (const { process } of standing) await process.stop();
  });
  return { ...seen, failoverMs };
}

async function askOne(door: RawTarget, asked: Map<string, number>): Promise<void> {
  const answer = await rawCall(door, {
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${testKey}` },
    body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] },
  });
  asked.set(answer.headers['x-request-id'] ?? '', Number(answer.headers['x-penstock-attempts']));
}

const recordsStored = (ledger: LedgerProcess) => figure(ledger, 'penstock_ledger_records_total');

/** False where it has ended instead. */
async function storesAgain(ledger: LedgerProcess): Promise<boolean> {
  const ended = ledger.process.exit.then(() => false);
  const before = await recordsStored(ledger).catch(() => Infinity);
  const isMore = async () => (await recordsStored(ledger).catch(() => 0)) > before;
  return await Promise.race([ended, until(isMore)]);
}
