// Who is refused when unread answers fill the memory? The caller that holds most, and never one that holds little.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnswerRoom } from '../../../gateway/stream/answer-room.ts';

const mebibyte = 1024 * 1024;
const roomBytes = 96 * mebibyte;

/** Takes what it can get in parts of 64 KiB, and gives the last one back; in bytes. */
function fill(room: AnswerRoom, callerId: string): number {
  const part = 64 * 1024;
  for (let held = 0; ; held += part) {
    const share = room.open(callerId);
    if (share.change(part)) continue;
    share.close();
    return held;
  }
}

describe('a caller that holds answers', () => {
  test('leaves as much room as it takes: alone nearly half, a second one half of the rest', () => {
    const room = new AnswerRoom(roomBytes);
    expect([fill(room, 'team/a'), fill(room, 'team/b')]).toEqual([42 * mebibyte, 21 * mebibyte]);
    expect([room.hasRoomFor('team/a'), room.hasRoomFor('team/b'), room.hasRoomFor('team/c')]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('takes no room after its answers are closed', () => {
    const room = new AnswerRoom(roomBytes);
    const share = room.open('team/a');
    share.change(90 * mebibyte);
    share.close();
    share.change(mebibyte);
    expect([room.bytesHeld, fill(room, 'team/a')]).toEqual([0, 42 * mebibyte]);
  });
});

test('a single answer always has room, but not a hundred answers for one request', () => {
  const alone = new AnswerRoom(mebibyte).open('team/a');
  expect(alone.change(32 * mebibyte)).toBe(true);
  const several = new AnswerRoom(roomBytes).open('team/a');
  expect([several.change(64 * mebibyte), several.change(32 * mebibyte), several.change(1)]).toEqual([
    true,
    true,
    false,
  ]);
});

test('with any number of greedy callers, a caller without answers has room for a usual one', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 40, size: 'max' }), (callers) => {
      const room = new AnswerRoom(roomBytes);
      for (const caller of callers) fill(room, `team/${caller}`);
      expect(room.bytesHeld).toBeLessThanOrEqual(roomBytes);
      expect(room.hasRoomFor('team/new')).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('callers with a little each do not exceed the limit together', () => {
  const room = new AnswerRoom(roomBytes);
  for (let caller = 0; caller < 200; caller++) fill(room, `team/${caller}`);
  expect(room.bytesHeld).toBe(roomBytes);
  expect(room.hasRoomFor('team/new')).toBe(false);
});
