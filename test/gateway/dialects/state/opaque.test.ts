// Does a provider's opaque state come back from a client of another dialect exactly as it went out?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type OpaqueState,
  originOf,
  packOpaque,
  unpackOpaque,
} from '../../../../gateway/dialects/state/opaque.ts';
import { opaquePrefix } from '../../../../gateway/json/own-beginnings.ts';

const state: fc.Arbitrary<OpaqueState> = fc.oneof(
  fc.record({ kind: fc.constantFrom('signature', 'redacted'), value: fc.string({ unit: 'binary' }) }),
  fc.record(
    { kind: fc.constant('encrypted'), value: fc.string({ unit: 'binary' }), id: fc.string() },
    { requiredKeys: ['kind', 'value'] },
  ),
  fc
    .record({ kind: fc.constant('details'), value: fc.jsonValue() })
    .map((details) => JSON.parse(JSON.stringify(details))),
);

test('packed state is unpacked unchanged, with its origin', () => {
  fc.assert(
    fc.property(state, fc.string(), (packed, provider) => {
      const origin = originOf(provider, 'm-1');
      expect(unpackOpaque(packOpaque(origin, packed))).toEqual({ origin, state: packed });
    }),
    { seed: 5, numRuns: 1000 },
  );
});

test('a packed state is one printable word, so that every client echoes it', () => {
  fc.assert(
    fc.property(state, (packed) => {
      expect(packOpaque(originOf('a/b', 'm-1'), packed)).toMatch(/^[\w.-]+$/);
    }),
    { seed: 6, numRuns: 300 },
  );
});

test('the origin does not name the provider, and differs between providers', () => {
  expect(originOf('team-a/openai', 'gpt-5')).not.toContain('openai');
  expect(originOf('team-a/openai', 'gpt-5')).not.toBe(originOf('team-b/openai', 'gpt-5'));
  expect(originOf('team-a/openai', 'gpt-5')).toBe(originOf('team-a/openai', 'gpt-5'));
});

test.each([
  ['claude-opus-4-8', 'claude-3-7-sonnet-20250219', true],
  ['gpt-5', 'gpt-4.1', true],
  ['google/gemini-3-pro', 'google/gemini-2.5-flash', true],
  ['google/gemini-3-pro', 'anthropic/claude-opus-4.8', false],
  ['gpt-5', 'openai/gpt-5', false],
  ['anthropic.claude-opus-4-8', 'zai.glm-5', false],
])('%s and %s of one provider have the same origin: %s', (one, other, isSame) => {
  expect(originOf('p', one) === originOf('p', other)).toBe(isSame);
});

test.each(['', 'EqQBCgIYAhIM', 'gAAAAABo', 'penstock.2.abc.def'])('%j is native to its dialect', (text) => {
  expect(unpackOpaque(text)).toBeUndefined();
});

describe('state that a client has damaged', () => {
  test.each([
    ['cut short', ''],
    ['without a payload', 'abcd'],
    ['not base64 of JSON', 'abcd.!!!!'],
    ['of an unknown kind', `abcd.${Buffer.from('{"kind":"x","value":"y"}').toString('base64url')}`],
    [
      'with a value of another type',
      `abcd.${Buffer.from('{"kind":"signature","value":7}').toString('base64url')}`,
    ],
    [
      'with more behind it',
      `abcd.${Buffer.from('{"kind":"signature","value":"y"}').toString('base64url')}.more`,
    ],
  ])('%s is recognised as not native', (_, rest) => {
    expect(unpackOpaque(opaquePrefix + rest)).toBe('damaged');
  });
});
