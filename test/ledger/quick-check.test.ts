// Is what the quick check accepts what the schema accepts? Lines of every kind, with anything at any place of them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ZodType } from 'zod';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { refusalSchema, refusalSumsSchema } from '../../core/contract/refusal.ts';
import { quickCheck } from '../../ledger/quick-check.ts';
import { makeEntry } from './make-entry.ts';

const at = '2026-11-16T10:00:00.000Z';
const who = { namespace: 'team', apiKey: 'team/key', model: 'gpt', status: 429, code: 'rate_limit_exceeded' };
const price = {
  ...{ input: 1, cachedInput: 1, output: 2, perRequest: 3, source: 'catalog' },
  tiers: [{ aboveInputTokens: 1, input: 2 }],
  catalog: { name: 'litellm', version: '1', provider: 'openai', model: 'gpt' },
};
const full = {
  ...makeEntry().record,
  ...{ call: 1, firstContentMs: 0, requestedModel: 'alias', providerKey: 'main', status: 200, failure: 'x' },
  ...{ cause: 'c', estimatedBy: 'tokenizer', price, owner: { name: 'n', email: 'e', team: 't' } },
  metadata: { project: 'p' },
};

const kinds: readonly [string, ZodType, readonly object[]][] = [
  [
    'a record',
    ledgerRecordSchema,
    [makeEntry().record, full, { ...full, price: null, costPicodollars: null }],
  ],
  [
    'a refusal',
    refusalSchema,
    [{ kind: 'refusal', id: 'r', at, ...who, owner: {}, clientDialect: 'openai-chat', message: 'm' }],
  ],
  [
    'sums of refusals',
    refusalSumsSchema,
    [{ kind: 'refusal-sums', id: 'w', at, windowMs: 1, counts: [{ ...who, count: 1 }] }],
  ],
];

test.each(kinds)('a valid %s needs no more than the quick check', (_, schema, values) => {
  for (const value of values) expect(quickCheck(schema)({ ...value, crc: '0' })).toBe(true);
});

test.each(kinds)('a %s that the quick check accepts equals the result of the schema', (_, schema, values) => {
  const isValid = quickCheck(schema);
  const odd = fc.oneof(
    fc.constantFrom(...['', 'a', 'x'.repeat(401), at, '2026-13-01T00:00:00Z', `${at}+1`, null, true, [], {}]),
    fc.constantFrom(
      ...[0, -1, 1, 1.5, 99, 600, 2 ** 53, 1e300, 1_000_000_001, { __proto__: null }, { a: 1 }],
    ),
    fc.jsonValue(),
  );
  let accepted = 0;
  fc.assert(
    fc.property(fc.constantFrom(...values), fc.nat(), odd, fc.boolean(), (value, place, other, isGone) => {
      const line = JSON.stringify(changedAt(structuredClone(value), place, isGone ? undefined : other));
      const changed: unknown = JSON.parse(line);
      if (!isValid(changed)) return;
      accepted++;
      expect(changed).toMatchObject(schema.parse(changed) as object);
    }),
    { numRuns: 3_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

/** With another value at one of all the places in it, or with nothing there. */
function changedAt(value: unknown, place: number, other: unknown): unknown {
  const places: [Record<string, unknown>, string][] = [];
  const visit = (within: unknown): void => {
    if (typeof within !== 'object' || within === null) return;
    for (const name of Object.keys(within)) {
      places.push([within as Record<string, unknown>, name]);
      visit((within as Record<string, unknown>)[name]);
    }
  };
  visit(value);
  const [within, name] = places[place % places.length] ?? [];
  if (within === undefined || name === undefined) return other;
  if (other === undefined) delete within[name];
  else within[name] = other;
  return value;
}
