// Which changes take something away, and so are not to wait?

import { expect, test } from 'vitest';
import { isRevocation } from '../../../operator/watch/revocation.ts';
import { apiKey, provider, route } from '../make.ts';

const digest = (letter: string) => letter.repeat(64);
const early = '2027-01-01T00:00:00Z';
const late = '2028-01-01T00:00:00Z';

test.each([
  ['an ApiKey is gone', apiKey(), undefined],
  ['an ApiKey is being deleted', apiKey(), apiKey({}, { deletionTimestamp: early })],
  ['an ApiKey is disabled', apiKey(), apiKey({ disabled: true })],
  ['an ApiKey gets an end', apiKey(), apiKey({ expiresAt: late })],
  ['an ApiKey ends earlier', apiKey({ expiresAt: late }), apiKey({ expiresAt: early })],
  ['a key that was imported is taken out', apiKey(), apiKey({ imports: [{ sha256: digest('b') }] })],
  ['all imports are taken out', apiKey(), apiKey({ imports: undefined })],
  [
    'a key that was imported ends earlier',
    apiKey(),
    apiKey({ imports: [{ sha256: digest('a'), notAfter: late }] }),
  ],
  ['an ApiKey may use other models', apiKey(), apiKey({ models: { allow: ['chat'] } })],
])('ApiKey: %s', (_, before, after) => {
  expect(isRevocation('ApiKey', before, after)).toBe(true);
});

test.each([
  ['it is new', undefined, apiKey({ disabled: true })],
  ['it is enabled again', apiKey({ disabled: true }), apiKey()],
  ['it stays disabled', apiKey({ disabled: true }), apiKey({ disabled: true, owner: { name: 'x' } })],
  ['it ends later', apiKey({ expiresAt: early }), apiKey({ expiresAt: late })],
  ['it ends no more', apiKey({ expiresAt: early }), apiKey()],
  [
    'a key is imported beside the other',
    apiKey(),
    apiKey({ imports: [{ sha256: digest('b') }, { sha256: digest('a') }] }),
  ],
  ['its owner is another', apiKey(), apiKey({ owner: { name: 'x' } })],
  ['it cannot be read at all', apiKey({ imports: 'x', expiresAt: 7 }), apiKey({ imports: [7] })],
])('ApiKey, without a revocation: %s', (_, before, after) => {
  expect(isRevocation('ApiKey', before, after)).toBe(false);
});

test('a Provider or ModelRoute that is deleted, or shared otherwise, is a revocation', () => {
  const shared = { allowedNamespaces: { from: 'All' } };
  expect(isRevocation('Provider', provider(), undefined)).toBe(true);
  expect(isRevocation('Provider', provider(shared), provider())).toBe(true);
  expect(isRevocation('ModelRoute', route(shared), route())).toBe(true);
  expect(isRevocation('ModelRoute', route(), route({ model: 'other' }))).toBe(false);
});
