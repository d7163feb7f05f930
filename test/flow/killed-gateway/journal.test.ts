// Does the journal of a gateway that is killed tell of each attempt once, and of all but the latest? A short form of
// `npm run e2e -- killed-gateways`.

import { expect, test } from 'vitest';
import { makeRandom } from '../../simulation/random.ts';
import { judgeJournal } from './judge.ts';
import { runKilledGateway } from './run.ts';

const kills = 4;

/** Far above what is stated, which the long form holds it to: a busy machine is slow to write. */
const lossMs = 5_000;

test(`after ${kills} kills under load, no attempt is there twice, and only the latest are missing`, {
  timeout: 300_000,
}, async () => {
  const seen = await runKilledGateway({ kills, random: makeRandom(8) });
  const verdict = judgeJournal(seen);
  expect(seen.killed).toBe(kills);
  expect(verdict.whole).toBeGreaterThan(kills);
  expect(verdict.doubled).toEqual([]);
  expect(verdict.otherTokens).toEqual([]);
  expect(verdict.invented).toBe(0);
  expect(verdict.lostAgesMs.filter((ms) => ms > lossMs)).toEqual([]);
  expect(verdict.interrupted, 'what was in progress has records').toBeGreaterThan(0);
  expect(verdict.missingAgesMs.filter((ms) => ms > lossMs)).toEqual([]);
  expect(seen.records.length, 'each life has left some').toBeGreaterThanOrEqual(kills);
  expect(new Set(seen.records.map(({ attempt }) => attempt))).toEqual(new Set([1, 2]));
});
