// Does the scanner see the same members as a parser? What it finds decides which model a caller is charged for, and
// the bytes go on unparsed, so one disagreement would be a way to be served what was not allowed.

import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../../gateway/json/record.ts';
import {
  JsonStructureError,
  type MemberScan,
  scanInSteps,
  scanMembers,
} from '../../../gateway/json/scan-members.ts';
import { runs } from '../../support/runs.ts';
import { damagedText, makeRandom, objectText } from './random-json.ts';

const randomTexts = runs(200_000);

describe('against JSON.parse', () => {
  test(`${randomTexts.toLocaleString('en')} random texts are scanned as JSON.parse reads them`, () => {
    const random = makeRandom(20_261_121);
    const seen = { accepted: 0, repeated: 0, refused: 0, notObject: 0 };
    for (let left = randomTexts; left > 0; left--) {
      seen[compare(left % 4 === 0 ? damagedText(random) : objectText(random))]++;
    }
    // Each kind must have come up often, or the run has shown nothing.
    expect(seen.accepted).toBeGreaterThan(randomTexts / 4);
    expect(seen.repeated).toBeGreaterThan(randomTexts / 20);
    expect(seen.refused).toBeGreaterThan(randomTexts / 20);
    expect(seen.notObject).toBeGreaterThan(randomTexts / 200);
  });
});

describe('invalid texts', () => {
  test.each([
    ['an empty text', '', 'not a JSON object'],
    ['only space', ' \n', 'not a JSON object'],
    ['a list', '[{"model":"a"}]', 'not a JSON object'],
    ['a string', '"{}"', 'not a JSON object'],
    ['a byte order mark', '\uFEFF{"model":"a"}', 'not a JSON object'],
    ['a second object', '{"model":"a"}{"model":"b"}', 'nothing after the closing brace'],
    ['a name twice', '{"model":"a","model":"b"}', '"model" appears twice'],
    ['a name twice, one of them escaped', '{"model":"a","mod\\u0065l":"b"}', '"model" appears twice'],
    ['a name twice, one of them in capitals', '{"model":"a","MODEL":"b"}', '"MODEL" appears twice'],
    // Go folds the long s and the sign of kelvin too, and takes the last of the two.
    ['a name twice, one of them with a long s', '{"stop":"a","\u017ftop":"b"}', 'appears twice'],
    ['a name twice, one of them with the sign of kelvin', '{"token":"a","TO\u212aEN":"b"}', 'appears twice'],
    ['a name with a bad escape', '{"\\x":1}', 'member name at byte 1 is malformed'],
    ['a name with a raw line end', '{"a\nb":1}', 'member name at byte 1 is malformed'],
    ['a name without quotes', '{model:"a"}', 'a member name in double quotes'],
    ['no colon', '{"model" "a"}', '":" after a member name'],
    ['no value', '{"model":}', 'a value'],
    ['no comma', '{"a":1 "b":2}', '"," or "}"'],
    ['a comma too many', '{"a":1,}', 'a member name in double quotes'],
    ['an open string', '{"a":"', 'the end of a string, but the body ends'],
    ['a string whose last quote is escaped', '{"a":"\\"}', 'the end of a string'],
    ['an open list', '{"a":[1', 'the end of a list or object'],
    ['an open object', '{"a":1', 'the body ends'],
  ])('%s', (_, text, reason) => {
    expect(() => scan(text)).toThrow(JsonStructureError);
    expect(() => scan(text)).toThrow(reason);
  });

  // A parser that takes comments or single quotes would find another `model` in these than the scanner does.
  test.each([
    ['a comment between scalars', '{"x":1/*,"model":"cheap","y":*/,"model":"dear"}'],
    ['a comment that hides a quote', '{"model":"cheap","x":[/*"*/],"model":"dear","y":[/*"*/]}'],
    ['a line comment', '{"x":[1 //"\n],"model":"dear","y":["\n]}'],
    ['a hash comment', '{"x":[1 #"\n],"model":"dear","y":["\n]}'],
    ['single quotes', '{"x":[\'"\'],"model":"dear","y":[\'"\']}'],
    ['a backslash outside a string', '{"x":[\\"],"model":"dear"}'],
  ])('%s', (_, text) => {
    expect(() => scan(text)).toThrow(JsonStructureError);
  });
});

describe('limits', () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  const list = (items: number, item: string): string => `{"a":[${Array(items).fill(item).join(',')}]}`;

  test.each([
    ['64 levels of lists', nested(64)],
    ['64 levels of objects', `{"a":${'{"a":'.repeat(63)}1${'}'.repeat(64)}`],
    ['64 levels twice beside each other', `{"a":${nested(63)},"b":${nested(63)}}`],
    ['a text below 64 KiB, as dense as can be', list(30_000, '1')],
    ['a long text with one structural character for 8 bytes', list(20_000, '12345678')],
    // One colon, two brackets, and a comma less than items.
    ['250,000 structural characters', list(250_000 - 2, '"123456"')],
    ['1,000 members', `{"a":1,${members(999)}}`],
  ])('%s is let through', (_, text) => {
    expect(scan(text).members[0]?.name).toBe('a');
  });

  test.each([
    ['65 levels of lists', nested(65), 'deeper than 64 levels'],
    ['65 levels of objects', `{"a":${'{"a":'.repeat(64)}1${'}'.repeat(65)}`, 'deeper than 64 levels'],
    ['half a million open lists', `{"a":${'['.repeat(500_000)}`, 'deeper than 64 levels'],
    ['a text above 64 KiB that is denser', list(40_000, '1'), 'too many values for its size'],
    ['250,001 structural characters', list(250_000 - 1, '"123456"'), 'more than 250000'],
    // Kept by their names, 130,000 of them in a body of 2 MB stopped everything else for a tenth of a second.
    ['1,001 members', `{${members(1_001)}}`, 'more than 1000 members'],
  ])('%s is refused', (_, text, reason) => {
    expect(() => scan(text)).toThrow(reason);
  });

  function members(count: number): string {
    return Array.from({ length: count }, (_, index) => `"member${index}":"value"`).join(',');
  }
});

function scan(text: string): MemberScan {
  return scanMembers(Buffer.from(text).toString('latin1'));
}

type Kind = 'accepted' | 'repeated' | 'refused' | 'notObject';

/** Throws where the scanner and JSON.parse disagree; says what kind of text it was. */
function compare(text: string): Kind {
  const bytes = Buffer.from(text);
  const parsed = parseJson(text);
  const object = asRecord(parsed);
  const found = tryScan(bytes);
  const fail = (reason: string): never => {
    throw new Error(`${reason}: ${JSON.stringify(text)}`);
  };
  if (parsed === undefined) return 'refused';
  if (!object) return found ? fail('a value that is no object was taken') : 'notObject';
  const names = topLevelNames(text);
  const isRepeated = new Set(names.map((name) => name.toLowerCase())).size < names.length;
  if (isRepeated) return found ? fail('a repeated name was taken') : 'repeated';
  if (!found) return fail('a valid object was refused');
  if (found.members.length !== names.length) fail('a member was missed or made up');
  for (const [position, { name, start, valueStart, valueEnd }] of found.members.entries()) {
    if (name !== names[position] || !Object.hasOwn(object, name)) fail(`the name ${name} is wrong`);
    const head = bytes.toString('utf8', start, valueStart).trim();
    if (!head.startsWith('"') || !head.endsWith(':') || JSON.parse(head.slice(0, -1)) !== name) {
      fail(`the place of ${name} is wrong`);
    }
    const value: unknown = JSON.parse(bytes.toString('utf8', valueStart, valueEnd));
    if (!isSame(value, object[name])) fail(`the value of ${name} is wrong`);
  }
  if (bytes[found.closingBrace] !== 0x7d) fail('the closing brace is elsewhere');
  if (bytes.toString('utf8', found.closingBrace + 1).trim() !== '') fail('this is not the last brace');
  return 'accepted';
}

function tryScan(bytes: Buffer): MemberScan | undefined {
  try {
    return scanMembers(bytes.toString('latin1'));
  } catch (error) {
    if (error instanceof JsonStructureError) return undefined;
    throw error;
  }
}

/** Of valid JSON, in order and with repetitions, which JSON.parse does not show. */
function topLevelNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [token, quoted] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:?|[[\]{}]/g)) {
    if (quoted !== undefined) {
      if (depth === 1 && token.endsWith(':')) names.push(String(JSON.parse(quoted)));
    } else depth += token === '{' || token === '[' ? 1 : -1;
  }
  return names;
}

/** Both come from JSON.parse, so members stand in the same order; only minus zero looks like zero. */
function isSame(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}

describe('in steps', () => {
  const scanSteps = (
    text: string,
    stepBytes: number,
  ): { readonly scan: MemberScan; readonly steps: number } => {
    const steps = scanInSteps(Buffer.from(text).toString('latin1'), stepBytes);
    for (let count = 1; ; count++) {
      const { done, value } = steps.next();
      if (done) return { scan: value, steps: count };
    }
  };
  const outcome = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (error) {
      return error instanceof JsonStructureError ? error.message : error;
    }
  };

  test('of 20,000 random texts the same members are found', () => {
    const random = makeRandom(29);
    for (let left = 20_000; left > 0; left--) {
      const text = left % 4 === 0 ? damagedText(random) : objectText(random);
      const stepBytes = 1 + random.below(20);
      expect(
        outcome(() => scanSteps(text, stepBytes).scan),
        text,
      ).toEqual(outcome(() => scan(text)));
    }
  });

  test.each([
    ['a string of escaped quotes', `{"a":"${'\\"'.repeat(2 ** 20)}"}`],
    ['a string of backslashes', `{"a":"${'\\\\"'.repeat(2 ** 19)}x"}`.replaceAll('\\\\"', '\\\\\\"')],
    ['a list of short strings', `{"a":[${'"xxxxxxxxxxxxxxxxxxx",'.repeat(100_000)}0]}`],
  ])('%s takes many steps', (_, text) => {
    const { scan: found, steps } = scanSteps(text, 64 * 1024);
    expect(found).toEqual(scan(text));
    expect(steps).toBeGreaterThan(text.length / (80 * 1024));
  });

  test('a member name longer than 64 KiB is refused', () => {
    expect(() => scan(`{"${'x'.repeat(70_000)}":1}`)).toThrow('a member name is longer than 64 KiB');
  });
});
