// Over a bad way to the API server, does every change arrive, and does nobody who calls a gateway notice? Installations one after the
// other, each with a seed of its own: all faults of connections, calls and watches, those too that show only by a long silence.
//
// PENSTOCK_BAD_WAY_SEED draws others; PENSTOCK_BAD_WAY_ROUNDS and PENSTOCK_BAD_WAY_CHANGES say how many.

import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/server.ts';
import { type BadWay, type BadWayRun, changeOnBadWay, startBadWay } from '../flow/cluster/bad-way.ts';
import { startInstallation } from '../flow/cluster/installation.ts';
import { openScorecard } from './scorecard.ts';

const seed = Number(process.env.PENSTOCK_BAD_WAY_SEED ?? 1 + Math.floor(Math.random() * 1e6));
const rounds = Number(process.env.PENSTOCK_BAD_WAY_ROUNDS ?? 3);
const changes = Number(process.env.PENSTOCK_BAD_WAY_CHANGES ?? 40);
const linkFaults = [
  'none',
  'delay',
  'throttle',
  'cut',
  'reset',
  'corrupt',
  'half-close',
  'black-hole',
] as const;

test(`${rounds} rounds of ${changes} changes`, { timeout: 7_200_000 }, async () => {
  const scorecard = openScorecard(`A bad way to the API server, seed ${seed}`);
  const fired = new Map<string, number>();
  const runs: BadWayRun[] = [];
  for (let round = 0; round < rounds; round++) {
    const { run, faults } = await runOnce(seed + round);
    runs.push(run);
    for (const [what, count] of faults) fired.set(what, (fired.get(what) ?? 0) + count);
  }
  const total = [...fired.values()].reduce((sum, count) => sum + count, 0);
  const took = runs.flatMap(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  const seconds = (part: number): string =>
    `${((took[Math.floor(took.length * part)] ?? 0) / 1_000).toFixed(1)} s`;
  const bad = runs.flatMap((run) => run.bad);
  const untrue = runs.flatMap((run) => run.untrue);
  scorecard.add({
    what: 'requests while changes are made over a bad way',
    tried: runs.reduce((sum, { asked }) => sum + asked, 0),
    failed: bad.length,
    fired: total,
  });
  scorecard.add({
    what: 'changes that were said to be everywhere and were not',
    tried: took.length,
    failed: untrue.length,
    fired: total,
    figures: `half within ${seconds(0.5)}, the last after ${seconds(0.999)}`,
  });
  const wanted = linkFaults.filter((fault) => fault !== 'none');
  scorecard.add({
    what: 'faults of connections that never happened',
    tried: wanted.length,
    failed: wanted.filter((fault) => !fired.has(`a connection: ${fault}`)).length,
    figures: [...fired]
      .toSorted()
      .map(([what, count]) => `${what} ${count} times`)
      .join(', '),
  });
  scorecard.print();
  expect([...bad.slice(0, 5), ...untrue.slice(0, 5)]).toEqual([]);
  expect(scorecard.misses()).toEqual([]);
});

async function runOnce(
  of: number,
): Promise<{ readonly run: BadWayRun; readonly faults: ReadonlyMap<string, number> }> {
  const simulator = await startSimulator();
  let way: BadWay | undefined;
  try {
    const installation = await startInstallation({
      operators: 2,
      gateways: 3,
      async way(plane) {
        way = await startBadWay(plane, { seed: of, linkFaults, canStall: true });
        return way;
      },
    });
    try {
      const run = await changeOnBadWay(installation, simulator.url, changes, () => way?.harm());
      return { run, faults: way?.fired() ?? new Map() };
    } finally {
      way?.heal();
      await installation.stop();
    }
  } finally {
    await simulator.close();
  }
}
