// When does the client see the first byte of an attempt, and what does it never see?

import { expect, test } from 'vitest';
import {
  CommitPoint,
  type CommitRule,
  heldBytesMax,
  heldContentBytesMax,
  ordinaryCommit,
} from '../../../gateway/attempt/commit-point.ts';

function pointWith({ isFull = false, rule = ordinaryCommit }: { isFull?: boolean; rule?: CommitRule } = {}) {
  const written: string[] = [];
  const reported = { held: 0, tooLong: 0 };
  const drains: (() => void)[] = [];
  const point = new CommitPoint(
    {
      write: (bytes) => {
        written.push(bytes.toString());
        return !isFull;
      },
      onDrain: (resume) => drains.push(resume),
      onHeld: (change) => {
        reported.held += change;
        return true;
      },
      onTooLong: () => {
        reported.tooLong++;
      },
    },
    rule,
  );
  const drain = (): void => {
    for (const resume of drains.splice(0)) resume();
  };
  return { point, written, reported, drain };
}

/** @param content Whether there is any; or how many events of it there have been. */
const take = (point: CommitPoint, text: string, content: boolean | number): boolean =>
  point.take(Buffer.from(text), { hasContent: Number(content) > 0, outputEstimate: Number(content) });

test('frames before the first content are held and sent with it, in one write', () => {
  const { point, written } = pointWith();
  take(point, 'role ', false);
  take(point, 'ping ', false);
  expect([written, point.isCommitted]).toEqual([[], false]);
  take(point, 'content ', true);
  take(point, 'more', true);
  expect([written, point.isCommitted]).toEqual([['role ping content ', 'more'], true]);
});

test('nothing of a discarded attempt is sent', () => {
  const { point, written } = pointWith();
  take(point, 'role ', false);
  point.discard();
  expect([written, point.isCommitted]).toEqual([[], false]);
});

test('a complete answer without content is sent whole', () => {
  const { point, written } = pointWith();
  take(point, 'role, finish', false);
  expect(point.commit()).toBe(true);
  expect([written, point.isCommitted]).toEqual([['role, finish'], true]);
});

test('an answer without a byte writes none', () => {
  const { point, written } = pointWith();
  expect([point.commit(), written]).toEqual([true, []]);
});

test('a step without output commits nothing', () => {
  const { point } = pointWith();
  const content = { hasContent: true, outputEstimate: 1 };
  expect([point.take(undefined, content), point.take(Buffer.alloc(0), content), point.isCommitted]).toEqual([
    true,
    true,
    false,
  ]);
});

test('a full client buffer is reported from the commit point on', () => {
  const { point } = pointWith({ isFull: true });
  expect(take(point, 'role', false)).toBe(true);
  expect(take(point, 'content', true)).toBe(false);
  expect(take(point, 'more', true)).toBe(false);
});

test.each([{ type: 'whole' }, { type: 'hold-back', events: 9, durationMs: 9 }] satisfies CommitRule[])(
  'what is given out counts until the client has taken it: %o',
  (rule) => {
    const { point, written, reported, drain } = pointWith({ isFull: true, rule });
    take(point, 'role ', 0);
    take(point, 'content', 1);
    expect([point.commit(), written, reported.held]).toEqual([false, ['role content'], 12]);
    take(point, 'what comes later is the stream itself', 2);
    expect(reported.held).toBe(12);
    drain();
    expect(reported.held).toBe(0);
  },
);

test('frames without content are held up to the limit, and one byte more fails', () => {
  const { point } = pointWith();
  take(point, 'x'.repeat(heldBytesMax), false);
  expect(point.isOverfull).toBe(false);
  take(point, 'x', false);
  expect(point.isOverfull).toBe(true);
});

test('bytes that were sent are not counted as held', () => {
  const { point } = pointWith();
  take(point, 'x'.repeat(heldBytesMax + 1), true);
  take(point, 'x'.repeat(heldBytesMax + 1), true);
  expect(point.isOverfull).toBe(false);
});

const holdBack = (events: number | undefined, durationMs: number | undefined): CommitRule => ({
  type: 'hold-back',
  events,
  durationMs,
});

test('content is held back until the configured number of events has arrived', () => {
  const { point, written, reported } = pointWith({ rule: holdBack(3, undefined) });
  take(point, 'role ', 0);
  take(point, 'one ', 1);
  take(point, 'two ', 2);
  expect([written, point.isCommitted, reported.held]).toEqual([[], false, 13]);
  take(point, 'three ', 3);
  take(point, 'four', 4);
  expect([written, reported.held]).toEqual([['role one two three ', 'four'], 0]);
});

test('events that arrive in one chunk are counted one by one', () => {
  const { point, written } = pointWith({ rule: holdBack(3, undefined) });
  take(point, 'one two three', 3);
  expect(written).toEqual(['one two three']);
});

test('the commit point names the hold-back time, and the attempt runs the clock', () => {
  expect(pointWith({ rule: holdBack(8, 500) }).point.commitAfterMs).toBe(500);
  const { point, written } = pointWith({ rule: holdBack(undefined, 500) });
  for (let n = 1; n < 100; n++) take(point, '.', n);
  expect([written, point.isCommitted]).toEqual([[], false]);
  point.commit();
  take(point, 'more', 100);
  expect(written).toEqual(['.'.repeat(99), 'more']);
});

test('an assured answer is held until the attempt reports that it is complete', () => {
  const { point, written, reported } = pointWith({ rule: { type: 'whole' } });
  take(point, 'role ', 0);
  take(point, 'content ', 1);
  take(point, 'end', 1);
  expect([written, point.isCommitted, point.awaitsWhole, reported.held]).toEqual([[], false, true, 16]);
  point.commit();
  expect([written, point.awaitsWhole, reported]).toEqual([
    ['role content end'],
    false,
    { held: 0, tooLong: 0 },
  ]);
});

test('a held answer that failed is not sent, and its memory is free', () => {
  const { point, written, reported } = pointWith({ rule: { type: 'whole' } });
  take(point, 'role content ', 1);
  point.discard();
  expect([written, point.isCommitted, reported.held]).toEqual([[], false, 0]);
});

test.each([{ type: 'whole' }, holdBack(256, 30_000)] satisfies CommitRule[])(
  'what is too long to be held goes out, and is a stream like any other from there on: %o',
  (rule) => {
    const { point, written, reported } = pointWith({ rule });
    // What comes before the content counts for itself.
    take(point, 'x'.repeat(heldBytesMax), 0);
    take(point, 'y'.repeat(heldContentBytesMax), 1);
    expect([written, reported]).toEqual([[], { held: heldBytesMax + heldContentBytesMax, tooLong: 0 }]);
    take(point, 'z', 2);
    expect([written.map(({ length }) => length), reported]).toEqual([
      [heldBytesMax + heldContentBytesMax + 1],
      { held: 0, tooLong: 1 },
    ]);
    expect([point.isCommitted, point.awaitsWhole, point.isOverfull]).toEqual([true, false, false]);
    take(point, 'more', 3);
    expect(written.at(-1)).toBe('more');
  },
);
