// Is the plain answer that a stream is put together to the one that the provider gives when it is asked for it?
// Recorded pairs of both, and what vendors do that is in none of them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { GatheredStream } from '../../../../gateway/dialects/answer/gathered-stream.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import { asRecord, type JsonRecord } from '../../../../gateway/json/record.ts';
import { withoutNulls } from '../../../support/rebuild-answer.ts';

const wire = join(import.meta.dirname, '../../../fixtures/wire');
const dialects = ['openai-chat', 'openai-completions', 'openai-responses', 'anthropic-messages'] as const;

function open(dialect: DialectName, choices = 1, bytesMax = 1024 * 1024): GatheredStream {
  const { same } = findDialect(dialect);
  const facts = { model: 'm', isStream: true, wantsUsage: true, choices };
  return new GatheredStream(same.relayStream(facts), same, bytesMax);
}

/** @param pieceLength Bytes of one chunk of the network. */
function gather(dialect: DialectName, text: string, choices = 1, pieceLength = 4096): GatheredStream {
  const stream = open(dialect, choices);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceLength) stream.push(bytes.subarray(at, at + pieceLength));
  stream.end();
  return stream;
}

describe.each(dialects)('%s', (dialect) => {
  const names = readdirSync(join(wire, dialect))
    .filter((name) => name.endsWith('.chunks.txt'))
    .map((name) => name.slice(0, -'.chunks.txt'.length))
    .filter((name) => readdirSync(join(wire, dialect)).includes(`${name}.response.json`));

  test.each(names)('%s: the same, however the network cuts it', (name) => {
    const streamed = readFileSync(join(wire, dialect, `${name}.chunks.txt`), 'utf8');
    const plain: unknown = JSON.parse(readFileSync(join(wire, dialect, `${name}.response.json`), 'utf8'));
    const choices = name.startsWith('two-choices') || name.startsWith('two-prompts') ? 2 : 1;
    for (const pieceLength of [7, 1 << 20]) {
      const stream = gather(dialect, streamed, choices, pieceLength);
      expect([stream.facts.isComplete, stream.facts.fault]).toEqual([true, undefined]);
      expect(withoutNulls(stream.answer())).toEqual(withoutNulls(plain));
      expect(stream.flaw()).toBeUndefined();
    }
  });

  test('a client gets the same bytes as without it', () => {
    const { same } = findDialect(dialect);
    const text = readFileSync(join(wire, dialect, `${names[0]}.chunks.txt`));
    const relay = same.relayStream({ model: 'm', isStream: true, wantsUsage: true, choices: 1 });
    expect(open(dialect).push(text)).toEqual(relay.push(text));
  });
});

const chunks = (...deltas: readonly object[]): string =>
  [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]
    .map((chunk) => `data: ${JSON.stringify({ id: 'a', model: 'x', created: 1, ...chunk })}\n\n`)
    .join('');

function messageOf(stream: GatheredStream): unknown {
  const choices = stream.answer()?.choices;
  return Array.isArray(choices) ? asRecord(choices[0])?.message : undefined;
}

describe('chat, as vendors write it', () => {
  const call = (members: object) => ({ tool_calls: [members] });
  const get = (input: string) => ({ function: { name: 'get', arguments: input } });
  const more = (input: string) => ({ function: { arguments: input } });
  test.each<readonly [string, readonly object[], readonly string[]]>([
    [
      'calls that are all numbered 0, distinguished by their ids',
      [
        call({ index: 0, id: 'a', ...get('{"x"') }),
        call({ index: 0, ...more(':1}') }),
        call({ index: 0, id: 'b', ...get('{}') }),
      ],
      ['{"x":1}', '{}'],
    ],
    [
      'calls without numbers',
      [call({ id: 'a', ...get('{"x"') }), call({ ...more(':1}') }), call({ id: 'b', ...get('{}') })],
      ['{"x":1}', '{}'],
    ],
    [
      'id and name on every piece',
      [call({ index: 0, id: 'a', ...get('{"x"') }), call({ index: 0, id: 'a', ...get(':1}') })],
      ['{"x":1}'],
    ],
    [
      'two calls whose pieces are mixed',
      [
        {
          tool_calls: [
            { index: 0, id: 'a', ...get('{') },
            { index: 1, id: 'b', ...get('{') },
          ],
        },
        {
          tool_calls: [
            { index: 1, ...more('"b":2}') },
            { index: 0, ...more('"a":1}') },
          ],
        },
      ],
      ['{"a":1}', '{"b":2}'],
    ],
  ])('%s', (_, deltas, inputs) => {
    expect(messageOf(gather('openai-chat', chunks(...deltas)))).toMatchObject({
      tool_calls: inputs.map((input) => ({ function: { name: 'get', arguments: input } })),
    });
  });

  test('members that only one vendor has are kept', () => {
    const text = chunks(
      { role: 'assistant', content: 'a', vendor: { note: 'x', list: [1] } },
      {
        content: 'b',
        vendor: { note: 'y', list: [2] },
        reasoning_details: [{ index: 0, text: 'p', id: 'r' }],
      },
      { reasoning_details: [{ index: 0, text: 'q', id: 'r' }], score: 3 },
    );
    expect(messageOf(gather('openai-chat', text))).toEqual({
      role: 'assistant',
      content: 'ab',
      vendor: { note: 'xy', list: [1, 2] },
      reasoning_details: [{ index: 0, text: 'pq', id: 'r' }],
      score: 3,
    });
  });

  test('names from an upstream are plain names, whatever they mean in JavaScript', () => {
    const text = chunks(
      JSON.parse('{"content":"a","__proto__":{"isAdmin":true},"constructor":{"prototype":{"b":1}}}'),
    );
    const stream = gather('openai-chat', text);
    expect(JSON.stringify(stream.answer())).toContain('"__proto__":{"isAdmin":true}');
    const fresh: JsonRecord = {};
    expect([fresh.isAdmin, fresh.b]).toEqual([undefined, undefined]);
  });

  test('a value with a hundred thousand levels does no harm', () => {
    const deep = `{"choices":[{"index":0,"delta":{"content":"a","d":${'['.repeat(1e5)}${']'.repeat(1e5)}}}]}`;
    const stream = gather('openai-chat', `data: ${deep}\n\n${chunks({ content: 'b' })}`);
    expect(messageOf(stream)).toMatchObject({ content: 'ab' });
  });
});

describe('a stream that is unusable as a whole', () => {
  const messages = (...events: readonly (JsonRecord & { readonly type: string })[]): string =>
    [
      {
        type: 'message_start',
        message: { id: 'm', type: 'message', content: [], usage: { input_tokens: 1 } },
      },
      ...events,
      { type: 'message_stop' },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('');
  const block = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', name: 'f', input: {} },
  };
  const input = (json: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: json },
  });
  const end = (reason: string) => ({ type: 'message_delta', delta: { stop_reason: reason }, usage: {} });
  const response = (output: readonly object[]): string => {
    const event = {
      type: 'response.completed',
      response: { object: 'response', status: 'completed', output },
    };
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  };
  const call = (id: string, text: string) =>
    chunks({ tool_calls: [{ index: 0, id, function: { name: 'f', arguments: text } }] });

  test.each<readonly [string, DialectName, string, boolean]>([
    ['half an object', 'openai-chat', call('a', '{"x":'), true],
    ['a list', 'openai-chat', call('a', '[1]'), true],
    ['an object', 'openai-chat', call('a', '{"x":1}'), false],
    ['nothing', 'openai-chat', call('a', ''), false],
    ['an old function call', 'openai-chat', chunks({ function_call: { name: 'f', arguments: '{' } }), true],
    ['half an object', 'anthropic-messages', messages(block, input('{"x":'), end('tool_use')), true],
    ['an object', 'anthropic-messages', messages(block, input('{"x"'), input(':1}'), end('tool_use')), false],
    [
      'half an object, cut at the limit',
      'anthropic-messages',
      messages(block, input('{"x":'), end('max_tokens')),
      false,
    ],
    ['half an object', 'openai-responses', response([{ type: 'function_call', arguments: '{"x":' }]), true],
    ['an object', 'openai-responses', response([{ type: 'function_call', arguments: '{}' }]), false],
    ['free text', 'openai-responses', response([{ type: 'custom_tool_call', input: 'x' }]), false],
  ])('input of a call that is %s (%s)', (_, dialect, text, isFlawed) => {
    const stream = gather(dialect, text);
    expect([stream.facts.isComplete, stream.flaw() !== undefined]).toEqual([true, isFlawed]);
  });

  test('an event that is braces around no JSON is left out, and counted', () => {
    const text = chunks({ content: 'a' }, { content: 'b' }).replace('"content":"b"', '"content":b"');
    const stream = gather('openai-chat', text);
    expect(stream.facts.malformedFrames).toBe(1);
  });

  test('a stream that is too long is not kept, and gives neither an answer nor a fault', () => {
    const stream = open('openai-chat', 1, 100);
    stream.push(Buffer.from(call('a', '{"x":')));
    stream.push(Buffer.from(chunks({ content: 'x'.repeat(200) })));
    stream.end();
    expect([stream.answer(), stream.flaw()]).toEqual([undefined, undefined]);
  });
});

test('a response without items in its terminal event has the items of earlier events', () => {
  const item = { type: 'message', id: 'i', content: [{ type: 'output_text', text: 'hello' }] };
  const events = [
    { type: 'response.created', response: { object: 'response', status: 'in_progress', output: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { object: 'response', status: 'completed', output: [] } },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  expect(gather('openai-responses', text).answer()).toMatchObject({ status: 'completed', output: [item] });
});
