// What does the ledger lose, or count twice, when it is killed? A hundred times under load, half of them with SQLite and half with
// Postgres, which is killed too; held against what callers and providers saw.
//
// PENSTOCK_KILLS (default 100) says how often, PENSTOCK_KILLS_SEED which run it is; the seed is printed.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { useControlPlane } from '../cluster/control-plane.ts';
import { judgeLedger } from '../flow/killed-ledger/judge.ts';
import { runKilledLeader, runKilledLedger } from '../flow/killed-ledger/run.ts';
import { type Postgres, startPostgres } from '../ledger/postgres.ts';
import { makeRandom } from '../simulation/random.ts';
import { openScorecard } from './scorecard.ts';

const kills = Number(process.env.PENSTOCK_KILLS ?? 100);
const seed = Number(process.env.PENSTOCK_KILLS_SEED ?? Date.now() % 1_000_000);

const plane = useControlPlane({ hasControllers: false });
let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close());

test.each(['sqlite', 'postgres'] as const)(
  `killed under load, with %s: every attempt is there once`,
  async (kind) => {
    const wanted = Math.ceil(kills / 2);
    const seen = await runKilledLedger({
      plane: plane(),
      kills: wanted,
      random: makeRandom(seed),
      ...(kind === 'postgres' ? { postgres } : {}),
    });
    const { lost, doubled, offPicodollars } = judgeLedger(seen);
    const card = openScorecard(`the ledger killed with SIGKILL, with ${kind}, seed ${seed}`);
    const fired = seen.killedLedgers + seen.killedPostgres;
    const tried = seen.callsMade;
    card.add({
      what: 'kills that ended a process',
      tried: wanted,
      failed: Math.max(0, wanted - fired),
      fired,
      figures: `${seen.killedLedgers} of the ledger, ${seen.killedPostgres} of Postgres`,
    });
    card.add({
      what: 'ledgers that ended with their database, or by themselves',
      tried: wanted,
      failed: seen.endedByThemselves,
      fired,
    });
    card.add({
      what: 'attempts lost',
      tried,
      failed: lost,
      fired,
      figures: `${seen.records.length} records of ${seen.asked.size} requests`,
    });
    card.add({ what: 'attempts counted twice', tried, failed: doubled, fired });
    card.add({
      what: 'sums that differ from their records',
      tried: 2,
      failed: offPicodollars === 0n ? 0 : 1,
      fired,
      figures: `${seen.sums?.costPicodollars ?? 0n} picodollars in all`,
    });
    card.print();
    expect(card.misses()).toEqual([]);
  },
);

test('after the leader of two with Postgres is killed, the other goes on, and every attempt is there once', async () => {
  const seen = await runKilledLeader({ plane: plane(), kills, random: makeRandom(seed), postgres });
  const { lost, doubled, offPicodollars } = judgeLedger(seen);
  const card = openScorecard(`the leading ledger killed with SIGKILL, seed ${seed}`);
  const sorted = seen.failoverMs.toSorted((a, b) => a - b).map(Math.round);
  card.add({
    what: 'failovers that took 15 s or more',
    tried: kills,
    failed: sorted.filter((ms) => ms >= 15_000).length,
    figures: `p50 ${sorted[Math.floor(sorted.length / 2)]} ms, max ${sorted.at(-1)} ms`,
  });
  card.add({ what: 'attempts lost', tried: seen.callsMade, failed: lost });
  card.add({ what: 'attempts counted twice', tried: seen.callsMade, failed: doubled });
  card.add({ what: 'sums that differ from their records', tried: 1, failed: offPicodollars === 0n ? 0 : 1 });
  card.print();
  expect(card.misses()).toEqual([]);
});
