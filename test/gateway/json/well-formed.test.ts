// Does every half of a surrogate pair that is alone become U+FFFD, wherever a text is cut?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endOfJson, mendJson, mendText, wellFormedJson } from '../../../gateway/json/well-formed.ts';
import { JsonText, writeJson } from '../../../gateway/json/write-json.ts';

const someText = fc
  .array(fc.constantFrom('a', '\ud83d', '\ude00', '😀', '\\', 'u', 'd83d', '"', 'é', '漢'), { maxLength: 12 })
  .map((pieces) => pieces.join(''));
/** JSON of texts, its characters escaped or not. */
const someJson = fc.array(fc.tuple(someText, fc.boolean())).map((texts) => {
  const escaped = (text: string): string =>
    [...Array(text.length).keys()]
      .map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join('');
  return `[${texts.map(([text, isEscaped]) => (isEscaped ? `"${escaped(text)}"` : JSON.stringify(text))).join(',')}]`;
});

/** All that the pieces come to, each with what is left of the one before it. */
function inPieces(
  text: string,
  cuts: readonly number[],
  mend: typeof mendText,
): readonly [text: string, rest: string] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  let [out, rest] = ['', ''];
  for (const [index, at] of places.entries()) {
    const mended = mend(rest + text.slice(at, places[index + 1] ?? text.length));
    out += mended.text;
    rest = mended.rest;
  }
  return [out, rest];
}

describe('a text', () => {
  test('equals toWellFormed of the whole, however it is cut', () => {
    fc.assert(
      fc.property(someText, fc.array(fc.nat(20)), (text, cuts) => {
        const [out, rest] = inPieces(text, cuts, mendText);
        expect(out + rest.toWellFormed()).toBe(text.toWellFormed());
      }),
    );
  });
});

describe('JSON text', () => {
  test('equals toWellFormed of its strings, however it is cut', () => {
    fc.assert(
      fc.property(someJson, fc.array(fc.nat(200)), (json, cuts) => {
        const wanted = JSON.parse(json).map((text: string) => text.toWellFormed());
        const [out, rest] = inPieces(json, cuts, mendJson);
        expect(JSON.parse(out + endOfJson(rest))).toEqual(wanted);
        expect(out.isWellFormed()).toBe(true);
        expect(JSON.parse(wellFormedJson(json))).toEqual(wanted);
      }),
      { numRuns: 500 },
    );
  });

  test('without half characters is not changed, nor are its escapes', () => {
    for (const json of [
      '{"a":"\\u00e9\\n"}',
      '"\\ud83d\\ude00"',
      '"\\\\ud83d"',
      '{"n":1.0,"2":[],"1":1e2}',
    ]) {
      expect(wellFormedJson(json)).toBe(json);
    }
  });
});

describe('writing', () => {
  test('of plain data equals JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(writeJson(value)).toBe(JSON.stringify(value));
      }),
    );
    const odd = { a: undefined, b: [undefined, null], c: Number.NaN, d: -0, ['__proto__']: 1 };
    expect(writeJson(odd)).toBe(JSON.stringify(odd));
  });

  test('keeps JSON text, and writes no half of a pair', () => {
    expect(
      writeJson({ a: new JsonText('{"2":1.0,"1":1e2}'), 'b\ud83d': ['x\ude00', new JsonText('"\\ud83d"')] }),
    ).toBe('{"a":{"2":1.0,"1":1e2},"b\ufffd":["x\ufffd","\ufffd"]}');
  });
});
