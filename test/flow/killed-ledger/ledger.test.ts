// Does a ledger that is killed have every attempt once? A short form of `npm run e2e -- e2e/ledger.e2e`, which kills its database too.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { type Postgres, startPostgres } from '../../ledger/postgres.ts';
import { makeRandom } from '../../simulation/random.ts';
import { runs } from '../../support/runs.ts';
import { judgeLedger } from './judge.ts';
import { runKilledLeader, runKilledLedger } from './run.ts';

const plane = useControlPlane({ hasControllers: false });
let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close());

const kills = runs(2);

test('killed under load, with SQLite: every attempt is there once, and the sums are those of the records', async () => {
  const seen = await runKilledLedger({ plane: plane(), kills, random: makeRandom(3) });
  expect(seen.killedLedgers).toBeGreaterThanOrEqual(kills);
  expect(seen.endedByThemselves).toBe(0);
  expect(seen.records.length).toBeGreaterThan(kills);
  expect(new Set(seen.records.map(({ attempt }) => attempt))).toEqual(new Set([1, 2]));
  expect(judgeLedger(seen)).toEqual({ lost: 0, doubled: 0, offPicodollars: 0n });
});

test('after the leader of two with Postgres is killed, the other goes on within seconds, and every attempt is there once', async () => {
  const seen = await runKilledLeader({ plane: plane(), kills, random: makeRandom(7), postgres });
  expect(seen.failoverMs).toHaveLength(kills);
  expect(Math.max(...seen.failoverMs)).toBeLessThan(15_000);
  expect(judgeLedger(seen)).toEqual({ lost: 0, doubled: 0, offPicodollars: 0n });
});
