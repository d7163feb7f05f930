// Is an object written again as it came, where parsing loses how it was written?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRecord } from '../../../gateway/json/record.ts';
import {
  changeAsWritten,
  keepSources,
  sourceLengthMax,
  textOfObject,
} from '../../../gateway/json/sources.ts';
import { writeJson } from '../../../gateway/json/write-json.ts';

const numbers = ['1.0', '1e2', '1E+2', '12345678901234567890', '-0', '0.0000001', '0.10', '9007199254740993'];
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(...numbers, '1', 'null', 'true'),
    fc.string().map((text) => JSON.stringify(text)),
    fc.array(tie('json'), { maxLength: 3 }).map((list) => `[ ${list.join(' ,')}]`),
    fc
      .array(fc.tuple(fc.constantFrom('2', '10', 'a"b', '__proto__', 'é', ''), tie('json')), { maxLength: 4 })
      .map(
        (members) => `{${members.map(([name, value]) => `${JSON.stringify(name)} : ${value}`).join(',\n')} }`,
      ),
  ),
}));

test('the source of an object is the text that it was read from', () => {
  fc.assert(
    fc.property(json, (inner) => {
      const text = `{"first":1.0,"inner":${inner}}`;
      const value = JSON.parse(text);
      keepSources(value, Buffer.from(text).toString('latin1'));
      expect(textOfObject(value)).toBe(text);
      if (isRecord(value.inner)) expect(textOfObject(value.inner)).toBe(inner);
      const inside = Array.isArray(value.inner) ? value.inner.filter(isRecord) : [];
      for (const entry of inside) expect(inner).toContain(textOfObject(entry));
    }),
    { numRuns: 1000 },
  );
});

test.each([...numbers.map((number) => `{"n": ${number}}`), '{"b":1,"10":2,"9":3}', '{"n":[1.50,2]}'])(
  '%s stays',
  (text) => {
    const value = JSON.parse(text);
    keepSources(value, text);
    expect(textOfObject(value)).toBe(text);
  },
);

test.each(['{"n": 1.5, "m":-12, "z":0, "a":0.25}', '{"t":"x"}'])('%s needs no source', (text) => {
  const value = JSON.parse(text);
  keepSources(value, text);
  expect(textOfObject(value)).toBe(JSON.stringify(value));
});

test('a very long text is not searched', () => {
  const text = `{"n":1.0,"t":"${'x'.repeat(sourceLengthMax)}"}`;
  const value = JSON.parse(text);
  keepSources(value, text);
  expect(textOfObject(value)).toBe(JSON.stringify(value));
});

describe('the text of an object', () => {
  const text = '{"$schema":"s","minimum":1.0,"enum":[1e2],"properties":{"10":{"default":2.50},"9":{}}}';
  const written = (change: (value: unknown) => unknown): string => {
    const value = JSON.parse(text);
    keepSources(value, text);
    return writeJson(changeAsWritten(value, change));
  };

  test('is its source if nothing changes', () => {
    expect(written((value) => value)).toBe(text);
    expect(written((value) => structuredClone(value))).toBe(text);
  });

  test('keeps its numbers if something changes', () => {
    const without = written((value) => {
      const { $schema: _, ...rest } = isRecord(value) ? value : {};
      return rest;
    });
    expect(without).toBe('{"minimum":1.0,"enum":[1e2],"properties":{"9":{},"10":{"default":2.50}}}');
  });
});
