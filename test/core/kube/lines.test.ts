// Lines of a watch come in pieces of any size.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeLineSplitter } from '../../../core/kube/lines.ts';

test('any split of the bytes gives the same lines', () => {
  const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', '')));
  fc.assert(
    fc.property(text, fc.string(), fc.array(fc.nat(400)), (lines, tail, cuts) => {
      const rest = tail.replaceAll('\n', '');
      const bytes = Buffer.from([...lines, rest].join('\n'));
      const splitter = makeLineSplitter(10_000);
      const found: string[] = [];
      let start = 0;
      for (const cut of [...cuts.filter((at) => at <= bytes.length).sort((a, b) => a - b), bytes.length]) {
        found.push(...splitter.push(bytes.subarray(start, cut)));
        start = cut;
      }
      expect(found).toEqual(lines);
      expect(splitter.restBytes()).toBe(Buffer.byteLength(rest));
    }),
  );
});

test('a line of exactly the limit passes, one byte more is refused, whole or in pieces', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60 }), (limit, pieceBytes) => {
      const feed = (text: string) => {
        const splitter = makeLineSplitter(limit);
        const bytes = Buffer.from(text);
        const lines: string[] = [];
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          lines.push(...splitter.push(bytes.subarray(at, at + pieceBytes)));
        }
        return lines;
      };
      expect(feed(`${'x'.repeat(limit)}\n`)).toEqual(['x'.repeat(limit)]);
      expect(() => feed(`${'x'.repeat(limit + 1)}\n`)).toThrow(RangeError);
      // Also without an end: it must not be kept in the hope of one.
      expect(() => feed('x'.repeat(limit + 1))).toThrow(RangeError);
    }),
  );
});
