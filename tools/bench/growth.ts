// Does a request cost more beside a large table, or beside many open streams? The same load on three gateways in turns.

import { type ComparisonParts, rotate, whyBroken } from './compare.ts';
import { holdStreams } from './load.ts';
import type { Machine } from './machine.ts';
import type { LoadMeasurement } from './measurement.ts';
import { type LoadScenario, scenarios } from './scenarios.ts';
import { median, ratiosByRound, type Spread, spread } from './statistics.ts';
import { takeLoad } from './take-load.ts';
import { awaitAnswer } from './targets/await-answer.ts';
import { gatewayWith, type TableSize } from './targets/gateway.ts';
import type { RunningTarget } from './targets/target.ts';

type Case = { name: string; size: TableSize; openStreams: number };

const small: TableSize = { keys: 10, routes: 1 };

/** The first is what the others are compared with. */
export const growthCases: readonly Case[] = [
  { name: '10 keys, 1 route', size: small, openStreams: 0 },
  { name: '50,000 keys, 2,000 routes', size: { keys: 50_000, routes: 2_000 }, openStreams: 0 },
  { name: '10 keys, 1 route, 5,000 open streams', size: small, openStreams: 5_000 },
];

export const growthModels = ['unary', 'wait'];
const rampMs = 3_000;

type Times = { rounds: number; warmSeconds: number; windowSeconds: number };

type GrowthRow = { name: string; cpuUs: Spread; latencyP99Ms: Spread; ratio: number; rssMib: number };

export async function measureGrowth(
  cases: readonly Case[],
  { rounds, warmSeconds, windowSeconds }: Times,
  { client, context, cores, say }: ComparisonParts,
): Promise<readonly GrowthRow[]> {
  const scenario = scenarios.find((one): one is LoadScenario => one.kind === 'load');
  if (scenario === undefined) throw new Error('there is no load to put on');
  const found = new Map<string, LoadMeasurement[]>(cases.map(({ name }) => [name, []]));
  const running: (Case & { target: RunningTarget })[] = [];
  const take = async (name: string, target: RunningTarget, round: number, seconds: number): Promise<void> => {
    say(`round ${round}: ${name}`);
    const measurement = await takeLoad(client, target, scenario, { round, seconds, cores });
    const why = whyBroken(measurement);
    if (why !== undefined) throw new Error(`${name}: ${why}`);
    if (round > 0) found.get(name)?.push(measurement);
  };
  for (const one of cases) {
    const target = await gatewayWith(one.size, roomFor(one.openStreams)).start(context);
    await awaitAnswer(target);
    await take(one.name, target, 0, warmSeconds);
    running.push({ ...one, target });
  }
  const takeTurns = async (): Promise<void> => {
    for (let round = 1; round <= rounds; round++) {
      for (const { name, target } of rotate(running, round)) await take(name, target, round, windowSeconds);
    }
  };
  const beside = running
    .filter(({ openStreams }) => openStreams > 0)
    .reduce<() => Promise<void>>(
      (inner, { name, target, openStreams }) =>
        async () => {
          const streams = {
            ...{ port: target.port, model: target.modelName('wait'), bodyBytes: scenario.bodyBytes },
            ...{ connections: openStreams, seconds: 0, leadMs: 0, rampMs },
            ...(target.authorization === undefined ? {} : { authorization: target.authorization }),
          };
          const { result } = await holdStreams(client, streams, inner);
          if (result.bad + result.lost > 0) {
            throw new Error(
              `${name}: of ${openStreams} streams ${result.bad + result.lost} did not stay open`,
            );
          }
        },
      takeTurns,
    );
  await beside();
  await Promise.all(running.map(({ target }) => target.stop()));
  return cases.map(({ name }) => rowOf(name, found.get(name) ?? [], found.get(cases[0]?.name ?? '') ?? []));
}

/** Of limits that one address would meet. */
function roomFor(openStreams: number): Record<string, string> {
  const room = String(2 * openStreams);
  return openStreams === 0
    ? {}
    : { PENSTOCK_REQUESTS_IN_FLIGHT_MAX: room, PENSTOCK_CONNECTIONS_PER_ADDRESS_MAX: room };
}

function rowOf(name: string, own: readonly LoadMeasurement[], base: readonly LoadMeasurement[]): GrowthRow {
  const cpuByRound = (list: readonly LoadMeasurement[]) =>
    new Map(list.map(({ round, cpuUsPerUnit }) => [round, cpuUsPerUnit]));
  const cpuUs = spread(own.map(({ cpuUsPerUnit }) => cpuUsPerUnit));
  const latencyP99Ms = spread(own.flatMap(({ client }) => client.latencyMs?.p99 ?? []));
  const ratio = median(ratiosByRound(cpuByRound(own), cpuByRound(base)));
  const rssMib = median(own.map((one) => one.rssMib));
  if (!cpuUs || !latencyP99Ms || ratio === undefined || rssMib === undefined) {
    throw new RangeError(`nothing was measured of ${name}`);
  }
  return { name, cpuUs, latencyP99Ms, ratio, rssMib };
}

type GrowthReport = { date: string; machine: Machine; times: Times; rows: readonly GrowthRow[] };

export function writeGrowthReport({ date, machine, times, rows }: GrowthReport): string {
  const cells = ({ median: middle, min, max }: Spread): string =>
    `${middle.toFixed(1)} (${min.toFixed(1)}..${max.toFixed(1)})`;
  const line = (columns: readonly string[]): string => `| ${columns.join(' | ')} |`;
  const titles = ['unary, 1 KB, saturated', 'CPU µs/request (min..max)', '× the first', 'p99 ms', 'RSS MiB'];
  return [
    `# Cost beside a large table and many streams, ${date}`,
    '',
    `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${machine.commit}. Medians of ${times.rounds} alternating rounds of ${times.windowSeconds} s; ratios are taken inside a round first.`,
    '',
    line(titles),
    line(titles.map(() => '---')),
    ...rows.map(({ name, cpuUs, ratio, latencyP99Ms, rssMib }) =>
      line([name, cells(cpuUs), ratio.toFixed(2), cells(latencyP99Ms), rssMib.toFixed(0)]),
    ),
    '',
  ].join('\n');
}
