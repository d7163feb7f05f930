// What do a gateway's records come to in the ledger, and its providers' calls in their own log, over many scenes? One gateway and one
// ledger, as processes; each scene is a model of its own, so that every call can be distinguished from all others.

import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import type { Sums } from '../../../ledger/store/store.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { type RigTarget, tableOf, testKey } from '../../gateway/rig.ts';
import type { Postgres } from '../../ledger/postgres.ts';
import { openRaw, type RawTarget, rawCall, writeRequest } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { type Call, closedPort, startWall, type Wall } from '../../support/wall.ts';
import { isBag, requestOf, textOf } from '../ask.ts';
import { openLedgerStage, recordsOf, sumsOf, untilTaken } from '../ledger-stage.ts';
import type { CallFacts, Prices, SumsVerdict } from './judge.ts';
import type { Scene } from './scenes.ts';

export interface LedgerSumsSeen {
  readonly calls: readonly CallFacts[];
  readonly records: readonly LedgerRecord[];
  readonly sums: Sums | undefined;
  /** Attempts that callers learnt of, at providers that were not there. */
  readonly refused: number;
  /** Scenes whose fault the providers' log does not show. */
  readonly notFired: readonly Scene[];
  /** By what its calls are named, the scene. */
  readonly sceneOf: ReadonlyMap<string, Scene>;
}

export const prices: Prices = {
  ...{ input: 1_000_000, cachedInput: 100_000, cacheWrite: 1_250_000 },
  ...{ output: 2_000_000, reasoning: 3_000_000 },
};

/** At the same time. */
const lanes = 24;

export async function runLedgerSums(
  plane: ControlPlane,
  scenes: readonly Scene[],
  postgres?: Postgres,
): Promise<LedgerSumsSeen> {
  await using parts = new AsyncDisposableStack();
  const sceneOf = new Map(scenes.map((scene, serial) => [`scene-${serial}`, scene]));
  const wall = await startWall((call) => {
    const { behaviour } = sceneOf.get(modelOf(call)) ?? {};
    // What is behind: counts that no two neighbours share.
    return behaviour === undefined || behaviour === 'refused' ? good(call) : behaviour;
  });
  parts.defer(() => wall.close());
  const nobody = await closedPort();
  parts.defer(() => nobody.close());
  const walls = [wall];
  const ownOf = new Map<string, Wall>();
  const tables: RoutingTable[] = [];
  for (const [model, scene] of sceneOf) {
    const own = scene.requests === undefined ? undefined : await startWall(() => behaviourOf(scene));
    if (own) {
      parts.defer(() => own.close());
      walls.push(own);
      ownOf.set(model, own);
    }
    tables.push(tableFor(model, scene, (own ?? wall).baseUrl, wall.baseUrl, `${nobody.url}/v1`));
  }
  const stage = await openLedgerStage(plane, together(tables), postgres);
  parts.defer(() => stage.close());
  const door = await stage.startGateway();
  const ledger = await stage.launchLedger();

  const waiting = [...sceneOf];
  let refused = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [model, scene] = next;
        for (let count = 0; count < (scene.requests ?? 1); count++) {
          const attempts = await play(door, model, scene, wall);
          if (scene.behaviour === 'refused') refused += attempts - (scene.hasSecond ? 1 : 0);
          // A caller has its answer at the end marker, its connection is free a little later.
          await Promise.all((ownOf.get(model)?.calls ?? []).map(({ finished }) => finished));
        }
      }
    }),
  );

  const calls = walls.flatMap((one) => one.calls);
  // What callers have left is ended by the gateway, a moment later.
  await Promise.all(calls.map(({ finished }) => finished));
  const reader = await stage.openReader();
  await untilTaken(reader, ledger, calls.length + refused);
  await ledger.process.stop();
  const models = new Map(Map.groupBy(calls, modelOf));
  return {
    calls: calls.map((call) => ({ upstreamModel: modelOf(call), tokens: call.tokens })),
    records: await recordsOf(reader),
    sums: await sumsOf(reader),
    refused,
    notFired: [...sceneOf].flatMap(([model, scene]) => (hasFired(scene, models.get(model)) ? [] : scene)),
    sceneOf,
  };
}

/** The calls that have left something else in the ledger than they should have, in words. */
export function surprisesOf(
  { sceneOf }: Pick<LedgerSumsSeen, 'sceneOf'>,
  { pairs }: Pick<SumsVerdict, 'pairs'>,
): readonly string[] {
  const seen = new Map<string, number>();
  return pairs.flatMap(({ call, record, word }) => {
    const { upstreamModel, tokens } = call;
    const at = seen.get(upstreamModel) ?? 0;
    seen.set(upstreamModel, at + 1);
    const scene = sceneOf.get(upstreamModel);
    const wanted =
      scene === undefined ? 'counted' : typeof scene.word === 'string' ? scene.word : scene.word[at];
    if (word === wanted) return [];
    const { fault, variant, mode } = scene ?? sceneOf.get(record.model) ?? {};
    const { usage, outcome, failure = '' } = record;
    return `${fault}, ${variant?.name}, ${mode}, call ${at + 1} of ${upstreamModel}: ${word}, not ${wanted}: ${outcome} ${failure}, ${JSON.stringify(usage)}, provider ${JSON.stringify(tokens)}`;
  });
}

/** Gives the attempts that the caller learns of; 0 where it learns nothing. */
async function play(door: RawTarget, model: string, scene: Scene, wall: Wall): Promise<number> {
  const { variant, mode, leavesAfter } = scene;
  const request = requestOf({ endpoint: variant.endpoint, isStream: mode === 'stream', more: { model } });
  if (leavesAfter === undefined)
    return Number((await rawCall(door, request)).headers['x-penstock-attempts'] ?? 0);
  const connection = await openRaw(door);
  await connection.send(writeRequest(request));
  if (leavesAfter === 0) {
    connection.answer().catch(() => {});
    await until(async () => wall.calls.some((call) => modelOf(call) === model), 5);
  } else {
    const answer = await connection.answer();
    for (let read = 0; read < leavesAfter; ) {
      const event = await answer.nextEvent();
      if (event === undefined)
        throw new Error(`${scene.fault}: the answer ended before ${leavesAfter} tokens`);
      if (textOf({ events: [event], json: undefined }) !== '') read++;
    }
    await untilRead(door, model, scene, wall);
  }
  connection.abort();
  return 0;
}

/** What a provider tells behind the words has been written, and the gateway has read it: it answers what was asked after that. */
async function untilRead(door: RawTarget, model: string, { behaviour }: Scene, wall: Wall): Promise<void> {
  if (behaviour === 'refused' || behaviour.type !== 'stall' || !('events' in behaviour.after)) return;
  const { events } = behaviour.after;
  await until(
    async () => wall.calls.some((call) => modelOf(call) === model && call.eventsWritten >= events),
    5,
  );
  await rawCall(door, { path: '/v1/models', headers: { authorization: `Bearer ${testKey}` } });
}

function hasFired({ behaviour, requests }: Scene, calls: readonly Call[] = []): boolean {
  if (behaviour === 'refused') return calls.length === 0;
  if (requests !== undefined) return calls.some(({ isConnectionReused }) => isConnectionReused);
  return calls.length > 0;
}

function behaviourOf({ behaviour }: Scene) {
  if (behaviour === 'refused') throw new Error('nobody listens there');
  return behaviour;
}

function good({ number }: Call) {
  return {
    type: 'answer',
    usage: {
      inputTokens: 100 + (number % 97),
      cachedTokens: number % 79,
      cacheWriteTokens: number % 19,
      outputTokens: 20 + (number % 31),
      reasoningTokens: number % 17,
    },
  } as const;
}

function modelOf({ json }: Call): string {
  return isBag(json) ? String(json.model) : '';
}

function tableFor(model: string, scene: Scene, first: string, second: string, nowhere: string): RoutingTable {
  const { variant, behaviour, hasSecond, timeouts, retryOn } = scene;
  const common = {
    dialects: [variant.upstream],
    price: { ...prices, source: 'target' },
  } satisfies Partial<RigTarget>;
  // A machine that has much else to do may be slow to connect.
  const patient = { connectMs: 30_000 };
  const totalMs = timeouts?.totalMs;
  const targets: RigTarget[] = [
    {
      ...common,
      baseUrl: behaviour === 'refused' ? nowhere : first,
      provider: `platform/${model}`,
      upstreamModel: model,
      timeouts: { ...patient, ...timeouts },
    },
  ];
  if (hasSecond)
    targets.push({
      ...common,
      baseUrl: second,
      provider: `platform/${model}-second`,
      upstreamModel: `${model}-second`,
      timeouts: { ...patient, ...(totalMs !== undefined && { totalMs }) },
    });
  const table = tableOf(targets, { id: `team/${model}`, model });
  if (retryOn === undefined) return table;
  return {
    ...table,
    routes: table.routes.map((route) => ({ ...route, failover: { ...route.failover, retryOn } })),
  };
}

function together(tables: readonly RoutingTable[]): RoutingTable {
  return {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
  };
}
