// When does the client see the first byte of an attempt, and what does it never see?

import { expect, test } from 'vitest';
import { CommitPoint, heldBytesMax } from '../../../gateway/attempt/commit-point.ts';

function pointWith(isFull = false) {
  const written: string[] = [];
  const point = new CommitPoint({
    write: (bytes) => {
      written.push(bytes.toString());
      return !isFull;
    },
    onDrain: () => {},
  });
  return { point, written };
}

const take = (point: CommitPoint, text: string, hasContent: boolean): boolean =>
  point.take(Buffer.from(text), hasContent);

test('what comes before the content is held and goes out with it, in one write', () => {
  const { point, written } = pointWith();
  take(point, 'role ', false);
  take(point, 'ping ', false);
  expect([written, point.isCommitted]).toEqual([[], false]);
  take(point, 'content ', true);
  take(point, 'more', true);
  expect([written, point.isCommitted]).toEqual([['role ping content ', 'more'], true]);
});

test('a discarded attempt leaves no trace', () => {
  const { point, written } = pointWith();
  take(point, 'role ', false);
  point.discard();
  expect([written, point.isCommitted]).toEqual([[], false]);
});

test('a complete answer without content is given out whole', () => {
  const { point, written } = pointWith();
  take(point, 'role, finish', false);
  expect(point.commit()).toBe(true);
  expect([written, point.isCommitted]).toEqual([['role, finish'], true]);
});

test('an answer without a byte writes none', () => {
  const { point, written } = pointWith();
  expect([point.commit(), written]).toEqual([true, []]);
});

test('a step that gives nothing commits nothing', () => {
  const { point } = pointWith();
  expect([point.take(undefined, true), point.take(Buffer.alloc(0), true), point.isCommitted]).toEqual([
    true,
    true,
    false,
  ]);
});

test('a full client is told from the commit on', () => {
  const { point } = pointWith(true);
  expect(take(point, 'role', false)).toBe(true);
  expect(take(point, 'content', true)).toBe(false);
  expect(take(point, 'more', true)).toBe(false);
});

test('so much without content is held, one byte more is too much', () => {
  const { point } = pointWith();
  take(point, 'x'.repeat(heldBytesMax), false);
  expect(point.isOverfull).toBe(false);
  take(point, 'x', false);
  expect(point.isOverfull).toBe(true);
});

test('what has gone out is not held', () => {
  const { point } = pointWith();
  take(point, 'x'.repeat(heldBytesMax + 1), true);
  take(point, 'x'.repeat(heldBytesMax + 1), true);
  expect(point.isOverfull).toBe(false);
});
