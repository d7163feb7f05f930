// How does one run go? The cluster comes up, everything goes wrong for a while, then it is calm and all must come to rest; in some
// runs no shard can be written at the same time, lists lack what is there, or enough time passes for old shards to go.

import type { KubeClient } from '../../core/kube/client.ts';
import type { TableHolder } from '../../gateway/table/holder.ts';
import type { AskPod } from '../../operator/pods/exchange.ts';
import { calm, makeApiServer, type Weather } from './api-client.ts';
import { makeApiStore } from './api-store.ts';
import { startGateways } from './gateways.ts';
import { makeJudge } from './judge.ts';
import { startOperators } from './operators.ts';
import { makePeople } from './people.ts';
import { makeRandom, type Random } from './random.ts';
import { makeWorld, type Process } from './world.ts';

/** A fault that is built in, to see whether it would be found. */
export interface Fault {
  /** It shows only where there are many. */
  readonly needsManyKeys?: true;
  changeOperator?(client: KubeClient, process: Process): KubeClient;
  changeGateway?(client: KubeClient): KubeClient;
  makeHolder?(): TableHolder;
  changeAskPod?(ask: AskPod): AskPod;
}

export interface Outcome {
  /** Which promise was broken, and how; undefined: none. */
  readonly failure: string | undefined;
  readonly steps: number;
  /** Of virtual time. */
  readonly endedMs: number;
  readonly converged: readonly number[];
}

export type Tell = (atMs: number, what: string) => void;

/** Everybody is where they should be so soon after the last trouble. */
const convergeMs = 150_000;
/** Nobody waits for an answer for longer. */
const callMsMax = 31_000;

/** @param tell Reported of everything that happens. */
export async function simulate(seed: number, tell?: Tell, fault: Fault = {}): Promise<Outcome> {
  const random = makeRandom(seed);
  const world = makeWorld(tell);
  const server = makeApiServer(world, makeApiStore(world.wallMs), random.fork());
  const judge = makeJudge(world, server);
  const people = makePeople(world, server, random.fork());
  const isLarge = random.chance(0.05) || fault.needsManyKeys === true;
  people.prepare(isLarge ? random.between(28, 32) : random.between(2, 6));
  const stalls = random.chance(0.15);
  let deaths = 0;

  const gateways = startGateways({
    world,
    server,
    random: random.fork(),
    count: random.between(2, 3),
    onSwap: judge.onSwap,
    ...(fault.makeHolder === undefined ? {} : { makeHolder: fault.makeHolder }),
    ...(fault.changeGateway === undefined ? {} : { changeClient: fault.changeGateway }),
  });
  judge.watch(gateways);
  const operators = startOperators({
    world,
    server,
    random: random.fork(),
    count: 2,
    deaths: () => deaths,
    askPod: (process) => {
      const ask = gateways.askPod(process);
      return fault.changeAskPod?.(ask) ?? ask;
    },
    ...(fault.changeOperator === undefined ? {} : { changeClient: fault.changeOperator }),
  });

  const converged: number[] = [];
  const isBroken = (): boolean => world.failure() !== undefined;

  async function comeToRest(): Promise<void> {
    server.setWeather(calm);
    server.correctLies();
    people.clearNewerPointer();
    deaths = 0;
    operators.stumble(undefined);
    const fromMs = world.nowMs();
    for (;;) {
      const why = judge.whyNotConverged() ?? (server.hasStalled() ? 'a watch is half open' : undefined);
      if (why === undefined || isBroken()) break;
      if (world.nowMs() - Math.max(fromMs, server.hasStalled() ? 0 : server.troubledMs()) > convergeMs) {
        world.fail(`convergence: ${Math.round(world.nowMs() - fromMs)} ms after the last trouble ${why}`);
        break;
      }
      await world.run(500);
    }
    converged.push(Math.round(world.nowMs() - fromMs));
    world.note('everything is at rest');
  }

  async function storm(): Promise<void> {
    const turns = random.between(4, 9);
    for (let turn = 0; turn < turns && !isBroken(); turn += 1) {
      server.setWeather({ ...anyWeather(random, isLarge), stalls });
      deaths = random.chance(0.5) ? random.pick([0.01, 0.05, 0.2]) : 0;
      const deeds: readonly [number, () => void][] = [
        [0.8, people.act],
        [0.4, people.act],
        [0.12, people.meddle],
        [0.08, () => operators.freeze(random.between(0, 1), random.pick([2_000, 12_000, 20_000, 40_000]))],
        [0.06, () => operators.stumble(random.between(16_000, 28_000))],
        [0.06, () => operators.kill(random.between(0, 1))],
        [0.1, () => gateways.restart(random.between(0, 2), random.chance(0.3))],
        [0.05, () => gateways.freeze(random.between(0, 2), random.between(1_000, 15_000))],
        [isLarge ? 0.6 : 0.05, server.breakAllWatches],
      ];
      for (const [share, deed] of deeds) {
        if (random.chance(share)) world.after(random.between(0, 2_000), deed);
      }
      await world.run(random.pick([300, 1_000, 2_500, 5_000]));
    }
    await world.run(2_000);
  }

  /** Every call whose answer was lost has been given up, every event has been reported, and somebody leads. */
  async function allReported(): Promise<void> {
    const fromMs = world.nowMs();
    for (;;) {
      // Trouble that was made before can show at the same time: a write is late, and its writer dies of it.
      const leftMs = Math.max(fromMs + 12_000, server.troubledMs() + callMsMax) - world.nowMs();
      if (leftMs <= 0 || isBroken()) break;
      await world.run(leftMs);
    }
    await comeToRest();
  }

  /** Only new shards are refused: what is taken away must be taken away all the same. */
  async function withoutShards(): Promise<void> {
    world.note('from now on no shard can be written');
    server.setWeather({ ...calm, refusesShards: true });
    judge.expectRevocationsWithin(3_000);
    for (let turn = 0; turn < 3 && !isBroken(); turn += 1) {
      if (random.chance(0.5)) people.act();
      people.revoke();
      await world.run(random.between(500, 5_000));
    }
    await world.run(5_000);
  }

  // Some begin in the storm, most after everything has come up.
  if (random.chance(0.6)) await comeToRest();
  if (!isBroken()) await storm();
  if (!isBroken()) await comeToRest();
  if (!isBroken() && random.chance(0.15)) {
    await allReported();
    if (!isBroken()) await withoutShards();
    if (!isBroken()) await comeToRest();
  }
  if (!isBroken() && random.chance(0.01)) {
    // Long enough for shards that nobody names to go, and for every watch to end once.
    for (let turn = 0; turn < 3 && !isBroken(); turn += 1) {
      people.act();
      await world.run(250_000);
    }
    await comeToRest();
  }
  if (!isBroken() && random.chance(0.1)) {
    await allReported();
    // A new leader has checked every upstream after a minute, and its results are news.
    await world.run(62_000);
    // A minute, by the clock of the present leader; it began by the clock of another, which may be twenty minutes ahead.
    for (let minute = 0; judge.isReconciling() && minute < 22; minute += 1) await world.run(62_000);
    judge.expectQuiet();
    await world.run(25_000);
  }
  return { failure: world.failure(), steps: world.steps(), endedMs: Math.round(world.nowMs()), converged };
}

function anyWeather(random: Random, isLarge: boolean): Omit<Weather, 'stalls'> {
  const share = (): number => (random.chance(0.5) ? 0 : random.pick([0.02, 0.1, 0.3]));
  return {
    latencyMs: random.pick([
      [1, 8],
      [1, 8],
      [5, 300],
      [50, 2_500],
    ]),
    watchLatencyMs: random.pick([
      [1, 15],
      [1, 15],
      [10, 500],
      [100, 4_000],
    ]),
    refused: share(),
    unanswered: share(),
    late: random.chance(0.8) ? 0 : 0.1,
    watchFaults: random.chance(0.5) ? 0 : random.pick([0.01, 0.05, 0.2]),
    stale: random.pick([0, 0.3, 1]),
    isDown: random.chance(0.07),
    refusesShards: random.chance(0.08),
    emptyLists: isLarge ? 0.5 : 0,
  };
}
