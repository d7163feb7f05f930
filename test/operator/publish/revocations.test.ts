// Which keys does the manifest call revoked? Those that left the table within the last ten minutes.

import { expect, test } from 'vitest';
import { REVOCATIONS_MAX } from '../../../core/contract/manifest.ts';
import { listRevocations } from '../../../operator/publish/revocations.ts';
import { keyEntry, makeContent, numbers, withKeys } from './make-content.ts';

const MINUTES = 60_000;
const tableOf = (...keys: number[]) =>
  withKeys(
    makeContent({}),
    keys.map((number) => keyEntry(number)),
  );
const digest = (number: number) => keyEntry(number).sha256.slice(0, 16);

test('a key that leaves the table is listed for ten minutes', () => {
  const first = listRevocations(tableOf(1, 2), tableOf(2), [], 5 * MINUTES);
  expect(first).toEqual([{ digest: digest(1), addedMs: 5 * MINUTES }]);
  const later = listRevocations(tableOf(2), tableOf(2), first, 15 * MINUTES - 1);
  expect(later).toEqual(first);
  expect(listRevocations(tableOf(2), tableOf(2), first, 15 * MINUTES)).toEqual([]);
});

test('a key that returns is no longer revoked', () => {
  const revoked = listRevocations(tableOf(1, 2), tableOf(2), [], 0);
  expect(listRevocations(tableOf(2), tableOf(1, 2), revoked, 1)).toEqual([]);
});

test('a key that leaves again is listed once, from the last time', () => {
  const earlier = [{ digest: digest(1), addedMs: 0 }];
  expect(listRevocations(tableOf(1), tableOf(), earlier, MINUTES)).toEqual([
    { digest: digest(1), addedMs: MINUTES },
  ]);
});

test('nothing is revoked by the first table', () => {
  expect(listRevocations(undefined, tableOf(1), [], 0)).toEqual([]);
});

test('at the limit the oldest are removed', () => {
  const earlier = numbers(REVOCATIONS_MAX).map((number) => ({ digest: digest(number), addedMs: number }));
  const list = listRevocations(tableOf(5_000, 5_001), tableOf(), earlier.toReversed(), MINUTES);
  expect(list).toHaveLength(REVOCATIONS_MAX);
  const digests = new Set(list.map((revocation) => revocation.digest));
  expect([5_000, 5_001, 2].map((number) => digests.has(digest(number)))).toEqual([true, true, true]);
  expect([0, 1].map((number) => digests.has(digest(number)))).toEqual([false, false]);
});

test('each of a thousand keys that leaves is listed, and no other', () => {
  const all = numbers(1_000);
  const gone = all.filter((number) => number % 7 === 0);
  const list = listRevocations(tableOf(...all), tableOf(...all.filter((number) => number % 7 > 0)), [], 0);
  expect(new Set(list.map((revocation) => revocation.digest))).toEqual(new Set(gone.map(digest)));
});
