// Does a text that is parsed in steps come to what JSON.parse makes of it?

import { expect, test } from 'vitest';
import { parseInSteps } from '../../../gateway/json/parse-in-steps.ts';
import { damagedText, makeRandom, objectText } from './random-json.ts';

const latin1 = (text: string | Uint8Array): string => Buffer.from(text as string).toString('latin1');

function parse(text: string, stepBytes = 7): { readonly value: unknown; readonly steps: number } {
  const steps = parseInSteps(text, stepBytes);
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done) return { value, steps: count };
  }
}

test.each([
  '{"a":[1,-2.5e3,true,false,null,"x"],"b":{"c":{},"d":[]}}',
  '  [ ]  ',
  '"\\u00e9\\ud83d\\ude00\\n\\"\\\\"',
  '{"é😀":"ü","__proto__":1,"a":1,"a":2,"1":0}',
  `"${'é😀\\"\\u00e9'.repeat(20_000)}"`,
  `["${'\\\\'.repeat(70_000)}","${'x'.repeat(200_000)}"]`,
  `"${'x'.repeat(64 * 1024 - 1)}😀"`,
])('%.40s', (text) => {
  expect(parse(latin1(text)).value).toEqual(JSON.parse(text));
  expect(JSON.stringify(parse(latin1(text)).value)).toBe(JSON.stringify(JSON.parse(text)));
});

test('20,000 random texts are parsed as by JSON.parse', () => {
  const random = makeRandom(29);
  for (let run = 0; run < 20_000; run++) {
    const text = run % 4 === 0 ? damagedText(random) : objectText(random);
    let expected: unknown;
    try {
      expected = JSON.parse(text);
    } catch {
      expect(() => parse(latin1(text)), text).toThrow(SyntaxError);
      continue;
    }
    expect(parse(latin1(text)).value, text).toEqual(expected);
  }
});

test.each([
  '',
  '{',
  '{"a"}',
  '{"a":1,}',
  '[1,]',
  '[1 2]',
  '{"a":1 "b":2}',
  '1 2',
  '[1}',
  '{"a":1]',
  '"x',
  '"\\x"',
  '"\n"',
  'tru',
  "{'a':1}",
])('%j is refused as JSON.parse refuses it', (text) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(() => parse(latin1(text))).toThrow(SyntaxError);
});

test('a string that is not UTF-8 is refused', () => {
  expect(() => parse('"\xff"')).toThrow('not UTF-8');
  expect(() => parse('"\xc3"')).toThrow('not UTF-8');
});

test('a step reads no more than its limit, even inside one long string', () => {
  const text = `{"a":"${'\\"'.repeat(2 ** 20)}","b":[${'"x",'.repeat(1_000)}0]}`;
  expect(parse(text, 256 * 1024).steps).toBeGreaterThanOrEqual(8);
});
