// Does the ledger come to what the providers have counted when all around it is killed? A hundred gateways and twenty operators with
// SIGKILL, and again and again Postgres, in which it is kept, and the store of the limits; under load, while prices change.
//
// PENSTOCK_KILLS (default 100) says how many gateways, PENSTOCK_KILLS_SEED which run it is; the seed is printed.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { runAllKilled } from '../flow/all-killed/run.ts';
import { judgeJournal } from '../flow/killed-gateway/judge.ts';
import { judgeLedger } from '../flow/killed-ledger/judge.ts';
import { type Postgres, startPostgres } from '../ledger/postgres.ts';
import { makeRandom } from '../simulation/random.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { openScorecard } from './scorecard.ts';

const gateways = Number(process.env.PENSTOCK_KILLS ?? 100);
const operators = Math.ceil(gateways / 5);
const stores = Math.ceil(gateways / 10);
const seed = Number(process.env.PENSTOCK_KILLS_SEED ?? Date.now() % 1_000_000);

/** The group of 100 ms that docs/architecture.md states, and as long again for a write on a busy machine. */
const lossMs = 200;

let postgres: Postgres;
let redis: RedisServer;
beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
});
afterAll(() => Promise.all([postgres?.close(), redis?.close()]));

test(`the ledger equals the providers after ${gateways} killed gateways, ${operators} operators, and their stores`, {
  timeout: 3_000_000,
}, async () => {
  const random = makeRandom(seed);
  const seen = await runAllKilled({ gateways, operators, stores, postgres, redis, random });
  const { whole, doubled, lostAgesMs, inFlight, otherTokens, tokens, missingAgesMs, ...rest } =
    judgeJournal(seen);
  const ledger = judgeLedger({ ...seen, asked: new Map() });
  const card = openScorecard(`the ledger while all around it is killed, seed ${seed}`);
  const fired = seen.killed;
  const kinds: readonly [string, number, number][] = [
    ['gateways', gateways, seen.killed],
    ['operators', operators, seen.killedOperators],
    ['servers of Postgres', stores, seen.killedPostgres],
    ['stores of limits that held something', stores, seen.killedStores],
  ];
  for (const [what, tried, killed] of kinds)
    card.add({
      what: `${what} killed`,
      tried: Math.max(tried, killed),
      failed: Math.max(0, tried - killed),
      fired: killed,
      ...(what === 'operators' ? { figures: `${seen.killedLeaders} of them led` } : {}),
    });
  const tried = seen.records.length;
  card.add({ what: 'attempts recorded twice', tried, failed: doubled.length, fired });
  card.add({ what: 'attempts counted twice', tried, failed: ledger.doubled, fired });
  card.add({
    what: `attempts of whole answers lost that had ended more than ${lossMs} ms before the kill`,
    tried: whole,
    failed: lostAgesMs.filter((ms) => ms > lossMs).length,
    fired,
    figures: `${lostAgesMs.length} lost in all, ${(lostAgesMs.length / seen.killed).toFixed(2)} a kill, the oldest ${lostAgesMs[0] ?? 0} ms before it; ${inFlight} answers were in flight`,
  });
  card.add({
    what: `calls without a record that had arrived more than ${lossMs} ms before the kill`,
    tried: seen.callsMade,
    failed: missingAgesMs.filter((ms) => ms > lossMs).length,
    fired,
    figures: `${missingAgesMs.length} calls without a record, the oldest ${(missingAgesMs[0] ?? 0).toFixed(0)} ms before its kill; ${rest.interrupted} records of attempts that were cut off`,
  });
  const { recorded, provided } = tokens;
  card.add({
    what: 'whole answers with other tokens than the provider counted',
    tried: tokens.counted,
    failed: otherTokens.length,
    fired,
    figures: `${sayTokens(recorded)} by the ledger, ${sayTokens(provided)} by the providers`,
  });
  card.add({
    what: 'records of calls that no provider saw',
    tried: seen.callsMade,
    failed: rest.invented,
    fired,
  });
  card.add({
    what: 'sums of money that differ from their records',
    tried: 2,
    failed: ledger.offPicodollars === 0n ? 0 : 1,
    fired,
    figures: `${seen.sums?.costPicodollars ?? 0n} picodollars in all`,
  });
  card.add({
    what: 'tables whose records have two prices',
    tried: new Set(seen.records.map(({ tableGeneration }) => tableGeneration)).size,
    failed: seen.otherPrices.length,
    fired: seen.pricesSeen - 1,
    figures: `${seen.pricesSeen} prices were in use`,
  });
  card.add({
    what: 'requests that failed though their gateway lived',
    tried: seen.asked.length,
    failed: seen.failedBesides.length,
    fired: seen.killedStores,
  });
  card.add({
    what: 'records that a gateway could not hand over in the end',
    tried,
    failed: seen.unacknowledged,
    fired,
  });
  card.print();
  expect(otherTokens).toEqual([]);
  expect(seen.failedBesides).toEqual([]);
  expect(card.misses()).toEqual([]);
});

const sayTokens = (sums: object): string =>
  Object.entries(sums)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ');
