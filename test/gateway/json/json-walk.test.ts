// Does the walk accept what a parser accepts, and nothing else? Bodies and answers go on by its word alone.

import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../core/parse-json.ts';
import { JsonWalk } from '../../../gateway/json/json-walk.ts';
import { namesOutsideInput } from '../../../gateway/json/outside-input.ts';
import { runs } from '../../support/runs.ts';
import { damagedText, makeRandom, objectText } from './random-json.ts';

const randomTexts = runs(200_000);

/** Undefined: it is not accepted. */
function walked(text: string): JsonWalk | undefined {
  const walk = new JsonWalk(Buffer.from(text));
  walk.space();
  if (!walk.value()) return undefined;
  walk.space();
  return walk.isAtEnd ? walk : undefined;
}

describe('against JSON.parse', () => {
  test(`of ${randomTexts.toLocaleString('en')} random texts the same are accepted`, () => {
    const random = makeRandom(20_261_127);
    const seen = { accepted: 0, refused: 0 };
    for (let left = randomTexts; left > 0; left--) {
      const text = left % 2 === 0 ? damagedText(random) : objectText(random);
      const isJson = parseJson(text) !== undefined;
      seen[isJson ? 'accepted' : 'refused']++;
      if ((walked(text) !== undefined) !== isJson) throw new Error(`they differ about ${text}`);
    }
    expect(seen.accepted).toBeGreaterThan(randomTexts / 4);
    expect(seen.refused).toBeGreaterThan(randomTexts / 20);
  });

  test.each([
    [
      '0',
      '-0',
      '10',
      '-1.5',
      '1e3',
      '1E+3',
      '0.1e-22',
      '01',
      '-',
      '1.',
      '.5',
      '1e',
      '1e+',
      '+1',
      '0x1',
      '1 2',
    ],
    ['true', 'tru', 'truex', 'false', 'falsee', 'null', 'nul', 'NaN', 'undefined', 'Infinity'],
    [
      '""',
      '"a',
      '"\t"',
      '"\\t"',
      '"\\u00e4"',
      '"\\u12"',
      '"\\u12g4"',
      '"\\x"',
      '"\\',
      '"\\"',
      '"\u007f"',
      '"ä"',
      "'a'",
    ],
    [
      '[]',
      '[1]',
      '[1,]',
      '[,1]',
      '[1',
      '[}',
      '{}',
      '{"a":1}',
      '{"a":1,}',
      '{"a"}',
      '{a:1}',
      '{"a":1]',
      '{,}',
    ],
    ['', ' ', ' {} ', '\u00a0{}', '{}{}', '/**/{}', '\ufeff{}', '[[[]]]', '[{"a":[{}]}]', '{"__proto__":{}}'],
  ])('%s and others', (...texts) => {
    for (const text of texts) {
      expect({ text, isJson: walked(text) !== undefined }).toEqual({
        text,
        isJson: parseJson(text) !== undefined,
      });
    }
  });

  test('what nests deeper than any body may is given up', () => {
    expect(walked('['.repeat(60) + ']'.repeat(60))).toBeDefined();
    expect(walked('['.repeat(61) + ']'.repeat(61))).toBeUndefined();
    expect(walked('['.repeat(60_000))).toBeUndefined();
    // Beside each other they are as many as there may be.
    expect(walked(`[${'[[]],'.repeat(1_000)}[]]`)).toBeDefined();
  });
});

test('a walk does not go on over the text of another one', () => {
  const walk = new JsonWalk(Buffer.from('{"a":1}'));
  expect(walked('{"b":2}')).toBeDefined();
  expect(() => walk.value()).toThrow('the text of another one');
});

describe('what may name something outside of the body', () => {
  test.each([
    '{"file_id":"f"}',
    '{"type":"document","source":{"type":"url"}}',
    '{"a":{"file_data":"https://a"}}',
    '{"a":[{"audio":{"id":"b"}}]}',
    '{"type":"item_reference"}',
    '{"image_url":"a"}',
    '{"file\\u005fid":"f"}',
  ])('%s', (text) => {
    expect(walked(text)?.mayNameOutside).toBe(true);
  });

  test('what does not names nothing, by the exact search too', () => {
    const texts = [
      '{"model":"a","messages":[{"role":"user","content":"its url is a document, so"}]}',
      '{"a":"\\u1234\\n"}',
    ];
    for (const text of texts) {
      expect({ text, may: walked(text)?.mayNameOutside }).toEqual({ text, may: false });
      expect(namesOutsideInput([Buffer.from(text)])).toBe(false);
    }
  });
});
