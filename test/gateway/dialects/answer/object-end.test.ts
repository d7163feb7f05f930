// Is the end of a JSON object found in whatever pieces it comes?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ObjectEnd } from '../../../../gateway/dialects/answer/object-end.ts';

function endOf(pieces: readonly string[]): ObjectEnd {
  const end = new ObjectEnd();
  for (const piece of pieces) end.feed(piece);
  return end;
}

test('an object ends with its last character, however it is cut', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.nat()), (object, cuts) => {
      const text = `\n ${JSON.stringify(object)}`;
      const at = [0, ...cuts.map((cut) => cut % text.length).toSorted((a, b) => a - b), text.length];
      const pieces = at.map((from, place) => text.slice(from, at[place + 1]));
      expect(endOf(pieces).isReached).toBe(true);
      expect(endOf([text.slice(0, -1)]).isReached).toBe(false);
    }),
    { seed: 41, numRuns: 500 },
  );
});

test.each(['"}"', '[{}]', 'text {}', '1', ''])('%j is no object, and has no such end', (text) => {
  expect(endOf([text]).isReached).toBe(false);
});
