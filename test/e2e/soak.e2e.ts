// Does an installation that lives for long stay as it is? Half an hour of calls, changes and faults all at once; then not one
// request has failed, nothing has grown, nothing is left open, and everything says what an independent compile of the objects says.
//
// PENSTOCK_SOAK_MINUTES (default 30) says how long, PENSTOCK_SOAK_SEED which run it is; the seed is printed. In the first half
// leaders are killed too; in the second one no operator ends, so that what grows in one shows. Figures go to
// tools/bench/results/soak.json.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/server.ts';
import { readMachine } from '../../tools/bench/machine.ts';
import { buildDist } from '../../tools/pack/bundles.ts';
import { startInstallation } from '../flow/cluster/installation.ts';
import { makeRandom } from '../simulation/random.ts';
import type { RunningProcess } from '../support/process.ts';
import { startCallers } from './soak/callers.ts';
import { cause, type Fault, pause } from './soak/faults.ts';
import { judge, openWatches } from './soak/judge.ts';
import { models, startPeople } from './soak/people.ts';
import { growthOf, mean, type Sample, soakedNode, takeSample } from './soak/readings.ts';

const minutes = Number(process.env.PENSTOCK_SOAK_MINUTES ?? 30);
const seed = Number(process.env.PENSTOCK_SOAK_SEED ?? Date.now() % 1_000_000);
const soakMs = minutes * 60_000;
const resultsFile = fileURLToPath(new URL('../../tools/bench/results/soak.json', import.meta.url));

const inFirstHalf: readonly Fault[] = [
  'leader killed',
  'API server killed',
  'gateway restarted',
  'leader stopped',
  'API server frozen',
  'shard deleted',
  'leader killed',
];
const inSecondHalf: readonly Fault[] = [
  'gateway restarted',
  'API server killed',
  'shard deleted',
  'API server frozen',
];
/** Between two of them; less where the whole run is short, so that there is one of each. */
const faultPauseMs = Math.min(60_000, soakMs / 2 / (inFirstHalf.length + 1));
const samplePauseMs = Math.min(20_000, soakMs / 40);
/** What a process makes in its first minutes it makes once. */
const warmMs = Math.min(120_000, soakMs / 20);
/**
 * By so much the memory of a process may be larger at the end of the second half than at its beginning. An operator keeps up to 10,000
 * conditions of statuses once each (`operator/watch/status-pool.ts`), which come to 6 MiB and are reached within the hour.
 */
const growthMibMax = 8;
/** So long everything may take to come to rest after the last change. */
const settleMs = 120_000;
/** More files than at the beginning: connections that were used lately are kept for a while. */
const filesMore = 16;

const values = {
  platformNamespaces: ['platform', 'default'],
  egress: { allow: [{ cidr: '127.0.0.0/8', namespaces: ['*'] }] },
};

test(
  'in a long run no request fails, nothing grows, nothing is left open, and all metrics agree with the objects',
  async () => {
    console.log(`soak of ${minutes} minutes, seed ${seed}`);
    await using parts = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'penstock-soak-'));
    parts.defer(() => rm(folder, { recursive: true, force: true }));
    await buildDist(fileURLToPath(new URL('../..', import.meta.url)), folder);
    const [east, west] = [await startSimulator({ callsMax: 100 }), await startSimulator({ callsMax: 100 })];
    parts.defer(async () => void (await Promise.all([east.close(), west.close()])));
    const installation = await startInstallation({
      operators: 2,
      gateways: 3,
      values,
      plane: { hasControllers: true },
      losesRights: true,
      build: { operator: join(folder, 'operator.js'), gateway: join(folder, 'gateway.js') },
      operatorEnv: soakedNode(512),
      gatewayEnv: soakedNode(768),
    });
    parts.defer(() => installation.stop());
    const { awaitCondition, gateways, operators, plane } = installation;
    const [spared] = gateways;
    if (spared === undefined) throw new Error('an installation has gateways');

    const random = makeRandom(seed);
    const people = startPeople({
      plane,
      random: random.fork(),
      upstreams: { east: east.url, west: west.url },
    });
    await people.prepare();
    for (const ref of ['apikey/steady', 'apikey/turned', ...models.map((model) => `modelroute/${model}`)]) {
      await awaitCondition(ref, 'Programmed', 'platform', 60);
    }

    const running = new Set(operators);
    /** Of each life of a process, in order. */
    const samples = new Map<RunningProcess, { readonly name: string; readonly taken: Sample[] }>();
    const sampleAll = async () => {
      for (const { name, process } of [...running, ...gateways]) {
        const sample = await takeSample(process);
        if (sample === undefined) continue;
        const known = samples.get(process) ?? { name, taken: [] };
        samples.set(process, known);
        known.taken.push(sample);
      }
    };
    const failures: string[] = [];
    const callers = startCallers({
      gateways,
      random: random.fork(),
      models: [`penstock/${models[0]}`, `penstock/${models[0]}`, `penstock/${models[1]}`],
      key: people.key,
      onFailure: (what) => failures.push(`${new Date().toISOString()} ${what}`),
    });
    people.start();
    // Connections are made, and every program of the control plane watches what it will watch.
    await pause(Math.min(45_000, soakMs / 10));
    await sampleAll();
    const filesFirst = new Map([...samples].map(([process, { taken }]) => [process, taken[0]?.files ?? 0]));
    const filesOf = (kind: 'operator' | 'gateway') =>
      Math.max(
        ...[...samples].flatMap(([process, { name }]) =>
          name.includes(kind) ? [filesFirst.get(process) ?? 0] : [],
        ),
      );
    const filesMax = { operator: filesOf('operator') + filesMore, gateway: filesOf('gateway') + filesMore };
    const watchesFirst = await openWatches(plane);

    const faults: { readonly fault: Fault; readonly atMs: number }[] = [];
    const startedMs = performance.now();
    const passedMs = () => performance.now() - startedMs;
    const sampling = (async () => {
      while (passedMs() < soakMs) {
        await sampleAll();
        await pause(samplePauseMs);
      }
    })();
    const faulting = (async () => {
      const causeAll = async (deck: readonly Fault[], untilMs: number) => {
        for (let next = 0; ; next++) {
          await pause(faultPauseMs * (0.5 + random.next()));
          const fault = deck[next % deck.length];
          if (fault === undefined || passedMs() > untilMs) return;
          const atMs = Math.round(passedMs());
          await cause(fault, { installation, callers, random, running, spared });
          faults.push({ fault, atMs });
          console.log(`${Math.round(atMs / 1_000)} s: ${fault}, over at ${Math.round(passedMs() / 1_000)} s`);
        }
      };
      await causeAll(inFirstHalf, soakMs / 2);
      const halfMs = performance.now();
      await causeAll(inSecondHalf, soakMs);
      return halfMs;
    })();
    const [halfMs] = await Promise.all([faulting, sampling]);
    await sampleAll();
    await people.stop();
    await callers.stop();

    const faultless = await untilEmpty(() =>
      judge({ plane, gateways, operators: running, expectedKeys: people.expectedKeys(), values }),
    );
    const leaks = await untilEmpty(async () => {
      const watches = await openWatches(plane);
      const more = [...watches].filter(([resource, count]) => count > (watchesFirst.get(resource) ?? 0));
      const files: string[] = [];
      for (const { name, process } of [...running, ...gateways]) {
        const sample = await takeSample(process);
        const most = name.includes('operator') ? filesMax.operator : filesMax.gateway;
        if (sample !== undefined && sample.files > most)
          files.push(`${name} has ${sample.files} files open, at most ${most} were expected`);
      }
      return [
        ...more.map(
          ([resource, count]) => `${count} watches of ${resource}, ${watchesFirst.get(resource)} before`,
        ),
        ...files,
      ];
    });

    const { asked, streamed } = callers.counts();
    const lives = [...samples.values()]
      .map(({ name, taken }) => {
        const fromMs = Math.max(halfMs, (taken[0]?.atMs ?? 0) + warmMs);
        return { name, late: taken.filter(({ atMs }) => atMs >= fromMs) };
      })
      .filter(({ late }) => late.length >= 10)
      .map(({ name, late }) => {
        const [memory, resident] = [
          ({ memoryMib }: Sample) => memoryMib,
          ({ residentMib }: Sample) => residentMib,
        ];
        return {
          name,
          samples: late.length,
          seconds: Math.round(((late.at(-1)?.atMs ?? 0) - (late[0]?.atMs ?? 0)) / 1_000),
          memoryMib: tenth(mean(late.map(memory))),
          memoryGrowthMib: tenth(growthOf(late, memory)),
          memoryMibs: late.map(memory).join(' '),
          residentMib: tenth(mean(late.map(resident))),
          residentGrowthMib: tenth(growthOf(late, resident)),
          timers: [late[0]?.timers, late.at(-1)?.timers],
          files: [late[0]?.files, late.at(-1)?.files],
          sockets: [late[0]?.sockets, late.at(-1)?.sockets],
        };
      });
    const figures = {
      minutes,
      seed,
      requests: asked,
      streams: streamed,
      failed: failures.length,
      wishes: people.count(),
      faults: Object.fromEntries(
        [...inFirstHalf, ...inSecondHalf].map((kind) => [
          kind,
          faults.filter(({ fault }) => fault === kind).length,
        ]),
      ),
      lives,
    };
    console.log(JSON.stringify(figures, null, 1));
    await writeFile(
      resultsFile,
      `${JSON.stringify({ machine: await readMachine(), ...figures }, null, 1)}\n`,
    );
    expect(failures).toEqual([]);
    expect(faultless).toEqual([]);
    expect(leaks).toEqual([]);
    // One gateway from beginning to end, and two operators through the second half.
    expect(lives.length).toBeGreaterThanOrEqual(3);
    expect(lives.filter(({ memoryGrowthMib }) => memoryGrowthMib > growthMibMax)).toEqual([]);
  },
  soakMs + 900_000,
);

/** The last answer, once it is empty or the time is over. */
async function untilEmpty(ask: () => Promise<string[]>): Promise<string[]> {
  const endMs = performance.now() + settleMs;
  for (;;) {
    const found = await ask().catch((error: unknown) => [String(error)]);
    if (found.length === 0 || performance.now() > endMs) return found;
    await pause(2_000);
  }
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}
