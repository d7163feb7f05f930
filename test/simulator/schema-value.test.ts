// The made-up values are valid for their schemas, with ajv as the judge.

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valueForPattern } from '../../simulator/pattern-value.ts';
import { valueForSchema } from '../../simulator/schema-value.ts';

// Own properties only: a property may be called `valueOf`, which every object inherits.
const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });

function expectValid(schema: object): void {
  const value = valueForSchema(schema);
  const isValid = ajv.validate(schema, value);
  expect(isValid, `${JSON.stringify(value)} for ${JSON.stringify(schema)}: ${ajv.errorsText()}`).toBe(true);
}

const stringSchema = fc
  .record({ minLength: fc.nat(12), more: fc.nat(12) })
  .map(({ minLength, more }) => ({ type: 'string', minLength, maxLength: minLength + more }));

const integerSchema = fc
  .record({
    low: fc.integer({ min: -1000, max: 1000 }),
    room: fc.integer({ min: 12, max: 100 }),
    by: fc.integer({ min: 1, max: 12 }),
  })
  .map(({ low, room, by }) => ({ type: 'integer', minimum: low, maximum: low + room, multipleOf: by }));

const numberSchema = fc
  .record({
    low: fc.integer({ min: -1000, max: 1000 }),
    room: fc.integer({ min: 1, max: 100 }),
    isOpen: fc.boolean(),
  })
  .map(({ low, room, isOpen }) =>
    isOpen
      ? { type: 'number', exclusiveMinimum: low, exclusiveMaximum: low + room }
      : { type: 'number', minimum: low, maximum: low + room },
  );

const leaf = fc.oneof(
  stringSchema,
  integerSchema,
  numberSchema,
  fc.constantFrom<object>(
    { type: 'boolean' },
    { type: 'null' },
    { const: { a: [1, 'two', null] } },
    { enum: ['x', 2, null] },
    { type: ['string', 'null'] },
    { type: ['null', 'integer'], minimum: 7 },
    {},
  ),
);

const anySchema = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    leaf,
    fc.record({ items: tie('schema'), minItems: fc.nat(3) }).map((rest) => ({ type: 'array', ...rest })),
    fc
      .record({
        properties: fc.dictionary(fc.string({ maxLength: 8 }), tie('schema'), { maxKeys: 4 }),
        isRequired: fc.boolean(),
      })
      .map(({ properties, isRequired }) => ({
        type: 'object',
        properties,
        required: isRequired ? Object.keys(properties) : [],
        additionalProperties: false,
      })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    tie('schema').map((schema) => ({ $defs: {}, allOf: [schema, {}] })),
  ),
})).schema;

describe('a value for a schema', () => {
  it('is valid for every schema of the kinds that tools and structured output use', () => {
    fc.assert(fc.property(anySchema, expectValid), { numRuns: 500 });
  });

  it('is the same each time', () => {
    fc.assert(
      fc.property(anySchema, (schema) => {
        expect(valueForSchema(schema)).toEqual(valueForSchema(structuredClone(schema)));
      }),
    );
  });

  const cases: [string, object][] = [
    ['a reference into $defs', { $ref: '#/$defs/city', $defs: { city: { type: 'string', minLength: 5 } } }],
    [
      'a reference with siblings',
      { $ref: '#/$defs/n', minimum: 9, $defs: { n: { type: 'integer', minimum: 3 } } },
    ],
    ['a reference through an escaped name', { $ref: '#/$defs/a~1b', $defs: { 'a/b': { const: 4 } } }],
    [
      'a schema that contains itself',
      {
        $ref: '#/$defs/node',
        $defs: {
          node: {
            type: 'object',
            properties: {
              next: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/node' }] },
              children: { type: 'array', items: { $ref: '#/$defs/node' } },
            },
            required: ['children'],
          },
        },
      },
    ],
    [
      'a list that contains itself through a required member',
      {
        type: 'object',
        properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
        required: ['next'],
        additionalProperties: false,
      },
    ],
    [
      'parts put together by allOf',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'integer', minimum: 5 } }, required: ['a'] },
          { properties: { a: { maximum: 6 }, b: { enum: ['u', 'v'] } }, required: ['b'] },
        ],
      },
    ],
    [
      'oneOf with kinds distinguished by a constant',
      {
        oneOf: [
          { type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] },
          { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
        ],
      },
    ],
    [
      'items that must differ',
      { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 3, uniqueItems: true },
    ],
    [
      'different members of an enum',
      { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
    ],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'integer' }, { const: 'x' }], minItems: 2, items: false },
    ],
    ['contains', { type: 'array', contains: { const: 5 } }],
    [
      'a required property called __proto__',
      JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
      ) as object,
    ],
    ['a required property that is not described', { type: 'object', required: ['free'] }],
    ['minProperties', { type: 'object', minProperties: 2, properties: { a: { type: 'boolean' } } }],
    [
      'null before the other type',
      { type: ['null', 'object'], required: ['a'], properties: { a: { type: 'null' } } },
    ],
    ['a pattern', { type: 'string', pattern: '^[A-Z]{2}-\\d{3,}$' }],
    ['a pattern and a length', { type: 'string', pattern: '^[a-z_]+$', minLength: 20 }],
  ];
  it.each(cases)('understands %s', (_name, schema) => {
    expectValid(schema);
  });
});

describe('a string for a pattern', () => {
  const patterns = [
    '^[a-zA-Z0-9_-]{1,64}$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^(feat|fix): .+$',
    '^#[0-9a-f]{6}$',
    '^(?:v)?\\d+\\.\\d+\\.\\d+$',
    '^\\S+@\\S+\\.[a-z]{2,}$',
    '[^/]+/[^/]+',
    '^https?://',
    '^\\p{L}+$',
  ];
  it.each(patterns)('matches %s', (pattern) => {
    // Unicode classes are not understood; the fallback happens to be letters.
    expect(valueForPattern(pattern)).toMatch(new RegExp(pattern, 'u'));
  });

  it('grows where the pattern lets it', () => {
    expect(valueForPattern('^a+$', 9).length).toBeGreaterThanOrEqual(9);
  });

  it('falls back on a pattern that no engine understands', () => {
    expect(valueForPattern('([')).toBe('sim');
  });
});
