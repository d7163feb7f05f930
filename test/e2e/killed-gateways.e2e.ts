// What is lost when gateways are killed? A hundred times under load; the journal is read behind a restart, and held against what
// callers and providers saw.
//
// PENSTOCK_KILLS (default 100) says how often, PENSTOCK_KILLS_SEED which run it is; the seed is printed.

import { expect, test } from 'vitest';
import { judgeJournal } from '../flow/killed-gateway/judge.ts';
import { runKilledGateway } from '../flow/killed-gateway/run.ts';
import { makeRandom } from '../simulation/random.ts';
import { openScorecard } from './scorecard.ts';

const kills = Number(process.env.PENSTOCK_KILLS ?? 100);
const seed = Number(process.env.PENSTOCK_KILLS_SEED ?? Date.now() % 1_000_000);

/** The group of 100 ms that docs/architecture.md states, and as long again for a write on a busy machine. */
const lossMs = 200;

test(`after ${kills} kills under load, the ledger has the records of all but the last moment`, async () => {
  const seen = await runKilledGateway({ kills, random: makeRandom(seed) });
  const { whole, doubled, lostAgesMs, inFlight, otherTokens, missingAgesMs, ...rest } = judgeJournal(seen);
  const card = openScorecard(`gateways killed with SIGKILL, seed ${seed}`);
  const fired = seen.killed;
  card.add({ what: 'kills that ended a process', tried: kills, failed: kills - seen.killed, fired });
  card.add({ what: 'attempts recorded twice', tried: seen.records.length, failed: doubled.length, fired });
  card.add({
    what: `whole answers lost that had ended more than ${lossMs} ms before the kill`,
    tried: whole,
    failed: lostAgesMs.filter((ms) => ms > lossMs).length,
    fired,
    figures: `${lostAgesMs.length} lost in all, ${(lostAgesMs.length / kills).toFixed(1)} a kill, the oldest ${lostAgesMs[0] ?? 0} ms before it; ${inFlight} answers were in flight`,
  });
  card.add({
    what: `calls without a record that had arrived more than ${lossMs} ms before the kill`,
    tried: seen.callsMade,
    failed: missingAgesMs.filter((ms) => ms > lossMs).length,
    fired,
    figures: `${missingAgesMs.length} calls without a record, the oldest ${(missingAgesMs[0] ?? 0).toFixed(0)} ms before its kill; ${rest.interrupted} records of attempts that were cut off`,
  });
  card.add({
    what: 'whole answers with other tokens than the provider counted',
    tried: whole,
    failed: otherTokens.length,
    fired,
  });
  card.add({
    what: 'records of calls that no provider saw',
    tried: seen.callsMade,
    failed: rest.invented,
    fired,
  });
  card.print();
  expect(card.misses()).toEqual([]);
});
