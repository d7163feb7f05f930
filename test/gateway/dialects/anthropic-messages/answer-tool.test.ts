// How does a model answer to a schema that has no structured output of its own?

import { describe, expect, test } from 'vitest';
import type { Conversation, Tool } from '../../../../gateway/dialects/conversation.ts';
import { conversationOf } from '../support/make-conversation.ts';
import { blockOf, endOf, start } from '../support/messages-events.ts';
import { call, encodeRequest, short, userTurn } from './talk.ts';

const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 0 } } };
const asked: Partial<Conversation> = { output: { type: 'json-schema', schema } };
const older = { upstreamModel: 'glm-5' };
const look: Tool = { kind: 'function', name: 'look' };

const answerBlock = (name: string, ...inputs: readonly string[]) =>
  blockOf(
    0,
    { type: 'tool_use', id: 'toolu_1', name, input: {} },
    ...inputs.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  );

describe('the request', () => {
  test('forces a tool of the schema, and keeps the model from thinking', () => {
    const sent = encodeRequest({ ...asked, reasoning: { mode: 'adaptive', effort: 'high' } }, older);
    expect(sent).toMatchObject({
      tools: [{ name: 'answer', input_schema: schema }],
      tool_choice: { type: 'tool', name: 'answer', disable_parallel_tool_use: true },
    });
    expect(sent).not.toHaveProperty('output_config');
    expect(sent).not.toHaveProperty('thinking');
  });

  test('leaves the choice between its own tools and the answer, one at a time', () => {
    const tools = [look, { ...look, name: 'answer' }];
    const sent = encodeRequest({ ...asked, tools }, older);
    expect(sent.tools.map(({ name }: { name: string }) => name)).toEqual(['look', 'answer', 'answer_']);
    expect(sent.tool_choice).toEqual({ type: 'any', disable_parallel_tool_use: true });
  });

  test('that forces another call has no such tool', () => {
    const sent = encodeRequest({ ...asked, tools: [look], toolChoice: { type: 'required' } }, older);
    expect(sent.tools.map(({ name }: { name: string }) => name)).toEqual(['look']);
  });

  test('to a model with structured output has no such tool', () => {
    expect(encodeRequest(asked, { upstreamModel: 'claude-sonnet-4-5' })).not.toHaveProperty('tools');
  });

  test.each(['claude-sonnet-4-5@20250929', 'claude-opus-4-6', 'claude-opus-4-8'])(
    'to %s at a provider that refuses schemas forces the tool',
    (upstreamModel) => {
      const sent = encodeRequest(asked, { upstreamModel, messagesSchemas: 'by-tool' });
      expect(sent).toMatchObject({
        tools: [{ name: 'answer', input_schema: schema }],
        tool_choice: { type: 'tool', name: 'answer' },
      });
      expect(sent).not.toHaveProperty('output_config');
    },
  );

  test.each(['glm-5', 'claude-3-7-sonnet-20250219', 'claude-sonnet-4-5', 'claude-opus-4-8'])(
    'JSON of any kind is given by the tool at %s',
    (upstreamModel) => {
      const sent = encodeRequest({ output: { type: 'json-object' } }, { upstreamModel });
      expect(sent).toMatchObject({
        tools: [{ name: 'answer', input_schema: { type: 'object' } }],
        tool_choice: { type: 'tool', name: 'answer' },
      });
      expect(sent).not.toHaveProperty('output_config');
      expect(sent).not.toHaveProperty('system');
    },
  );

  const of = (properties: Record<string, unknown>, more = {}) => ({ type: 'object', properties, ...more });
  const node = of({ next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } });

  test.each<[string, unknown]>([
    ['a map', of({ scores: { type: 'object', additionalProperties: { type: 'number' } } })],
    [
      'a map in a list',
      of({ all: { type: 'array', items: { type: 'object', additionalProperties: true } } }),
    ],
    [
      'a map by patterns',
      of({ scores: { type: 'object', patternProperties: { '^a': { type: 'number' } } } }),
    ],
    ['members beyond those named', of({ a: { type: 'string' } }, { additionalProperties: true })],
    ['a free object', of({ more: { type: 'object' } })],
    ['a free object or nothing', of({ more: { type: ['object', 'null'] } })],
    ['nothing but a free object', { type: 'object' }],
    ['any value', of({ value: { description: 'Whatever fits' } })],
    ['any value, as true', of({ value: true })],
    ['itself', of({ children: { type: 'array', items: { $ref: '#' } } })],
    ['a definition that contains itself', of({ first: { $ref: '#/$defs/node' } }, { $defs: { node } })],
    [
      'definitions that contain each other',
      of(
        { a: { $ref: '#/definitions/a' } },
        {
          definitions: {
            a: of({ b: { $ref: '#/definitions/b' } }),
            b: of({ a: { $ref: '#/definitions/a' } }),
          },
        },
      ),
    ],
    ['a place in itself', of({ a: of({ b: { $ref: '#/properties/a' } }) })],
    ['a schema that lies elsewhere', of({ a: { $ref: 'https://h.example/a.json' } })],
    ['a definition that is not there', of({ a: { $ref: '#/$defs/none' } })],
    ['what must not be', of({ a: { not: { type: 'string' } } })],
    ['a condition', of({ a: { type: 'string' } }, { if: {}, else: {} })],
    ['a tuple', of({ pair: { type: 'array', prefixItems: [{ type: 'string' }] } })],
    ['objects to choose from', of({ a: { enum: [{ b: 1 }] } })],
    ['a definition inside allOf', of({ a: { allOf: [{ $ref: '#/$defs/b' }] } }, { $defs: { b: of({}) } })],
  ])('to a model with structured output has the tool where the schema holds %s', (_, schema) => {
    const output = { type: 'json-schema', schema } as const;
    const sent = encodeRequest({ output }, { upstreamModel: 'claude-opus-4-8' });
    expect(sent.tools).toMatchObject([{ name: 'answer', input_schema: schema }]);
    expect(sent).not.toHaveProperty('output_config');
  });

  test.each<[string, unknown]>([
    [
      'a definition used twice',
      of({ a: { $ref: '#/$defs/b' }, c: { $ref: '#/$defs/b' } }, { $defs: { b: of({}) } }),
    ],
    [
      'definitions in a row',
      of({ a: { $ref: '#/$defs/b' } }, { $defs: { b: of({ c: { $ref: '#/$defs/c' } }), c: of({}) } }),
    ],
    ['a member called additionalProperties', of({ additionalProperties: { type: 'boolean' } })],
    ['a member called $ref', of({ $ref: { type: 'string' } })],
    ['a free object as a default', of({ a: { type: 'string', default: { type: 'object' } } })],
  ])('to a model with structured output has no such tool where the schema holds %s', (_, schema) => {
    const output = { type: 'json-schema', schema } as const;
    const sent = encodeRequest({ output }, { upstreamModel: 'claude-opus-4-8' });
    expect(sent).not.toHaveProperty('tools');
    expect(sent.output_config.format.type).toBe('json_schema');
  });

  test('to a model that cannot be made to call a tool asks for the call, and lets it think', () => {
    const target = { upstreamModel: 'claude-opus-5-5' };
    const sent = encodeRequest(
      { output: { type: 'json-object' }, reasoning: { mode: 'adaptive', effort: 'low' } },
      target,
    );
    expect(sent.tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true });
    expect(sent.thinking.type).toBe('adaptive');
    expect(sent.system[0].text).toContain('"answer"');
  });

  test('with fifty thousand chained definitions is read', () => {
    const ref = (n: number) => ({ $ref: `#/$defs/d${n}` });
    const definitions = Array.from({ length: 50_000 }, (_, n) => [`d${n}`, of({ a: ref(n + 1) })]);
    const schema = of(
      { a: ref(0) },
      { $defs: { ...Object.fromEntries(definitions), d50000: { type: 'null' } } },
    );
    const sent = encodeRequest({ output: { type: 'json-schema', schema } });
    expect(sent).not.toHaveProperty('tools');
  });
});

describe('the answer', () => {
  const opened = (change: Partial<Conversation> = {}) => call({ ...asked, ...change }, older);

  function decode(text: string, change?: Partial<Conversation>): string[] {
    const decoder = opened(change).streamDecoder();
    return short([...decoder.push(Buffer.from(start + text)), ...decoder.end()]);
  }

  test('in a stream is text', () => {
    const parts = decode(answerBlock('answer', '{"age"', ':5}') + endOf('tool_use'));
    expect(parts).toEqual(['0 text', '0 + {"age"', '0 + :5}', '0 end', 'stop']);
  });

  test('in a stream without deltas is text', () => {
    expect(decode(answerBlock('answer') + endOf('tool_use'))).toEqual(['0 text', '0 + {}', '0 end', 'stop']);
  });

  test('that is cut stays cut', () => {
    expect(decode(answerBlock('answer', '{"a') + endOf('max_tokens')).at(-1)).toBe('length');
  });

  test('that is a call of another tool stays one', () => {
    const parts = decode(answerBlock('look', '{}') + endOf('tool_use'), { tools: [look] });
    expect(parts).toEqual(['0 tool-call look', '0 + {}', '0 end', 'tool-calls']);
  });

  test('in one piece is text', () => {
    const content = [{ type: 'tool_use', id: 'toolu_1', name: 'answer', input: { age: 5 } }];
    const body = JSON.stringify({ content, stop_reason: 'tool_use' });
    expect(opened().decodeAnswer(Buffer.from(body))).toMatchObject({
      answer: { choices: [{ parts: [{ type: 'text', text: '{"age":5}' }], finish: 'stop' }] },
    });
  });

  const said = (index: number, text: string) =>
    blockOf(index, { type: 'text', text: '' }, { type: 'text_delta', text });

  test('in a stream replaces all other text', () => {
    const answered = said(0, 'Let me see.') + answerBlock('answer', '{"age":5}') + said(2, 'Done.');
    expect(decode(answered + endOf('tool_use'))).toEqual(['0 text', '0 + {"age":5}', '0 end', 'stop']);
  });

  test('in one piece replaces all other text', () => {
    const content = [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'answer', input: { age: 5 } },
      { type: 'text', text: 'Done.' },
    ];
    const decoded = opened().decodeAnswer(Buffer.from(JSON.stringify({ content, stop_reason: 'tool_use' })));
    expect(decoded).toMatchObject({
      answer: { choices: [{ parts: [{ type: 'text', text: '{"age":5}' }] }] },
    });
  });

  test('that is only text learns when it has ended', () => {
    const decoder = opened().streamDecoder();
    expect(short(decoder.push(Buffer.from(start + said(0, 'I will not.'))))).toEqual([]);
    expect(short(decoder.push(Buffer.from(said(1, 'Really.') + endOf('end_turn'))))).toEqual([
      '0 text',
      '0 + I will not.',
      '0 end',
      '1 text',
      '1 + Really.',
      '1 end',
      'stop',
    ]);
  });

  test('is not sent yet if another tool is called: its text comes before the call', () => {
    const parts = decode(said(0, 'Looking.') + answerBlock('look', '{}') + endOf('tool_use'), {
      tools: [look],
    });
    expect(parts.slice(0, 4)).toEqual(['0 text', '0 + Looking.', '0 end', '1 tool-call look']);
  });

  test('of a tool of that name is its call where no schema was asked for', () => {
    const conversation = conversationOf({ turns: [userTurn('Hi')], tools: [{ ...look, name: 'answer' }] });
    const decoder = call(conversation, older).streamDecoder();
    const parts = short([
      ...decoder.push(Buffer.from(start + answerBlock('answer', '{}') + endOf('tool_use'))),
    ]);
    expect(parts).toContain('0 tool-call answer');
  });
});
