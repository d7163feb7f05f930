// Do edits change exactly what they say? Every other byte of a request has to arrive as it was sent.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestBody, removeMembers, setMember } from '../../../gateway/json/request-body.ts';
import { JsonStructureError } from '../../../gateway/json/scan-members.ts';
import { runs } from '../../support/runs.ts';

/** Numbers that a parse and a stringify would change. */
const fragile = ['12345678901234567890', '1e400', '-0', '1.0', '0.10000000000000000555', '-1E-7'] as const;

const body = (text: string): RequestBody => new RequestBody([Buffer.from(text)]);
const textOf = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8');

describe('edited', () => {
  test.each([
    ['replaces a value', '{"model":"a","n":1}', [['model', '"b"']], '{"model":"b","n":1}'],
    [
      'keeps space and order',
      ' {\n "n" : 1 ,"model"\t:"a" } ',
      [['model', '"b"']],
      ' {\n "n" : 1 ,"model"\t:"b" } ',
    ],
    ['replaces an object', '{"o":{"a":[1,"}"]},"n":1}', [['o', '{}']], '{"o":{},"n":1}'],
    ['replaces null', '{"n":null}', [['n', '2']], '{"n":2}'],
    ['puts in what is not there', '{"model":"a" }', [['n', '1']], '{"model":"a" ,"n":1}'],
    ['puts into an empty object', ' { } ', [['n', '1']], ' { "n":1} '],
    [
      'puts several into an empty object',
      '{}',
      [
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
      ],
      '{"a":1,"b":2,"c":3}',
    ],
    [
      'makes several edits, in any order',
      '{"a":1,"b":2}',
      [
        ['c', '3'],
        ['b', '20'],
        ['d', '4'],
        ['a', '10'],
      ],
      '{"a":10,"b":20,"c":3,"d":4}',
    ],
    [
      'finds a name that was written with escapes',
      '{"mod\\u0065l":"a"}',
      [['model', '"b"']],
      '{"mod\\u0065l":"b"}',
    ],
    ['writes names with quotes', '{}', [['a"b', '1']], '{"a\\"b":1}'],
    ['writes text of several bytes a character', '{"ключ":"é"}', [['ключ', '"漢字😀"']], '{"ключ":"漢字😀"}'],
  ] satisfies [string, string, [string, string][], string][])('%s', (_, text, edits, wanted) => {
    const request = body(text);
    expect(textOf(request.edited(edits.map(([name, value]) => setMember(request, name, value))))).toBe(
      wanted,
    );
  });

  test.each([
    ['first', '{ "x" : [1] , "a":1}', '{ "a":2}'],
    ['in the midst', '{"a":1 , "x":[1] ,"b":2}', '{"a":2 ,"b":2}'],
    ['last', '{"a":1, "x":[1] }', '{"a":2 }'],
  ])('takes a member out that is %s, with one comma', (_, text, wanted) => {
    const request = body(text);
    const member = request.member('x');
    if (!member) throw new Error('the member is not found');
    expect(textOf(request.edited([setMember(request, 'a', '2'), ...removeMembers(request, [member])]))).toBe(
      wanted,
    );
  });

  test('takes the only member out', () => {
    const request = body('{ "x":1 }');
    const [member] = request.scan.members;
    if (!member) throw new Error('the member is not found');
    expect(textOf(request.edited(removeMembers(request, [member])))).toBe('{  }');
  });

  test('takes any of the members out together, and leaves the others as they are', () => {
    const texts = ['"a" : 1', ' "b":[1,2] ', '"c":{}', ' "d":"," '];
    const request = body(`{${texts.join(',')}}`);
    for (let out = 0; out < 2 ** texts.length; out++) {
      const isOut = (at: number): boolean => (out & (1 << at)) !== 0;
      const removed = request.scan.members.filter((__, at) => isOut(at)).reverse();
      const left = JSON.parse(textOf(request.edited(removeMembers(request, removed))));
      expect(left).toEqual(JSON.parse(`{${texts.filter((__, at) => !isOut(at)).join(',')}}`));
    }
  });

  test('without edits gives the chunks themselves, uncopied', () => {
    const chunks = [Buffer.from('{"a":'), Buffer.from('1}')];
    const edited = new RequestBody(chunks).edited([]);
    expect(edited).toHaveLength(2);
    for (const [index, chunk] of edited.entries()) expect(chunk).toBe(chunks[index]);
  });

  test('keeps whole chunks that no edit touches, uncopied', () => {
    const long = Buffer.from(` "long":"${'x'.repeat(1000)}"`);
    const request = new RequestBody([Buffer.from('{"model":"a",'), long, Buffer.from('}')]);
    expect(request.edited([setMember(request, 'model', '"b"')])).toContain(long);
  });
});

test('for any object, edits and chunks: the edits are made, and every other byte is kept', () => {
  const name = fc.oneof(fc.constantFrom('model', 'stream', 'n', 'ключ', 'a"b', '__proto__'), fc.string());
  const value = fc.oneof(
    fc.json({ noUnicodeString: false }),
    fc.constantFrom<string>(...fragile),
    fc.constantFrom<string>(...fragile).map((number) => `[ ${number},{"x":${number}} ]`),
  );
  const space = fc.constantFrom('', ' ', '\n', '\r\n\t');
  const member = fc.record({ name, value, space });
  const members = fc.uniqueArray(member, { selector: (entry) => entry.name.toLowerCase(), maxLength: 8 });
  const edits = fc.uniqueArray(fc.record({ name, value }), {
    selector: (entry) => entry.name.toLowerCase(),
    minLength: 1,
    maxLength: 5,
  });
  const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 });
  fc.assert(
    fc.property(members, edits, cuts, fc.nat({ max: 8 }), (given, wished, at, known) => {
      // An edit of a known name must spell it as the caller did; the lookup is exact.
      const taken = new Set(given.map((entry) => entry.name.toLowerCase()));
      const changes = [
        ...wished.filter((entry) => !taken.has(entry.name.toLowerCase())),
        ...given.slice(0, known).map((entry, index) => ({ name: entry.name, value: `"changed ${index}"` })),
      ];
      const write = (entries: readonly { name: string; value: string; space?: string }[]): string =>
        entries.map((entry) => `${entry.space ?? ''}${JSON.stringify(entry.name)}:${entry.value}`).join(',');
      const replaced = given.map((entry) => ({
        ...entry,
        value: changes.find((change) => change.name === entry.name)?.value ?? entry.value,
      }));
      const added = changes.filter((change) => !given.some((entry) => entry.name === change.name));

      const request = new RequestBody(chunked(Buffer.from(`{${write(given)}}`), at));
      const edited = textOf(
        request.edited(changes.map((change) => setMember(request, change.name, change.value))),
      );
      expect(edited).toBe(`{${write([...replaced, ...added])}}`);
      for (const change of changes) expect(JSON.parse(edited)[change.name]).toEqual(JSON.parse(change.value));
    }),
    { seed: 7, numRuns: runs(3_000) },
  );
});

describe('reading', () => {
  test('a member whose value is cut inside a character is read whole', () => {
    const bytes = Buffer.from('{"a":"é漢😀","b":2}');
    for (let at = 0; at <= bytes.length; at++) {
      const request = new RequestBody([bytes.subarray(0, at), bytes.subarray(at)]);
      const member = request.member('a');
      expect(member && request.read(member)).toBe('é漢😀');
      request.parse();
      expect(member && request.read(member)).toBe('é漢😀');
    }
  });

  test('a body that is no valid JSON is refused when it is parsed whole', () => {
    expect(() => body('{"a":tru,"b":1}').parse()).toThrow(SyntaxError);
  });

  test('a member that is no valid JSON is found, and refused when it is read', () => {
    const request = body('{"a":tru,"b":1}');
    const member = request.member('a');
    expect(member).toBeDefined();
    expect(() => member && request.read(member)).toThrow(SyntaxError);
  });

  test('an inherited name is no member', () => {
    expect(body('{"a":1}').member('constructor')).toBeUndefined();
    expect(body('{"a":1}').member('__proto__')).toBeUndefined();
  });

  test('two bodies after each other do not affect each other', () => {
    const chunks = (text: string): Buffer[] => chunked(Buffer.from(text), [3, 9]);
    const long = new RequestBody(chunks('{"model":"a long one","other":[1,2,3]}'));
    const short = new RequestBody(chunks('{"model":"b"}'));
    const other = long.member('other');
    expect(other && long.read(other)).toEqual([1, 2, 3]);
    expect(short.scan.members.map(({ name }) => name)).toEqual(['model']);
    expect(() => new RequestBody(chunks('{"model":"c"'))).toThrow(JsonStructureError);
  });
});

function chunked(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.filter((cut) => cut < bytes.length))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}
