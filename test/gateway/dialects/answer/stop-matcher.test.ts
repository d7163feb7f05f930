// Is each stop sequence found where a plain search finds it?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StopMatcher } from '../../../../gateway/dialects/answer/stop-matcher.ts';

const word = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength });

test('the first that is complete, however the text is cut', () => {
  fc.assert(
    fc.property(
      fc.array(word(0, 6), { maxLength: 8 }),
      fc.array(word(1, 5), { minLength: 1, maxLength: 4 }),
      (pieces, stops) => {
        const text = pieces.join('');
        const ends = stops.flatMap((stop) => (text.includes(stop) ? [text.indexOf(stop) + stop.length] : []));
        const first = Math.min(...ends);
        const longest = stops
          .filter((stop) => text.slice(0, first).endsWith(stop))
          .reduce((best, stop) => (stop.length > best.length ? stop : best), '');
        const matcher = new StopMatcher(stops);
        let before = 0;
        let found: { at: number; stop: string } | undefined;
        for (const piece of pieces) {
          const match = matcher.feed(piece);
          if (match) {
            found = { at: before + match.end, stop: match.stop };
            break;
          }
          before += piece.length;
        }
        expect(found).toEqual(ends.length === 0 ? undefined : { at: first, stop: longest });
        if (found) return;
        const mayBegin = (length: number): boolean =>
          stops.some((stop) => stop.startsWith(text.slice(-length)));
        const lengths = Array.from({ length: text.length }, (_, at) => at + 1).filter(mayBegin);
        expect(matcher.heldLength).toBe(Math.max(0, ...lengths));
      },
    ),
    { numRuns: 3000 },
  );
});
