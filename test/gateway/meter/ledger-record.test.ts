// What is written down about an attempt, and who pays for it?

import { describe, expect, test } from 'vitest';
import { type LedgerRecord, ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import { rateAttempt } from '../../../gateway/meter/ledger.ts';
import { ledgerLine } from '../../../gateway/meter/ledger-line.ts';
import { type Differing, makeFacts } from './make-facts.ts';

/** As the ledger reads it: a line of JSON, checked. */
function written(more: Differing = {}): LedgerRecord {
  const facts = makeFacts(more);
  return ledgerRecordSchema.parse(JSON.parse(ledgerLine(facts, rateAttempt(facts))));
}

test('it has everything that a bill or a question may need', () => {
  expect(written({ providerKey: 'main', key: { owner: { team: 'x' }, metadata: { a: 'b' } } })).toEqual({
    id: 'req_1.1',
    request: 'req_1',
    attempt: 1,
    startedAt: '2026-01-02T03:04:05.678Z',
    durationMs: 121,
    firstContentMs: 20,
    tableGeneration: 4,
    namespace: 'team',
    apiKey: 'team/key',
    route: 'team/m',
    model: 'm',
    target: 't0',
    provider: 'platform/p',
    providerKey: 'main',
    upstreamModel: 'upstream-0',
    clientDialect: 'openai-chat',
    upstreamDialect: 'openai-chat',
    isStream: true,
    outcome: 'answered',
    status: 200,
    usage: { input: 100, cachedInput: 0, cacheWrite: 0, output: 50, reasoning: 0 },
    isEstimated: false,
    price: { input: 1_000_000, output: 2_000_000, source: 'target' },
    costPicodollars: 200_000_000,
    payer: 'tenant',
    owner: { team: 'x' },
    metadata: { a: 'b' },
  });
});

const perRequest = { input: 10, output: 100, perRequest: 7, source: 'target' };
const noUsage = { usage: undefined } as const;
/** As a message of Anthropic begins. */
const begun = { input: 100, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0 } as const;
const nothingCame = { status: undefined, firstContentMs: undefined, ...noUsage, outputEstimate: 0 } as const;

describe('the payer of an attempt', () => {
  test.each<[string, Differing, object]>([
    ['answered: the tenant, all of it', { outcome: 'answered' }, { payer: 'tenant', costPicodollars: 6_007 }],
    [
      'broken off: the tenant, what was delivered',
      { outcome: 'broken-off', failure: 'truncated' },
      { payer: 'tenant', costPicodollars: 6_007 },
    ],
    [
      'cancelled: the tenant, what was used',
      { outcome: 'cancelled' },
      { payer: 'tenant', costPicodollars: 6_007 },
    ],
    [
      'failed: the platform, what the provider counted, and nothing for a request that was not delivered',
      { outcome: 'failed', failure: 'error-event' },
      { payer: 'platform', costPicodollars: 6_000 },
    ],
    [
      'the second call of one request: its tokens, the request was paid for with the first',
      { call: 1, number: 2 },
      { payer: 'tenant', costPicodollars: 6_000 },
    ],
    [
      'failed without a sign of work: nothing',
      {
        outcome: 'failed',
        failure: 'connect',
        status: undefined,
        firstContentMs: undefined,
        ...noUsage,
        outputEstimate: 0,
      },
      { payer: 'platform', costPicodollars: 0, isEstimated: true },
    ],
    [
      'cancelled before it was sent: nothing',
      { outcome: 'cancelled', ...nothingCame, isSent: false },
      { payer: 'tenant', costPicodollars: 0, isEstimated: true },
    ],
    [
      'cancelled before anything came: the tenant, the request, which has been read',
      { outcome: 'cancelled', ...nothingCame, isSent: true },
      { payer: 'tenant', costPicodollars: 101 * 10, isEstimated: true, usage: { input: 101, output: 0 } },
    ],
    [
      'cancelled in the middle of a plain answer: the same',
      { outcome: 'cancelled', ...nothingCame, isSent: true, status: 200 },
      { payer: 'tenant', costPicodollars: 101 * 10, isEstimated: true },
    ],
    [
      'cancelled in the middle of a refusal: nothing',
      { outcome: 'cancelled', ...nothingCame, isSent: true, status: 529 },
      { payer: 'tenant', costPicodollars: 0, isEstimated: true },
    ],
    [
      'failed before anything came: nothing, whatever it had read',
      { outcome: 'failed', failure: 'reset', ...nothingCame, isSent: true },
      { payer: 'platform', costPicodollars: 0, isEstimated: true },
    ],
    [
      'cancelled in the middle: what was seen, estimated',
      { outcome: 'cancelled', ...noUsage, outputEstimate: 5 },
      { payer: 'tenant', costPicodollars: 101 * 10 + 5 * 100 + 7, isEstimated: true },
    ],
    [
      'broken off without counts: what was seen, estimated',
      { outcome: 'broken-off', failure: 'truncated', ...noUsage, outputEstimate: 5 },
      { payer: 'tenant', costPicodollars: 101 * 10 + 5 * 100 + 7, isEstimated: true },
    ],
    ...(['broken-off', 'cancelled'] as const).map((outcome): [string, Differing, object] => [
      `${outcome} behind counts of its beginning: the input as reported, the output as seen`,
      { outcome, outputEstimate: 51 },
      {
        payer: 'tenant',
        costPicodollars: 100 * 10 + 51 * 100 + 7,
        isEstimated: true,
        usage: { input: 100, output: 51 },
      },
    ]),
    [
      'cancelled before any content, behind counts of its beginning: those, estimated, and nothing for a request without an answer',
      { outcome: 'cancelled', ...nothingCame, status: 200, usage: begun, lacksOutput: true },
      {
        payer: 'tenant',
        costPicodollars: 100 * 10 + 100,
        isEstimated: true,
        usage: { input: 100, output: 1 },
      },
    ],
    [
      'cancelled before a plain answer was put together: what was seen of it, and nothing for a request without an answer',
      { outcome: 'cancelled', isStream: false, ...noUsage, outputEstimate: 5 },
      { payer: 'tenant', costPicodollars: 101 * 10 + 5 * 100, isEstimated: true },
    ],
    [
      'cancelled behind no more content than its beginning speaks of: estimated all the same',
      { outcome: 'cancelled', usage: begun, lacksOutput: true, outputEstimate: 1 },
      { payer: 'tenant', costPicodollars: 100 * 10 + 100 + 7, isEstimated: true },
    ],
    [
      'failed behind counts of its beginning: the platform, those, estimated',
      { outcome: 'failed', failure: 'truncated', ...nothingCame, usage: begun, lacksOutput: true },
      { payer: 'platform', costPicodollars: 100 * 10 + 100, isEstimated: true },
    ],
    [
      'cancelled before any content, and its upstream goes on with it: what was reserved, and nothing for the request',
      { outcome: 'cancelled', ...nothingCame, goesOn: true },
      { payer: 'tenant', costPicodollars: 101 * 10 + 4_096 * 100, isEstimated: true },
    ],
    [
      'cut off by the end of the gateway behind content: the tenant, what was seen, estimated',
      { outcome: 'interrupted', outputEstimate: 51 },
      { payer: 'tenant', costPicodollars: 100 * 10 + 51 * 100 + 7, isEstimated: true },
    ],
    [
      'cut off by the end of the gateway before content: the platform, the request, which may have been served',
      { outcome: 'interrupted', firstContentMs: undefined, ...noUsage, outputEstimate: 0 },
      { payer: 'platform', isEstimated: true, usage: { input: 101, output: 0 } },
    ],
    [
      'cut off by the end of the gateway, all of it counted: estimated all the same',
      { outcome: 'interrupted', isStream: false },
      { payer: 'platform', isEstimated: true, usage: { input: 100, output: 50 } },
    ],
    [
      'answered, and counted at its beginning alone: the input as reported, the output as seen',
      { outcome: 'answered', lacksOutput: true, outputEstimate: 51 },
      {
        payer: 'tenant',
        costPicodollars: 100 * 10 + 51 * 100 + 7,
        isEstimated: true,
        usage: { input: 100, output: 51 },
      },
    ],
    [
      'answered, and its upstream goes on with it: at least what was reserved, and the input as reported',
      { outcome: 'answered', goesOn: true },
      {
        payer: 'tenant',
        costPicodollars: 100 * 10 + 4_096 * 100 + 7,
        isEstimated: true,
        usage: { input: 100, output: 4_096 },
      },
    ],
    [
      'failed, and its upstream goes on with it: the platform, what was reserved',
      { outcome: 'failed', failure: 'truncated', ...nothingCame, goesOn: true },
      { payer: 'platform', costPicodollars: 101 * 10 + 4_096 * 100, isEstimated: true },
    ],
    [
      'failed, though its upstream was asked to go on with it: nothing',
      { outcome: 'failed', failure: 'connect', ...nothingCame, isBackground: true },
      { payer: 'platform', costPicodollars: 0 },
    ],
    [
      'answered, though its upstream was asked to go on with it, and did not: as counted',
      { outcome: 'answered', goesOn: false, isBackground: true },
      { costPicodollars: 6_007, isEstimated: false },
    ],
    [
      'answered, though more was seen than counted: as counted',
      { outcome: 'answered', outputEstimate: 51 },
      { costPicodollars: 6_007, isEstimated: false },
    ],
    [
      'answered without counts: estimated, also an empty answer',
      { outcome: 'answered', ...noUsage, outputEstimate: 0 },
      { payer: 'tenant', costPicodollars: 101 * 10 + 7, isEstimated: true },
    ],
  ])('%s', (_, more, wanted) => {
    expect(written({ entry: { price: perRequest }, ...more })).toMatchObject(wanted);
  });

  test('a model without a price has tokens and no cost', () => {
    expect(written({ entry: { price: null } })).toMatchObject({
      price: null,
      costPicodollars: null,
      payer: 'tenant',
      usage: { input: 100, output: 50 },
    });
  });

  test.each(['answered', 'failed', 'broken-off', 'cancelled'] as const)(
    'the tenant’s own provider, %s: recorded, and it costs nothing here',
    (outcome) => {
      const own = { provider: { id: 'team/own', isPlatform: false } };
      expect(written({ ...own, outcome })).toMatchObject({
        payer: 'own-key',
        costPicodollars: 0,
        usage: { input: 100 },
      });
      expect(written({ ...own, outcome, entry: { price: null } })).toMatchObject({ costPicodollars: 0 });
    },
  );

  test.each<[string, Differing]>([
    ['the platform’s provider in the tenant’s namespace', { provider: { id: 'team/p', isPlatform: true } }],
    ['another tenant’s provider', { provider: { id: 'other/p', isPlatform: false } }],
  ])('%s is not the tenant’s own', (_, more) => {
    expect(written(more)).toMatchObject({ payer: 'tenant', costPicodollars: 200_000_000 });
  });
});

test('unknown values are left out', () => {
  const record = written({ status: undefined, failure: undefined, firstContentMs: undefined });
  for (const name of ['status', 'failure', 'firstContentMs', 'providerKey', 'owner', 'metadata']) {
    expect(record).not.toHaveProperty(name);
  }
});

test('a model is written with its own id, and the requested alias beside it', () => {
  expect(written({ model: 'also-m' })).toMatchObject({ model: 'm', requestedModel: 'also-m' });
  expect(written({ model: 'm' })).not.toHaveProperty('requestedModel');
});

test('each attempt of a request has a unique id', () => {
  expect([1, 2, 3].map((number) => written({ number }).id)).toEqual(['req_1.1', 'req_1.2', 'req_1.3']);
});
