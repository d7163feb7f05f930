// What becomes of the schema of a function in flight to an upstream that is particular about it?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { translateThrough } from '../../../support/translate-through.ts';

const [C, R, M] = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;

type Client = typeof C | typeof R | typeof M;

function requestOf(client: Client, schema: unknown): unknown {
  switch (client) {
    case C:
      return {
        messages: [{ role: 'user', content: 'hi' }],
        tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
      };
    case R:
      return { input: 'hi', tools: [{ type: 'function', name: 'f', parameters: schema }] };
    case M:
      return {
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
        tools: [{ name: 'f', input_schema: schema }],
      };
  }
}

/** The schema as the upstream gets it. */
function sent(client: Client, upstream: DialectName, schema: unknown): unknown {
  const request = Object.assign({ model: 'm' }, requestOf(client, schema));
  const through = translateThrough(client, upstream, Buffer.from(JSON.stringify(request)));
  const [tool] = JSON.parse(String(through.sent[0])).tools;
  return (tool.function ?? tool).parameters;
}

const pairs = [
  [M, C],
  [M, R],
  [C, R],
  [R, C],
] as const;

describe.each(pairs)('from %s to %s', (client, upstream) => {
  test.each<[string, object, object]>([
    ['names nothing', { type: 'object' }, { type: 'object', properties: {} }],
    [
      'is a map',
      { type: 'object', additionalProperties: { type: 'number' } },
      { type: 'object', additionalProperties: { type: 'number' }, properties: {} },
    ],
    [
      'is described alone',
      { type: 'object', description: 'Nothing' },
      { type: 'object', description: 'Nothing', properties: {} },
    ],
  ])('a schema that %s names no properties', (_, schema, expected) => {
    expect(sent(client, upstream, schema)).toEqual(expected);
  });

  test.each<[string, object]>([
    ['a property called properties', { properties: { type: 'object' } }],
    ['properties called as words of schemas', { type: { enum: ['a'] }, default: { type: 'string' } }],
    [
      'a property called $schema and one called encrypted',
      { $schema: { type: 'string' }, encrypted: { type: 'boolean' } },
    ],
    ['a schema as a default', { a: { type: 'object', properties: {}, default: { type: 'object' } } }],
    ['schemas to choose from', { a: { enum: [{ type: 'object' }, { $schema: 'x' }] } }],
    ['a schema as the only value', { a: { const: { type: 'object', encrypted: true } } }],
    ['schemas as examples', { a: { type: 'object', properties: {}, examples: [{ type: 'object' }] } }],
    ['a free object', { a: { type: 'object' } }],
  ])('%s stays unchanged', (_, properties) => {
    const schema = { type: 'object', properties };
    expect(sent(client, upstream, schema)).toEqual(schema);
  });
});

const pair = {
  a: { type: 'string' },
  b: { type: 'object', properties: { c: {} }, additionalProperties: false },
};

test.each<[string, object, boolean]>([
  ['has none', { ...pair, b: { type: 'string' } }, true],
  ['has one', { ...pair, b: undefined, d: { type: 'string' } }, false],
  ['has one inside', pair, false],
])(
  'a strict tool of Messages that %s that may be missing is strict at OpenAI: %j',
  (_, properties, isStrict) => {
    const input_schema = { type: 'object', properties, required: ['a', 'b'], additionalProperties: false };
    const tools = [{ name: 'f', strict: true, input_schema }];
    const request = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], tools };
    const strictAt = (upstream: typeof C | typeof R): unknown => {
      const through = translateThrough(M, upstream, Buffer.from(JSON.stringify(request)));
      const [tool] = JSON.parse(String(through.sent[0])).tools;
      return (tool.function ?? tool).strict ?? false;
    };
    expect([strictAt(C), strictAt(R)]).toEqual([isStrict, isStrict]);
  },
);

test.each([
  [C, R],
  [R, C],
] as const)('from %s to %s an empty schema takes nothing', (client, upstream) => {
  expect(sent(client, upstream, {})).toEqual({ type: 'object', properties: {} });
  expect(sent(client, upstream, null)).toEqual({ type: 'object', properties: {} });
});
