// Does the one pass over a body find what the scanner and the parser find? What it takes is never looked at by either.

import { expect, test } from 'vitest';
import { parseJson } from '../../../core/parse-json.ts';
import { scanMembers } from '../../../gateway/json/scan-members.ts';
import { scanPlain } from '../../../gateway/json/scan-plain.ts';
import { runs } from '../../support/runs.ts';
import { damagedText, makeRandom, objectText } from './random-json.ts';

/** In one piece. */
const scanned = (text: string, encoding: BufferEncoding = 'utf8') => {
  const bytes = Buffer.from(text, encoding);
  return scanPlain([bytes], bytes.length);
};

const randomTexts = runs(100_000);

test(`of ${randomTexts.toLocaleString('en')} random texts it accepts none that the parsers refuse, and finds the same members`, () => {
  const random = makeRandom(20_261_127);
  let plain = 0;
  for (let left = randomTexts; left > 0; left--) {
    const text = left % 4 === 0 ? damagedText(random) : objectText(random);
    const found = scanned(text);
    if (!found) continue;
    plain++;
    if (parseJson(text) === undefined) throw new Error(`a parser refuses ${text}`);
    const { mayNameOutside, mayBeginAsOurs, isValid, ...scan } = found;
    expect(isValid).toBe(true);
    expect(scan).toEqual(scanMembers(Buffer.from(text).toString('latin1')));
  }
  expect(plain).toBeGreaterThan(randomTexts / 20);
});

test.each([
  ['no members', '{}'],
  ['a name twice', '{"model":"a","model":"b"}'],
  ['a name twice, one of them escaped', '{"model":"a","mod\\u0065l":"b"}'],
  ['a name in capitals', '{"MODEL":"a"}'],
  ['a name that is not ASCII', '{"modél":"a"}'],
  ['33 members', `{${Array.from({ length: 33 }, (_, at) => `"m${at}":1`).join(',')}}`],
  ['something behind it', '{"model":"a"}x'],
])('a text with %s is left to the scanner', (_, text) => {
  expect(scanned(text)).toBeUndefined();
});

test('bytes that are not UTF-8 are not valid', () => {
  expect(scanned('{"model":"\xe9"}', 'latin1')).toMatchObject({ isValid: false });
  expect(scanned('{"model":"\xe9"}')).toMatchObject({ isValid: true });
});

test('a name that is cut by a chunk is left to the scanner', () => {
  const [first, second] = [Buffer.from('{"mod'), Buffer.from('el":"a"}')];
  expect(scanPlain([first, second], first.length + second.length)).toBeUndefined();
});

test('a text with too many structural characters for its size is left to the scanner', () => {
  expect(scanned(`{"a":[${'1,'.repeat(40_000)}1]}`)).toBeUndefined();
});
