// Is each stop sequence found where a plain search finds it?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type StopMatch, StopMatcher } from '../../../../gateway/dialects/answer/stop-matcher.ts';
import { startCpuTimer } from '../../../support/cpu-timer.ts';
import { runs } from '../../../support/runs.ts';

const word = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength });

test('the first complete stop sequence is found, however the text is cut', () => {
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
    { numRuns: runs(3000) },
  );
});

/** Looks at all of the text again for each character. */
class PlainMatcher {
  private readonly stops: readonly string[];
  private text = '';

  constructor(stops: readonly string[]) {
    this.stops = stops.filter((stop) => stop !== '');
  }

  feed(piece: string): StopMatch | undefined {
    for (const [at, unit] of piece.split('').entries()) {
      this.text += unit;
      const [stop] = this.stops
        .filter((one) => this.text.endsWith(one))
        .sort((one, other) => other.length - one.length);
      if (stop !== undefined) return { end: at + 1, stop };
    }
    return undefined;
  }

  get heldLength(): number {
    const lengths = Array.from(this.text.split(''), (_, at) => at + 1);
    const begins = (length: number): boolean =>
      this.stops.some((stop) => stop.startsWith(this.text.slice(-length)));
    return Math.max(0, ...lengths.filter(begins));
  }

  reset(): void {
    this.text = '';
  }
}

test('stop sequences are found as by a search of the whole text, however it is cut', () => {
  // Halves of letters too: pieces are cut wherever, and two letters may begin alike.
  const units = fc.constantFrom('a', 'b', '\u{d83d}', '\u{de00}', '\u{de01}');
  const text = (maxLength: number) => fc.string({ unit: units, maxLength });
  const sequence = fc.oneof(text(3), text(9));
  const texts = fc.array(fc.array(text(12), { maxLength: 4 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(sequence, { maxLength: 12 }), texts, (stops, said) => {
      const [matcher, plain] = [new StopMatcher(stops), new PlainMatcher(stops)];
      for (const pieces of said) {
        matcher.reset();
        plain.reset();
        for (const piece of pieces) {
          const found = matcher.feed(piece);
          expect(found).toEqual(plain.feed(piece));
          if (found) break;
          expect(matcher.heldLength).toBe(plain.heldLength);
        }
      }
    }),
    { seed: 6, numRuns: runs(5000) },
  );
});

describe('a text is scanned once', () => {
  const many = Array.from({ length: 2_000 }, (_, n) => `${'a'.repeat(40)}${n}b`);

  test.each([
    ['two thousand sequences that begin like it', many, 'a'.repeat(1_000_000)],
    [
      'sequences that are beginnings of one another',
      many.map((_, n) => `${'a'.repeat(n)}b`).slice(-300),
      'a'.repeat(1_000_000),
    ],
    ['one sequence as long as the text', [`${'a'.repeat(1_000_000)}b`], 'a'.repeat(1_000_000)],
  ])('%s: each character once', (_, stops, text) => {
    const workedMs = startCpuTimer();
    expect(new StopMatcher(stops).feed(text)).toBeUndefined();
    // Hundreds of times what it takes, and less than to look at it again for each sequence.
    expect(workedMs()).toBeLessThan(5_000);
  });
});
