// Is what keys were used for added up by owner and team, each key once?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ListedKey } from '../../dashboard/rows/choose-rows.ts';
import { keyRowOf } from '../../dashboard/rows/key-row.ts';
import { ownersOf } from '../../dashboard/rows/owners-of.ts';

const keyOf = (name: string, owner: object): ListedKey => {
  const metadata = { namespace: 'team-a', name };
  const row = keyRowOf({ metadata, spec: { owner } }, undefined, 0);
  if (row === undefined) throw new Error('no key');
  return { row, words: '' };
};
const sumOf = (apiKey: string, requests: number) => ({
  ...{ apiKey, requests, tokens: { input: requests, output: 1 }, costUsd: String(requests / 4) },
});

test('keys are grouped by owner, with groups for keys without an owner and deleted keys', () => {
  const keys = [
    keyOf('a', { name: 'Ada', team: 'Search' }),
    keyOf('b', { name: 'Ada', team: 'Ads' }),
    keyOf('c', {}),
  ];
  const sums = [sumOf('team-a/a', 4), sumOf('team-a/b', 8), sumOf('team-a/c', 2), sumOf('team-a/gone', 1)];
  const { owners, teams } = ownersOf(sums, keys, 'cost');
  expect(owners).toEqual([
    { name: 'Ada', isRest: false, requests: 12, tokens: 14, cost: 3 },
    { name: 'none', isRest: false, requests: 3, tokens: 5, cost: 0.75 },
  ]);
  expect(teams.map(({ name, requests }) => [name, requests])).toEqual([
    ['Ads', 8],
    ['Search', 4],
    ['none', 3],
  ]);
});

test('owners after the largest are summed, whatever the order', () => {
  const names = fc.array(fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 99 })), { maxLength: 40 });
  fc.assert(
    fc.property(names, fc.constantFrom('cost', 'tokens', 'requests'), (given, topBy) => {
      const keys = given.map(([owner], at) => keyOf(`k${at}`, { name: `owner-${owner}` }));
      const sums = given.map(([, requests], at) => sumOf(`team-a/k${at}`, requests));
      const { owners } = ownersOf(sums, keys, topBy);
      const all = (rows: readonly { readonly requests: number }[]) =>
        rows.reduce((sum, { requests }) => sum + requests, 0);
      expect(all(owners)).toBe(all(sums));
      expect(owners.length).toBeLessThanOrEqual(7);
      const largest = owners.filter(({ isRest }) => !isRest).map((one) => one[topBy]);
      expect(largest).toEqual(largest.toSorted((a, b) => b - a));
    }),
  );
});
