// Does the scan accept what a parser accepts, and nothing else, and find what is there? Bodies and answers go on by its word alone.

import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../core/parse-json.ts';
import {
  childrenIn,
  codeOf,
  mayBeginAsOurs,
  mayNameOutside,
  nameEndOf,
  nameOf,
  OPEN_BRACE,
  scanText,
  startOf,
  textOf,
  valueEndOf,
  valueStartOf,
} from '../../../gateway/json/json-scan.ts';
import { sourceSha256 } from '../../../gateway/json/json-scan-code.ts';
import { namesOutsideInput } from '../../../gateway/json/outside-input.ts';
import { sourceHash } from '../../../tools/build-json-scan.ts';
import { runs } from '../../support/runs.ts';
import { damagedText, makeRandom, objectText } from './random-json.ts';

const randomTexts = runs(200_000);

/** Any value: as the only entry of a list. */
function isScanned(text: string): boolean {
  return scanText([Buffer.from(`[${text}]`)]) === 1;
}

describe('against JSON.parse', () => {
  test(`of ${randomTexts.toLocaleString('en')} random texts it accepts the same`, () => {
    const random = makeRandom(20_261_127);
    const seen = { accepted: 0, refused: 0 };
    for (let left = randomTexts; left > 0; left--) {
      const text = left % 2 === 0 ? damagedText(random) : objectText(random);
      const isJson = parseJson(text) !== undefined;
      seen[isJson ? 'accepted' : 'refused']++;
      if (isScanned(text) !== isJson) throw new Error(`they differ about ${text}`);
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
      expect({ text, isJson: isScanned(text) }).toEqual({
        text,
        isJson: parseJson(text) !== undefined,
      });
    }
  });

  test('a text that is deeper than the limit of bodies is not scanned', () => {
    expect(isScanned('['.repeat(59) + ']'.repeat(59))).toBe(true);
    expect(isScanned('['.repeat(60) + ']'.repeat(60))).toBe(false);
    expect(isScanned('['.repeat(60_000))).toBe(false);
    // Beside each other they are as many as there may be.
    expect(isScanned(`[${'[[]],'.repeat(1_000)}[]]`)).toBe(true);
  });
});

describe('members', () => {
  const textsInPieces = runs(40_000);

  test(`in ${textsInPieces.toLocaleString('en')} random texts in any cut: the members that a parser finds`, () => {
    const random = makeRandom(20_261_128);
    let members = 0;
    for (let left = textsInPieces; left > 0; left--) {
      const text = left % 4 === 0 ? damagedText(random) : objectText(random);
      const bytes = Buffer.from(text);
      const parsed: unknown = parseJson(text);
      const chunks = [];
      for (let at = 0; at < bytes.length; ) {
        const next = Math.min(bytes.length, at + 1 + random.below(random.pick([1, 4, 40])));
        chunks.push(bytes.subarray(at, next));
        at = next;
      }
      const count = scanText(chunks);
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      if (!isObject) {
        if (count !== undefined && !Array.isArray(parsed)) throw new Error(`no object, but scanned: ${text}`);
        continue;
      }
      const found: Record<string, unknown> = {};
      for (let child = 0; child < (count ?? 0); child++) {
        const name: unknown = JSON.parse(bytes.toString('utf8', startOf(0, child), nameEndOf(0, child)));
        const value: unknown = JSON.parse(
          bytes.toString('utf8', valueStartOf(0, child), valueEndOf(0, child)),
        );
        Object.defineProperty(found, String(name), { value, enumerable: true, configurable: true });
        members++;
      }
      if (count === undefined) throw new Error(`not scanned: ${text}`);
      expect(found).toEqual(parsed);
    }
    expect(members).toBeGreaterThan(textsInPieces / 2);
  });

  test('strings of every length, with a quote, an escape or a control character at every place of their sixteen bytes', () => {
    for (let length = 0; length < 50; length++) {
      for (let at = 0; at < length; at++) {
        for (const piece of ['\\"', '\\\\', '\\u00e4', '\\n', 'ä', '\\', '\\x', '\n', '"', '\u0000']) {
          const text = `{"a":"${'x'.repeat(at)}${piece}${'y'.repeat(length - at)}"}`;
          const isJson = parseJson(text) !== undefined;
          if ((scanText([Buffer.from(text)]) !== undefined) !== isJson)
            throw new Error(`they differ about ${text}`);
        }
      }
    }
  });

  test('it looks into members of members while another text comes in between', () => {
    const text = Buffer.from('{"a":[{"b":"c"},{"d":1}]}');
    expect(scanText([text])).toBe(1);
    const list = { from: valueStartOf(0, 0), to: valueEndOf(0, 0) };
    expect(childrenIn(text, 1, list.from, list.to)).toBe(2);
    expect(scanText([Buffer.from('{"x":[],"y":2}')])).toBe(2);
    expect(childrenIn(text, 1, list.from, list.to)).toBe(2);
    expect(codeOf(1, 0)).toBe(OPEN_BRACE);
    expect(childrenIn(text, 2, valueStartOf(1, 0), valueEndOf(1, 0))).toBe(1);
    expect([nameOf(2, 0)?.text, textOf(2, 0)]).toEqual(['b', 'c']);
    // The places of the level above are still there.
    expect(childrenIn(text, 2, valueStartOf(1, 1), valueEndOf(1, 1))).toBe(1);
    expect([nameOf(2, 0)?.text, textOf(2, 0)]).toEqual(['d', undefined]);
  });

  test('a text of several blocks, cut within names, numbers and escapes', () => {
    const members = Array.from({ length: 30 }, (_, at) => [
      `name ${at}`,
      ['"\\ä\n'.repeat(3_000 + at), at * 1.5e10],
    ]);
    const text = Buffer.from(JSON.stringify(Object.fromEntries(members)));
    expect(text.length).toBeGreaterThan(500_000);
    expect(scanText([text])).toBe(30);
    for (const [child, [name, value]] of members.entries()) {
      expect(JSON.parse(text.toString('utf8', startOf(0, child), nameEndOf(0, child)))).toBe(name);
      expect(JSON.parse(text.toString('utf8', valueStartOf(0, child), valueEndOf(0, child)))).toEqual(value);
    }
    expect(scanText([text.subarray(0, -1)])).toBeUndefined();
    expect(scanText([text, Buffer.from('x')])).toBeUndefined();
  });

  test('1,024 entries are found, and one more is given up', () => {
    expect(scanText([Buffer.from(JSON.stringify(Array(1_024).fill(0)))])).toBe(1_024);
    expect(scanText([Buffer.from(JSON.stringify(Array(1_025).fill(0)))])).toBeUndefined();
  });
});

describe('addresses outside of the body', () => {
  test.each([
    '{"file_id":"f"}',
    '{"type":"document","source":{"type":"url"}}',
    '{"a":{"file_data":"https://a"}}',
    '{"a":[{"audio":{"id":"b"}}]}',
    '{"type":"item_reference"}',
    '{"image_url":"a"}',
    '{"file\\u005fid":"f"}',
  ])('%s', (text) => {
    expect(scanText([Buffer.from(text)])).toBeDefined();
    expect(mayNameOutside()).toBe(true);
    expect(scanText([...Buffer.from(text)].map((byte) => Buffer.of(byte)))).toBeDefined();
    expect(mayNameOutside()).toBe(true);
  });

  test('values without an address do not count, by the exact search too', () => {
    const texts = [
      '{"model":"a","messages":[{"role":"user","content":"its url is a document, so"}]}',
      '{"a":"\\u1234\\n"}',
    ];
    for (const text of texts) {
      expect(scanText([Buffer.from(text)])).toBeDefined();
      expect({ text, may: mayNameOutside() }).toEqual({ text, may: false });
      expect(namesOutsideInput([Buffer.from(text)])).toBe(false);
    }
  });
});

describe('values that begin like those of the gateway', () => {
  test.each([
    ['{"a":"penstock.1.abc"}', true],
    ['{"a":[{"id":"rs_penstock_1"}]}', true],
    // No encoder escapes a full stop.
    ['{"a":"penstock\\u002e1.abc"}', false],
    ['{"penstock.1.":"a","b":"a penstock.1."}', false],
    ['{"a":"pen","b":"rs_pens"}', false],
    ['{"a":""}', false],
    ['{"model":"penstock/small","a":"penstock.10 and more"}', false],
    ['{"a":"rs_penstocks are more"}', false],
  ])('%s: %s', (text, mayBegin) => {
    expect(scanText([Buffer.from(text)])).toBeDefined();
    expect(mayBeginAsOurs()).toBe(mayBegin);
  });

  test('are all found in any cut', () => {
    const text = Buffer.from('{"model":"a","input":[{"id":"rs_penstock_1"}]}');
    for (let at = 1; at < text.length; at++) {
      expect(scanText([text.subarray(0, at), text.subarray(at)])).toBe(2);
      expect(mayBeginAsOurs()).toBe(true);
    }
  });
});

test('the compiled scanner comes from the present json-scan.c', async () => {
  expect(sourceSha256).toBe(await sourceHash());
});
