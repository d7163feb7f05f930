// Pieces of bytes, as they come from a network.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Pieces } from '../../../gateway/stream/pieces.ts';

test('the cut pieces join to the whole, and have its length', () => {
  const sizes = fc.array(fc.oneof(fc.nat(8), fc.nat(40_000)), { maxLength: 40 });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const parts = lengths.map((length, at) => Buffer.alloc(length, at));
      const pieces = new Pieces();
      for (const part of parts) pieces.add(part);
      const whole = Buffer.concat(parts);
      expect(pieces.length).toBe(whole.length);
      expect(pieces.take().equals(whole)).toBe(true);
      expect([pieces.length, pieces.take().length]).toEqual([0, 0]);
    }),
    { numRuns: 200 },
  );
});

test('one alone is not copied', () => {
  const pieces = new Pieces();
  const only = Buffer.from('only');
  pieces.add(only);
  expect(pieces.take()).toBe(only);
});
