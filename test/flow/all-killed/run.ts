// What does the ledger say when everything around it is killed again and again: gateways, operators, its Postgres, the store of the
// limits? A whole installation under load, while prices change; the callers' own log and that of the providers are held against it.

import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '../../../ledger/store/open.ts';
import type { Postgres } from '../../ledger/postgres.ts';
import type { Random } from '../../simulation/random.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { type Call, startWall } from '../../support/wall.ts';
import {
  type GatewayProcess,
  type Installation,
  type OperatorProcess,
  startInstallation,
} from '../cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from '../cluster/manifests.ts';
import { type Asked, ageOf, askOne, type KilledGatewaySeen, userOf } from '../killed-gateway/run.ts';
import type { KilledLedgerSeen } from '../killed-ledger/run.ts';
import { recordsOf, spendOf, sumsOf } from '../ledger-stage.ts';

export interface AllKilled {
  /** How often each at least: of all gateways and operators together. */
  readonly gateways: number;
  readonly operators: number;
  readonly stores: number;
  readonly postgres: Postgres;
  readonly redis: RedisServer;
  /** Says when the next kill comes. */
  readonly random: Random;
}

export interface AllKilledSeen
  extends KilledGatewaySeen,
    Pick<KilledLedgerSeen, 'sums' | 'spentPicodollars' | 'killedPostgres'> {
  /** Processes of operators that a kill has ended; how many of them led. */
  readonly killedOperators: number;
  readonly killedLeaders: number;
  /** Stores of limits that a kill has ended, and that held something by then. */
  readonly killedStores: number;
  /** What came to callers instead of an answer though their gateway lived. */
  readonly failedBesides: readonly string[];
  /** Records that gateways could not hand over when they were stopped in the end. */
  readonly unacknowledged: number;
  /** Of table generations: their prices for a million tokens of input, where records of one have two. */
  readonly otherPrices: readonly string[];
  readonly pricesSeen: number;
}

const replicas = 2;
const callersOfEach = 6;
/** From a gateway's readiness to its kill: each meets another moment of a group of records. */
const lifeMsMax = 2_500;
const tenant = 'team-a';

export async function runAllKilled(options: AllKilled): Promise<AllKilledSeen> {
  const { postgres, redis, random } = options;
  await using parts = new AsyncDisposableStack();
  const usage = ({ number }: Call) => ({
    inputTokens: 100 + (number % 97),
    cachedTokens: number % 89,
    outputTokens: 20 + (number % 31),
  });
  // Every third call fails: its request has records of two attempts.
  const first = await startWall((call) =>
    call.number % 3 === 0
      ? { type: 'status', status: 503 }
      : { type: 'answer', usage: usage(call), betweenEvents: { ms: call.number % 2 === 0 ? 20 : 0 } },
  );
  parts.defer(() => first.close());
  const second = await startWall((call) => ({ type: 'answer', usage: usage(call) }));
  parts.defer(() => second.close());
  const ledgerUrl = await postgres.createDatabase('all_killed');
  const installation = await startInstallation({
    operators: 2,
    gateways: replicas,
    hasLedger: true,
    ledgerEnv: { PENSTOCK_LEDGER_URL: ledgerUrl },
    gatewayEnv: { PENSTOCK_LIMITS_STORE_URL: redis.url },
  });
  let isStopped = false;
  parts.defer(async () => {
    if (!isStopped) await installation.stop().catch(() => {});
  });
  await installation.apply(
    namespaceOf('platform'),
    namespaceOf(tenant),
    ...[first, second].flatMap((wall, at) => [
      credentialSecret('platform', `wall-${at}`, wall.url, `credential-${at}`),
      provider('platform', `wall-${at}`, wall.url, `wall-${at}`),
    ]),
    routeAt('1'),
    importedApiKey(tenant, 'load', {
      limits: { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000, maxConcurrentRequests: 1_000 },
    }),
  );
  await installation.awaitCondition('apikey/load', 'Ready', tenant);
  await installation.awaitCondition('modelroute/m', 'Ready', 'platform');

  const lives = installation.gateways.map((gateway) => new Lives(gateway));
  for (const life of lives) await life.isAlive;
  const gatewayOf = new Map<string, Lives>();
  const asked: (Omit<Asked, 'killedMs'> & { readonly by: Lives })[] = [];
  const failedBesides: string[] = [];
  let serial = 0;
  let isOver = false;
  const callers = lives.flatMap((life) =>
    Array.from({ length: callersOfEach }, async () => {
      for (;;) {
        await life.isAlive;
        if (isOver) return;
        const { hostname: host, port } = new URL(life.gateway.url);
        const { epoch } = life;
        const number = serial++;
        gatewayOf.set(`user-${number}`, life);
        const seen = await askOne({ host, port: Number(port) }, number, importedKey(tenant, 'load'));
        asked.push({ ...seen, by: life });
        if (!seen.isWhole && epoch === life.epoch) failedBesides.push(`${seen.fault}`);
      }
    }),
  );

  let left = options.gateways;
  let areOperatorsDone = false;
  const gatewaysKilled = lives.map(async (life) => {
    while (left-- > 0 || !areOperatorsDone) {
      await life.isAlive;
      await pause(random.between(50, lifeMsMax));
      await life.kill(installation);
    }
  });
  let killedOperators = 0;
  let killedLeaders = 0;
  let killedPostgres = 0;
  let killedStores = 0;
  const untilGateways = (share: number): Promise<void> => reached(lives, options.gateways * share);
  const operatorsKilled = async (): Promise<void> => {
    const alive: OperatorProcess[] = [...installation.operators];
    for (let done = 0; done < options.operators; done++) {
      // Where one that leads is killed, it takes seconds until another one does.
      const leader = await until(async () => {
        const leads = await Promise.all(alive.map(isLeader));
        return alive[leads.indexOf(true)];
      }, 100);
      await installation.apply(routeAt(String(1 + (done % 7))));
      await pause(random.between(0, 1_500));
      const isOfLeader = random.chance(0.5);
      const victim = isOfLeader ? leader : alive.find((one) => one !== leader);
      if (victim === undefined) throw new Error('there is no operator beside the one that leads');
      alive.splice(alive.indexOf(victim), 1);
      victim.process.signal('SIGKILL');
      if ((await victim.process.exit).signal === 'SIGKILL') {
        killedOperators++;
        if (isOfLeader) killedLeaders++;
      }
      alive.push(await installation.startOperator());
    }
  };
  const storesKilled = async (): Promise<void> => {
    for (let done = 0; done < options.stores; done++) {
      await untilGateways((done + 0.5) / options.stores);
      await postgres.kill();
      killedPostgres++;
      await pause(random.between(0, 500));
      await postgres.start();
      if (Number(await redis.command('DBSIZE')) > 0) killedStores++;
      await redis.kill();
      await pause(random.between(0, 500));
      await redis.startAgain();
    }
  };
  try {
    const operatorsAre = operatorsKilled().finally(() => {
      areOperatorsDone = true;
    });
    await Promise.all([...gatewaysKilled, operatorsAre, storesKilled()]);
    await Promise.all(lives.map(({ isAlive }) => isAlive));
    // The last lives are as long as others.
    await pause(lifeMsMax);
  } finally {
    isOver = true;
    await Promise.all(callers);
  }

  // Each waits until the ledger has taken over what it has.
  const ends = await Promise.all(installation.gateways.map(({ process }) => process.stop(60_000)));
  if (ends.some(({ code }) => code !== 0)) throw new Error('a gateway did not end well');
  const unacknowledged = installation.gateways.reduce(
    (sum, { process }) => sum + process.stdout().split('a ledger record was not acknowledged').length - 1,
    0,
  );
  const reader = await openStore({ type: 'postgres', url: ledgerUrl }, { onBroken() {}, onEnd() {} });
  parts.defer(() => reader.close());
  const records = await recordsOf(reader);
  const seen = { sums: await sumsOf(reader), spentPicodollars: await spendOf(reader, `${tenant}/load`) };
  isStopped = true;
  await installation.stop();
  const calls = [...first.calls, ...second.calls];
  const pricesOf = Map.groupBy(records, ({ tableGeneration }) => tableGeneration);
  return {
    ...seen,
    asked: asked.map(({ by, ...one }) => ({ ...one, killedMs: by.killedAfter(one.endedMs) })),
    records,
    calls: Map.groupBy(calls, userOf),
    callsMade: calls.length,
    agesMs: new Map(
      calls.map((call) => {
        const { kills = [] } = gatewayOf.get(userOf(call)) ?? {};
        return [call, ageOf(performance.timeOrigin + call.startedAtMs, kills)];
      }),
    ),
    killed: lives.reduce((sum, { kills }) => sum + kills.length, 0),
    killedOperators,
    killedLeaders,
    killedPostgres,
    killedStores,
    failedBesides,
    unacknowledged,
    otherPrices: [...pricesOf].flatMap(([generation, ofIt]) => {
      const said = new Set(ofIt.map(({ price }) => String(price?.input)));
      return said.size === 1 ? [] : `${generation}: ${[...said].join(' and ')}`;
    }),
    pricesSeen: new Set(records.map(({ price }) => price?.input)).size,
  };
}

/** One gateway pod, whose container ends and is started again. */
class Lives {
  readonly gateway: GatewayProcess;
  /** Unix times of the kill and of the end of the process. */
  readonly kills: { readonly killedMs: number; readonly endedMs: number }[] = [];
  /** Settled while it is ready. */
  isAlive: Promise<void>;
  /** Another number from each kill on. */
  epoch = 0;
  private readonly listeners = new Set<() => void>();

  constructor(gateway: GatewayProcess) {
    this.gateway = gateway;
    this.isAlive = gateway.process.answering(`${gateway.metricsUrl}/readyz`);
  }

  async kill(installation: Installation): Promise<void> {
    const { gateway } = this;
    this.epoch++;
    const alive = Promise.withResolvers<void>();
    this.isAlive = alive.promise;
    const killedMs = Date.now();
    gateway.process.signal('SIGKILL');
    const { signal } = await gateway.process.exit;
    if (signal !== 'SIGKILL') throw new Error(`${gateway.name} ended by itself`);
    this.kills.push({ killedMs, endedMs: Date.now() });
    await installation.restartGateway(gateway);
    await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
    alive.resolve();
    for (const listen of this.listeners) listen();
  }

  onKilled(listen: () => void): void {
    this.listeners.add(listen);
  }

  /** The kill after a Unix time; Infinity where none came. */
  killedAfter(ms: number): number {
    return this.kills.find(({ endedMs }) => endedMs >= ms)?.killedMs ?? Infinity;
  }
}

/** Settled when so many kills have been made. */
function reached(lives: readonly Lives[], kills: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (lives.reduce((sum, life) => sum + life.kills.length, 0) >= kills) resolve();
  };
  for (const life of lives) life.onKilled(look);
  look();
  return promise;
}

async function isLeader({ metricsUrl }: OperatorProcess): Promise<boolean> {
  const answer = await fetch(`${metricsUrl}/metrics`);
  return /^leader_election_master_status\S* 1$/m.test(await answer.text());
}

/** @param inputPerMillion in dollars; output costs twice as much. */
function routeAt(inputPerMillion: string): object {
  return modelRoute('platform', 'm', ['wall-0', 'wall-1'], {
    allowedNamespaces: { from: 'All' },
    pricing: { inputPerMillion, outputPerMillion: String(2 * Number(inputPerMillion)) },
  });
}
