// Is what is doubled, lost or invented seen in what a run gives?

import { expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../../gateway/contract/ledger-record.ts';
import { makeRecord } from '../../gateway/meter/make-facts.ts';
import { judgeJournal } from './judge.ts';
import type { Asked } from './run.ts';

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

const seen = { calls: new Map(), callsMade: 9, callAgesMs: [0, 10, 20, 30, 40, 50, 60, 70, 80], killed: 1 };

test('an attempt that stands there twice', () => {
  const records = [record('a', 1), record('b', 1), record('a', 1)];
  expect(judgeJournal({ ...seen, asked: [], records }).doubled).toEqual(['a.1']);
});

test('each attempt of a whole answer that is missing, the oldest first', () => {
  const verdict = judgeJournal({
    ...seen,
    asked: [asked('a', { attempts: 2 }), asked('b', { endedMs: 700 }), asked('c')],
    records: [record('a', 1), record('c', 1)],
  });
  expect([verdict.whole, verdict.lostAgesMs]).toEqual([3, [330, 30]]);
});

test('more records than calls were made, and other tokens than the provider counted', () => {
  const verdict = judgeJournal({
    ...seen,
    callsMade: 1,
    asked: [asked('a')],
    records: [record('a', 1), record('b', 1)],
  });
  const { input, cachedInput: cached, output } = record('a', 1).usage;
  const recorded = JSON.stringify({ input, cached, output });
  expect([verdict.invented, verdict.otherTokens]).toEqual([
    1,
    [`a: ${recorded}, not {"input":0,"cached":0,"output":0}`],
  ]);
});

test('calls without a record: how many, and how old the oldest must have been', () => {
  const records = [record('a', 1), { ...record('b', 1), outcome: 'interrupted' as const }];
  const verdict = judgeJournal({ ...seen, callsMade: 5, asked: [asked('a')], records });
  expect([verdict.missing, verdict.missingAgeMs, verdict.interrupted]).toEqual([3, 20, 1]);
  expect(judgeJournal({ ...seen, callsMade: 2, asked: [], records })).toMatchObject({
    missing: 0,
    missingAgeMs: 0,
  });
});
