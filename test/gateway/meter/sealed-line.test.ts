// Is a line that is not as it was written distinguished from one that is?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sealLine, sortLines } from '../../../gateway/meter/sealed-line.ts';

const linesOf = (...lines: string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));

describe('a sealed line', () => {
  test('is the same object with a checksum as its last member', () => {
    expect(sealLine('{"id":"a.1"}')).toMatch(/^\{"id":"a\.1","crc":"[0-9a-f]{8}"\}$/);
  });

  test('is valid for any object, and reads as that object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
        const line = sealLine(JSON.stringify(object));
        expect(sortLines(linesOf(line)).damaged).toEqual([]);
        expect(JSON.parse(line)).toMatchObject(JSON.parse(JSON.stringify({ ...object, crc: undefined })));
      }),
    );
  });

  test('is damaged after any change of a bit', () => {
    const line = sealLine('{"id":"a.1","tokens":12345,"words":"grün"}');
    const said = Buffer.from(line).length - ',"crc":"00000000"}'.length;
    fc.assert(
      fc.property(fc.nat({ max: said - 1 }), fc.nat({ max: 7 }), (at, bit) => {
        const bytes = linesOf(line);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        // What became an end of line makes two lines of it, and neither is sound.
        expect(sortLines(bytes).sound.length).toBe(0);
      }),
    );
  });
});

test('of several lines the valid ones are kept, in their order', () => {
  const [a, b, c] = ['{"a":1}', '{"b":2}', '{"c":3}'].map(sealLine);
  const wrong = String(b).replace('2', '3');
  const { sound, damaged } = sortLines(linesOf(String(a), wrong, String(c)));
  expect(sound.toString()).toBe(`${a}\n${c}\n`);
  expect(damaged.map(String)).toEqual([`${wrong}\n`]);
});

test('a line without a checksum, of an earlier version, is valid if it is JSON', () => {
  const { sound, damaged } = sortLines(linesOf('{"id":"a.1"}', '{"id":"a.', '', '7'));
  expect(sound.toString()).toBe('{"id":"a.1"}\n');
  expect(damaged.map(String)).toEqual(['{"id":"a.\n', '\n', '7\n']);
});
