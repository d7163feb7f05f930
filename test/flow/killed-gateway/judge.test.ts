// Is what is doubled, lost or invented seen in what a run gives?

import { expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import { makeRecord } from '../../gateway/meter/make-facts.ts';
import { noTokens } from '../../support/wall/call.ts';
import { noTokens as noTokensRecorded, recordedTokens } from '../same-tokens.ts';
import { judgeJournal } from './judge.ts';
import type { Asked, CallSeen } from './run.ts';

const record = (request: string, attempt: number) =>
  ledgerRecordSchema.parse({ ...makeRecord(), id: `${request}.${attempt}`, request, attempt });

const asked = (requestId: string, more: Partial<Asked> = {}): Asked => ({
  user: `user of ${requestId}`,
  requestId,
  attempts: 1,
  isWhole: true,
  endedMs: 1_000,
  killedMs: 1_030,
  ...more,
});

/** For each user the calls that were made, by how old they were at the kill. */
function callsOf(ages: Readonly<Record<string, readonly number[]>>) {
  const all = Object.entries(ages).flatMap(([user, each]) =>
    each.map((ageMs) => ({ user, ageMs, call: { behaviour: undefined, tokens: noTokens } })),
  );
  const calls = new Map<string, CallSeen[]>();
  for (const { user, call } of all) calls.set(user, [...(calls.get(user) ?? []), call]);
  return { calls, callsMade: all.length, agesMs: new Map(all.map(({ call, ageMs }) => [call, ageMs])) };
}

const seen = { ...callsOf({}), killed: 1 };

test('finds an attempt that is there twice', () => {
  const records = [record('a', 1), record('b', 1), record('a', 1)];
  expect(judgeJournal({ ...seen, asked: [], records }).doubled).toEqual(['a.1']);
});

test('finds each attempt of a complete answer that is missing, the oldest first', () => {
  const verdict = judgeJournal({
    ...seen,
    asked: [asked('a', { attempts: 2 }), asked('b', { endedMs: 700 }), asked('c')],
    records: [record('a', 1), record('c', 1)],
  });
  expect([verdict.whole, verdict.lostAgesMs]).toEqual([3, [330, 30]]);
});

test('finds more records than calls, and other tokens than the provider counted', () => {
  const verdict = judgeJournal({
    ...seen,
    ...callsOf({ 'user of a': [10] }),
    asked: [asked('a')],
    records: [record('a', 1), record('b', 1)],
  });
  const recorded = JSON.stringify(recordedTokens(record('a', 1)));
  expect([verdict.invented, verdict.otherTokens]).toEqual([
    1,
    [`a: ${recorded}, not ${JSON.stringify(noTokensRecorded)}`],
  ]);
});

test('finds calls without a record: each by its request, and calls without a head at the end', () => {
  const records = [record('a', 1), { ...record('b', 1), outcome: 'interrupted' as const }];
  const headless = (user: string) => asked('', { user, requestId: undefined, isWhole: false });
  const verdict = judgeJournal({
    ...seen,
    // A second call of the first request is old; many others are not.
    ...callsOf({ 'user of a': [900, 910], 'user of c': [30], one: [20], two: [40], three: [700] }),
    asked: [asked('a'), asked('c', { isWhole: false }), headless('one'), headless('two'), headless('three')],
    records,
  });
  expect([verdict.missingAgesMs, verdict.interrupted, verdict.invented]).toEqual([[900, 40, 30, 20], 1, 0]);
  expect(judgeJournal({ ...seen, asked: [], records }).missingAgesMs).toEqual([]);
});
