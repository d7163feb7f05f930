// Which keys stay with their namespace after they left the table, and for how long?

import { describe, expect, test } from 'vitest';
import type { KeyEntry } from '../../../core/contract/routing-table.ts';
import { RETIRED_FOR_MS, RETIRED_MAX, readReleased, retireKeys } from '../../../operator/hold/retire-keys.ts';
import type { RetiredKey } from '../../../operator/watch/snapshot.ts';

const NOW_MS = 1_800_000_000_000;
const digestOf = (number: number) => number.toString(16).padStart(64, '0');
const entry = (number: number, id = 'team-b/bot'): KeyEntry => ({ sha256: digestOf(number), id });
const retiredKey = (number: number, namespace = 'team-b', retiredMs = NOW_MS - 1_000): RetiredKey => ({
  digest: digestOf(number),
  namespace,
  retiredMs,
});

function retire(input: Partial<Parameters<typeof retireKeys>[0]>): readonly RetiredKey[] {
  return retireKeys({ retired: [], last: [], next: [], released: [], nowMs: NOW_MS, ...input });
}

test('a key that leaves the table is retired for its namespace; one that stays, or was never in it, is not', () => {
  expect(retire({ last: [entry(1), entry(2)], next: [entry(2), entry(3)] })).toEqual([
    retiredKey(1, 'team-b', NOW_MS),
  ]);
});

test.each([
  ['the entry says something else', entry(1, 'team-b/bot')],
  ['it moves to another ApiKey of the namespace', entry(1, 'team-b/renamed')],
])('nothing is retired if %s', (_, after) => {
  const retired = [retiredKey(9)];
  expect(retire({ retired, last: [entry(1)], next: [after] })).toBe(retired);
});

test('a key that would move to another namespace is retired for the first one', () => {
  expect(retire({ last: [entry(1)], next: [entry(1, 'team-a/bot')] })).toMatchObject([
    { digest: digestOf(1), namespace: 'team-b' },
  ]);
});

test('a key that returns and leaves again counts once, from the last time', () => {
  const retired = [retiredKey(1), retiredKey(2)];
  expect(retire({ retired, last: [entry(1)] })).toEqual([retiredKey(2), retiredKey(1, 'team-b', NOW_MS)]);
});

test('the first owner keeps a key that an older operator has served for another namespace', () => {
  const retired = [retiredKey(1)];
  expect(retire({ retired, last: [entry(1, 'team-a/thief')] })).toBe(retired);
});

test('a key is retired for a year', () => {
  const retired = [
    retiredKey(1, 'team-b', NOW_MS - RETIRED_FOR_MS),
    retiredKey(2, 'team-b', NOW_MS - RETIRED_FOR_MS + 1),
  ];
  expect(retire({ retired })).toEqual([retired[1]]);
});

test('at the limit the oldest keys of that namespace are forgotten, and no key of another one', () => {
  const other = retiredKey(0, 'team-c', NOW_MS - 5_000);
  const full = Array.from({ length: RETIRED_MAX }, (_, number) => retiredKey(number + 1));
  const all = retire({ retired: [other, ...full], last: [entry(50_000), entry(50_001)] });
  expect(all).toHaveLength(RETIRED_MAX + 1);
  expect(all[0]).toBe(other);
  expect(all[1]).toBe(full[2]);
  expect(all.at(-1)?.digest).toBe(digestOf(50_001));
});

describe('a release', () => {
  test.each([
    ['a whole digest', digestOf(1)],
    ['the beginning that a status shows', digestOf(1).slice(0, 16)],
  ])('by %s ends it, also for a key that leaves the table in the same run', (_, text) => {
    const released = readReleased(text);
    const retired = [retiredKey(1), { ...retiredKey(2), digest: 'f'.repeat(64) }];
    expect(retire({ retired, released })).toEqual([retired[1]]);
    expect(retire({ last: [entry(1)], released })).toEqual([]);
  });

  test('names digests separated by commas or blanks, in any case; one that is too short is skipped', () => {
    const [a, b] = ['a'.repeat(64), 'b'.repeat(16)];
    expect(readReleased(`${a.toUpperCase()}, ${b}`)).toEqual([a, b]);
    expect(readReleased('true')).toEqual([]);
    expect(readReleased('aaaa *')).toEqual([]);
  });
});
