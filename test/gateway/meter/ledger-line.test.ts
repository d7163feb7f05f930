// Is the line that the journal writes the record, to the letter?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildLedgerRecord, rateAttempt } from '../../../gateway/meter/ledger.ts';
import { ledgerLine } from '../../../gateway/meter/ledger-line.ts';
import { makeFacts } from './make-facts.ts';

const tokens = fc.nat({ max: 1_000_000_000 });
const word = fc.string({ minLength: 1, unit: 'grapheme' });
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });

const usage = fc.record(
  {
    input: tokens,
    cachedInput: tokens,
    cacheWrite: tokens,
    cacheWriteHour: tokens,
    output: tokens,
    reasoning: tokens,
    audioInput: tokens,
    audioOutput: tokens,
  },
  { requiredKeys: ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] },
);

const course = fc.record({
  requestId: word,
  number: fc.integer({ min: 1, max: 1_000 }),
  call: fc.nat({ max: 3 }),
  tableGeneration: fc.nat(),
  model: fc.oneof(fc.constant('m'), word),
  providerKey: maybe(word),
  isStream: fc.boolean(),
  startedAtMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  durationMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
  firstContentMs: maybe(fc.double({ min: 0, max: 1e7, noNaN: true })),
  outcome: fc.constantFrom('answered', 'failed', 'broken-off', 'cancelled', 'interrupted'),
  status: maybe(fc.integer({ min: 200, max: 599 })),
  failure: maybe(word),
  cause: maybe(word),
  usage: maybe(usage),
  counted: maybe(fc.record({ input: tokens, output: tokens })),
  isWasted: fc.boolean(),
  outputEstimate: tokens,
});

const entry = fc.record({
  upstreamModel: word,
  price: fc.option(fc.record({ input: fc.nat(), output: fc.nat(), source: word }), { nil: null }),
});
const key = fc.record({
  owner: maybe(fc.record({ team: word }, { requiredKeys: [] })),
  metadata: maybe(fc.dictionary(word, fc.string())),
});

test('a line equals its record, for any values', () => {
  fc.assert(
    fc.property(entry, key, fc.array(course, { minLength: 1, maxLength: 4 }), (target, caller, courses) => {
      const known = makeFacts({ entry: target, key: caller });
      for (const attempt of courses) {
        const facts = { ...known, ...attempt };
        const rated = rateAttempt(facts);
        expect(ledgerLine(facts, rated)).toBe(JSON.stringify(buildLedgerRecord(facts, rated)));
      }
    }),
    { numRuns: 300 },
  );
});

test('a key with a new owner is written with the new one', () => {
  const facts = makeFacts({ key: { owner: { team: 'red' } } });
  const next = { ...facts.caller.key, owner: { team: 'blue' } };
  const lines = [facts, { ...facts, caller: { ...facts.caller, key: next } }].map((one) =>
    JSON.parse(ledgerLine(one, rateAttempt(one))),
  );
  expect(lines).toMatchObject([{ owner: { team: 'red' } }, { owner: { team: 'blue' } }]);
});
