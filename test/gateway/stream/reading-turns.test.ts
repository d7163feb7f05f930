// Whose answer is read next while the event loop is busy? The clock and the turns of the loop are the test's.

import { beforeEach, expect, test } from 'vitest';
import type { KeyUse, TenantUse } from '../../../gateway/admission/fair-share.ts';
import { ReadingTurns } from '../../../gateway/stream/reading-turns.ts';

let nowMs: number;
let pending: (() => void)[];
let turns: ReadingTurns;
let read: string[];

beforeEach(() => {
  nowMs = 0;
  pending = [];
  read = [];
  turns = new ReadingTurns({ now: () => nowMs, nextTurn: (callback) => pending.push(callback) });
});

const tenant = (): TenantUse => ({ inFlight: 1, keys: new Set() });
const keyOf = (owner: TenantUse): KeyUse => ({ inFlight: 1, idleLooks: 0, tenant: owner });

/** A reader with more to read than it ever gets: each chunk takes two milliseconds. */
function endless(name: string, key: KeyUse): () => void {
  const takeChunk = (): void => {
    read.push(name);
    nowMs += 2;
    if (!turns.mustWait(key, takeChunk)) takeChunk();
  };
  return takeChunk;
}

function nextTurn(): readonly string[] {
  read = [];
  const [callback, ...others] = pending.splice(0);
  expect(others).toEqual([]);
  callback?.();
  return read;
}

test('a turn has five milliseconds for reading, and further readers wait for the next one', () => {
  const key = keyOf(tenant());
  endless('a', key)();
  expect(read).toEqual(['a', 'a', 'a', 'a']);
  expect(nextTurn()).toEqual(['a', 'a', 'a']);
});

test('a hundred streams of one key and four of another tenant: the tenants are read alternately', () => {
  const [greedy, modest] = [keyOf(tenant()), keyOf(tenant())];
  const takeLong = (): void => {
    nowMs += 6;
  };
  turns.mustWait(greedy, takeLong);
  takeLong();
  for (let stream = 0; stream < 100; stream++) turns.mustWait(greedy, takeLong);
  const order: string[] = [];
  for (const name of ['b0', 'b1', 'b2', 'b3']) turns.mustWait(modest, () => order.push(name));
  for (let turn = 0; turn < 10; turn++) nextTurn();
  expect(order).toEqual(['b0', 'b1', 'b2', 'b3']);
});

test('the keys of one tenant alternate, and count as one tenant', () => {
  const owner = tenant();
  const keys = { a0: keyOf(owner), a1: keyOf(owner), a2: keyOf(owner), b: keyOf(tenant()) };
  const order: string[] = [];
  turns.mustWait(keys.a0, () => {});
  nowMs = 6;
  for (const name of ['a0', 'a1', 'a2', 'b'] as const) {
    for (let stream = 0; stream < 2; stream++) turns.mustWait(keys[name], () => order.push(name));
  }
  nextTurn();
  expect(order).toEqual(['a0', 'b', 'a1', 'b', 'a2', 'a0', 'a1', 'a2']);
});

test('one stream is read in every turn, however long the turns are', () => {
  const key = keyOf(tenant());
  turns.mustWait(key, () => {});
  nowMs = 100;
  const order: number[] = [];
  for (const stream of [0, 1, 2]) {
    turns.mustWait(key, () => {
      order.push(stream);
      nowMs += 1_000;
    });
  }
  nextTurn();
  expect(order).toEqual([0]);
  nextTurn();
  nextTurn();
  expect(order).toEqual([0, 1, 2]);
});

test('nothing is called if no stream waits', () => {
  const key = keyOf(tenant());
  expect(turns.mustWait(key, () => {})).toBe(false);
  expect(pending).toHaveLength(1);
  nextTurn();
  expect(pending).toEqual([]);
});

test('a flood is read in turns before load is measured again', () => {
  const megabyte = 1024 * 1024;
  const chunks = (count: number): readonly boolean[] =>
    Array.from({ length: count }, () => turns.paces(megabyte));
  expect(new Set(chunks(8))).toEqual(new Set([false]));
  expect(turns.paces(1)).toBe(true);
  turns.look(false);
  expect(new Set(chunks(8))).toEqual(new Set([false]));
  turns.look(true);
  expect(turns.paces(1)).toBe(true);
});
