// Is it seen when the ledger and the providers disagree?

import { expect, test } from 'vitest';
import { type LedgerRecord, ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import type { Sums } from '../../../ledger/store/store.ts';
import { makeRecord } from '../../gateway/meter/make-facts.ts';
import { type CallFacts, judgeSums } from './judge.ts';

const prices = { input: 10, cachedInput: 1, cacheWrite: 12, output: 20, reasoning: 30 };
const usage = { input: 50, cachedInput: 30, cacheWrite: 5, output: 7, reasoning: 3 };
const cost = 15 * 10 + 30 * 1 + 5 * 12 + 4 * 20 + 3 * 30;

const record = (attempt: number, more: Partial<LedgerRecord> = {}): LedgerRecord =>
  ledgerRecordSchema.parse({
    ...makeRecord(),
    id: `a.${attempt}`,
    request: 'a',
    attempt,
    upstreamModel: 'm',
    usage,
    isEstimated: false,
    costPicodollars: cost,
    ...more,
  });
const call: CallFacts = {
  upstreamModel: 'm',
  tokens: {
    ...{ inputTokens: 50, cachedTokens: 30, cacheWriteTokens: 5, outputTokens: 7, reasoningTokens: 3 },
    isReported: true,
  },
};
const sumsOfOne: Sums = {
  ...{ requests: 1, attempts: 1, estimated: 0, unpriced: 0, ...usage },
  costPicodollars: BigInt(cost),
};
const judge = (calls: readonly CallFacts[], records: readonly LedgerRecord[], sums = sumsOfOne) =>
  judgeSums(calls, records, sums, prices);

test('accepts a call and its record', () => {
  const verdict = judge([call], [record(1)]);
  const tokens = { input: 50, cached: 30, cacheWrite: 5, output: 7, reasoning: 3 };
  expect(verdict).toMatchObject({
    pairs: [{ word: 'counted' }],
    ...{ unrecorded: [], invented: [], doubled: [], otherCosts: [], otherSums: [] },
    tokens: { recorded: tokens, provided: tokens, counted: 1, estimated: 0 },
  });
});

test('finds a call without a record, a record without a call, and one that is there twice', () => {
  expect(judge([call, call], [record(1)]).unrecorded).toEqual([call]);
  expect(judge([call], [record(1), record(2)]).invented).toEqual([record(2)]);
  expect(judge([call, call], [record(1), record(1)]).doubled).toEqual(['a.1']);
});

test('accepts an attempt without a call if its provider was away', () => {
  const refused = record(1, { outcome: 'failed', failure: 'connect_refused' });
  expect(judge([call], [refused, record(2)])).toMatchObject({
    pairs: [{ record: { id: 'a.2' } }],
    invented: [],
    refused: [{ id: 'a.1' }],
  });
});

test.each([
  ['one token too many', { usage: { ...usage, output: 8 } }, 'off'],
  ['one token of the cache too few', { usage: { ...usage, cachedInput: 29 } }, 'off'],
  ['one token written to the cache too few', { usage: { ...usage, cacheWrite: 4 } }, 'off'],
  ['one token of reasoning too many', { usage: { ...usage, reasoning: 4 } }, 'off'],
  ['counts of our own', { isEstimated: true }, 'estimated'],
  ['no tokens', { isEstimated: true, usage: { ...usage, input: 0, output: 0 } }, 'nothing'],
])('%s', (_what, more, word) => {
  expect(judge([call], [record(1, more)]).pairs.map((pair) => pair.word)).toEqual([word]);
});

test('takes unreported counts for none, and counts at the start of a message for an estimate', () => {
  const begun = { ...call, tokens: { ...call.tokens, outputTokens: 0, isReported: false } };
  const words = (more: Partial<LedgerRecord>) => judge([begun], [record(1, more)]).pairs[0]?.word;
  const first = { usage: { ...usage, output: 1 }, isEstimated: true };
  expect(words({ upstreamDialect: 'anthropic-messages', ...first })).toBe('begun');
  expect(words({ upstreamDialect: 'anthropic-messages', ...first, isEstimated: false })).toBe('off');
  expect(words({ upstreamDialect: 'anthropic-messages', isEstimated: true })).toBe('estimated');
  expect(words({ upstreamDialect: 'openai-chat', ...first })).toBe('estimated');
  expect(words({})).toBe('off');
});

test('finds a cost that does not fit its tokens, and a sum that does not fit its records', () => {
  expect(judge([call], [record(1, { costPicodollars: cost + 1 })]).otherCosts).toHaveLength(1);
  expect(judge([call], [record(1)], { ...sumsOfOne, output: 8 }).otherSums).toEqual(['output: 8, not 7']);
});
