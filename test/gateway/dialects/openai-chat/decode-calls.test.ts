// Which tool calls does a chat upstream mean, however it writes them? Plain and in pieces.

import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type { Conversation } from '../../../../gateway/dialects/conversation.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { delta, done, frame } from '../support/openai-streams.ts';
import { readPieces } from '../support/read-pieces.ts';
import { chatDecoder, makeConversation, target } from '../support/upstream-call.ts';

type Piece = Record<string, unknown>;

const calls = (...pieces: readonly Piece[]): Piece => delta({ tool_calls: pieces });
const fn = (index: number | undefined, id: string | undefined, name?: string, args?: string): Piece => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
});

/** Each part in a few words. */
function read(events: readonly unknown[], more: Partial<Conversation> = {}) {
  const text = [...events, delta({}, 'tool_calls')].map(frame).join('') + done;
  const { out, facts } = readPieces(chatDecoder(1, more), [Buffer.from(text)]);
  const choice = gatherChoice(out.flat(), 0);
  const parts = choice.parts.map((part) =>
    part.type === 'tool-call' ? `${part.id}:${part.name}(${part.input})` : 'text' in part ? part.text : '',
  );
  return { parts, finish: choice.finish, facts };
}

describe('a stream of tool calls', () => {
  test.each<[string, unknown[], string[]]>([
    [
      'in pieces',
      [
        calls(fn(0, 'a', 'f', '')),
        calls(fn(0, undefined, undefined, '{"x":')),
        calls(fn(0, undefined, undefined, '1}')),
      ],
      ['a:f({"x":1})'],
    ],
    [
      'whole in one chunk',
      [calls(fn(0, 'a', 'f', '{}'), fn(1, 'b', 'g', '{"y":2}'))],
      ['a:f({})', 'b:g({"y":2})'],
    ],
    [
      'with id and name again on every piece',
      [calls(fn(0, 'a', 'f', '{"x":')), calls(fn(0, 'a', 'f', '1}'))],
      ['a:f({"x":1})'],
    ],
    [
      'with another id on the same index, which is another call',
      [calls(fn(0, 'a', 'f', '{"x":1}')), calls(fn(0, 'b', 'f', '{"x":2}'))],
      ['a:f({"x":1})', 'b:f({"x":2})'],
    ],
    [
      'with another name and no id on the same index, which is another call',
      [calls(fn(0, '', 'f', '{"x":1}')), calls(fn(0, '', 'g', '{"x":')), calls(fn(0, '', '', '2}'))],
      [':f({"x":1})', ':g({"x":2})'],
    ],
    [
      'with a name twice in one chunk and no id, which are two calls',
      [calls(fn(0, '', 'f', '{"x":1}'), fn(0, '', 'f', '{"x":2}'))],
      [':f({"x":1})', ':f({"x":2})'],
    ],
    [
      'without id, with its name on every piece',
      [calls(fn(0, undefined, 'f', '{"x":')), calls(fn(0, undefined, 'f', '1}'))],
      [':f({"x":1})'],
    ],
    [
      'without index, distinguished by id',
      [
        calls(fn(undefined, 'a', 'f', '{')),
        calls(fn(undefined, 'b', 'g', '{"y"')),
        calls(fn(undefined, 'a', undefined, '}')),
        calls(fn(undefined, 'b', undefined, ':1}')),
      ],
      ['a:f({})', 'b:g({"y":1})'],
    ],
    [
      'without index and id, each name beginning a call',
      [
        calls(fn(undefined, undefined, 'f', '{')),
        calls(fn(undefined, undefined, undefined, '}')),
        calls(fn(undefined, undefined, 'g', '{}')),
      ],
      [':f({})', ':g({})'],
    ],
    [
      'with a name that comes late',
      [calls(fn(0, 'a', undefined, '{"x"')), calls(fn(0, undefined, 'f', ':1}'))],
      ['a:f({"x":1})'],
    ],
    ['with no name at all, which cannot be made', [calls(fn(0, 'a', undefined, '{}'))], []],
    [
      'that interleave',
      [
        calls(fn(0, 'a', 'f', '{"x"')),
        calls(fn(1, 'b', 'g', '{"y"')),
        calls(fn(0, undefined, undefined, ':1}')),
        calls(fn(1, undefined, undefined, ':2}')),
      ],
      ['a:f({"x":1})', 'b:g({"y":2})'],
    ],
    [
      'with arguments as an object',
      [calls({ index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } })],
      ['a:f({"x":1})'],
    ],
    ['41: without arguments', [calls(fn(0, 'a', 'f', ''))], ['a:f({})']],
    [
      'that is a custom one',
      [calls({ index: 0, id: 'a', type: 'custom', custom: { name: 'c', input: 'hi' } })],
      ['a:c(hi)'],
    ],
    [
      'in the old form',
      [
        delta({ function_call: { name: 'f', arguments: '{"x":' } }),
        delta({ function_call: { arguments: '1}' } }),
      ],
      [':f({"x":1})'],
    ],
    ['of odd values', [delta({ tool_calls: [null, 7, 'x', {}] }), delta({ tool_calls: 'x' })], []],
    [
      'with text between them',
      [calls(fn(0, 'a', 'f', '{}')), delta({ content: 'then' }), calls(fn(1, 'b', 'g', '{}'))],
      ['a:f({})', 'then', 'b:g({})'],
    ],
  ])('%s', (_, events, wanted) => {
    expect(read(events).parts).toEqual(wanted);
  });

  test('1: content beside an empty list of calls is text', () => {
    const { parts, finish } = read([delta({ content: 'x', tool_calls: [] })]);
    expect([parts, finish]).toEqual([['x'], 'tool-calls']);
  });

  // Agent loops of some clients end where they read `stop`.
  test.each(['stop', 'eos', 'tool_calls', 'function_call'])(
    '54: with the finish reason %s ends in tool calls',
    (reason) => {
      const text = frame(calls(fn(0, 'a', 'f', '{}'))) + frame(delta({}, reason)) + done;
      const { out } = readPieces(chatDecoder(), [Buffer.from(text)]);
      expect(out.flat().at(-1)).toEqual({ type: 'choice-end', choice: 0, finish: 'tool-calls' });
    },
  );

  test('cut short by length stays cut short', () => {
    const text = frame(calls(fn(0, 'a', 'f', '{"x'))) + frame(delta({}, 'length')) + done;
    const { out } = readPieces(chatDecoder(), [Buffer.from(text)]);
    expect(out.flat().at(-1)).toEqual({ type: 'choice-end', choice: 0, finish: 'length' });
  });

  test('32, 43: names and wrappings come back as the client knows them', () => {
    const tools = [
      { kind: 'custom', name: 'apply.patch' },
      { kind: 'function', name: 'read', namespace: 'files' },
    ] as const;
    const { parts } = read(
      [
        calls(fn(0, 'a', wireNames(tools)[0], '{"input":"*** Begin"}')),
        calls(fn(1, 'b', 'files__read', '{}')),
      ],
      { tools },
    );
    expect(parts).toEqual(['a:apply.patch(*** Begin)', 'b:read({})']);
  });
});

function wireNames(tools: Conversation['tools']): string[] {
  const { body } = openAiChat.asUpstream.open(makeConversation({ tools }), target);
  const sent: { tools: { function: { name: string } }[] } = JSON.parse(body.toString('utf8'));
  return sent.tools.map((tool) => tool.function.name);
}

describe('a plain answer', () => {
  const decode = (message: unknown, more: Record<string, unknown> = {}) => {
    const body = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, ...more }] }));
    const decoded = openAiChat.asUpstream.open(makeConversation(), target).decodeAnswer(body);
    if (!decoded.ok) throw new Error('refused');
    return decoded.answer.choices[0];
  };

  test('has its calls after its text', () => {
    const tool_calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '' } },
      { type: 'function', function: { name: 'g', arguments: '{"y":1}' } },
    ];
    expect(decode({ content: 'so', tool_calls }, { finish_reason: 'stop' })).toMatchObject({
      parts: [
        { type: 'text', text: 'so' },
        { type: 'tool-call', id: 'a', name: 'f', input: '{}' },
        { type: 'tool-call', id: '', name: 'g', input: '{"y":1}' },
      ],
      finish: 'tool-calls',
    });
  });

  test.each([
    ['equal ids, distinguished', { id: 'a' }, ['a', 'a_2']],
    ['empty ids', { id: '' }, ['', '']],
    ['no ids and the same index', { index: 0 }, ['', '']],
    ['all of that', { id: 'a', index: 0 }, ['a', 'a_2']],
  ])('has one call an entry, also with %s', (_, more, ids) => {
    const tool_calls = ['{"x":1}', '{"x":2}'].map((input) => ({
      ...more,
      function: { name: 'f', arguments: input },
    }));
    expect(decode({ content: null, tool_calls })?.parts).toEqual(
      ids.map((id, at) => ({ type: 'tool-call', id, name: 'f', kind: 'function', input: `{"x":${at + 1}}` })),
    );
  });

  test('keeps the log probabilities of its text', () => {
    const content = [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }];
    expect(decode({ content: 'a' }, { logprobs: { content, refusal: null } })?.logprobs).toEqual(content);
  });

  test('leaves out audio and annotations', () => {
    expect(decode({ content: 'a', audio: { id: 'x' }, annotations: [{}] })?.parts).toEqual([
      { type: 'text', text: 'a' },
    ]);
  });
});

describe('thinking', () => {
  const parts = (...deltas: readonly unknown[]) => {
    const text = deltas.map((value) => frame(delta(value))).join('') + frame(delta({}, 'stop')) + done;
    return gatherChoice(readPieces(chatDecoder(), [Buffer.from(text)]).out.flat(), 0).parts;
  };
  const thought = (text: string, value?: unknown) => ({
    type: 'thinking',
    text,
    ...(value === undefined ? {} : { opaque: { origin: 'here', state: { kind: 'details', value } } }),
  });
  const signed = { type: 'reasoning.text', index: 0, text: 'hm', signature: 's' };

  test.each<[string, unknown[], unknown[]]>([
    ['2: as reasoning_content', [{ reasoning_content: 'hm' }], [thought('hm')]],
    ['as reasoning', [{ reasoning: 'hm' }], [thought('hm')]],
    ['in two spellings at once, read once', [{ reasoning_content: 'hm', reasoning: 'hm' }], [thought('hm')]],
    ['as an object', [{ reasoning_content: { text: 'hm' } }], [thought('hm')]],
    [
      'in details that come in pieces',
      [
        { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'h' }] },
        { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'm', signature: null }] },
        { reasoning_details: [{ type: 'reasoning.text', index: 0, signature: 's' }] },
      ],
      [thought('hm', signed)],
    ],
    ['in details and in text', [{ reasoning: 'hm', reasoning_details: [signed] }], [thought('hm', signed)]],
    [
      'in details that are not shown, each its own',
      [
        {
          reasoning_details: [
            { type: 'reasoning.encrypted', data: 'x' },
            { type: 'reasoning.encrypted', data: 'y' },
          ],
        },
      ],
      [
        thought('', { type: 'reasoning.encrypted', data: 'x' }),
        thought('', { type: 'reasoning.encrypted', data: 'y' }),
      ],
    ],
    [
      'in blocks that come in pieces',
      [
        { thinking_blocks: [{ type: 'thinking', thinking: 'h' }] },
        { thinking_blocks: [{ type: 'thinking', thinking: 'm' }] },
        { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 's' }] },
      ],
      [thought('hm', { type: 'thinking', thinking: 'hm', signature: 's' })],
    ],
    ['in odd values', [{ reasoning_details: 7, thinking_blocks: [null], reasoning: [] }], []],
  ])('%s', (_, deltas, wanted) => {
    expect(parts(...deltas)).toEqual(wanted);
  });

  test('ends where the text begins', () => {
    expect(parts({ reasoning_content: 'hm', reasoning_details: [signed] }, { content: 'a' })).toEqual([
      thought('hm', signed),
      { type: 'text', text: 'a' },
    ]);
  });

  test('state that comes after the text is kept', () => {
    expect(parts({ content: 'a' }, { reasoning_details: [signed] })).toMatchObject([
      { type: 'text', text: 'a' },
      { type: 'thinking', opaque: { state: { value: signed } } },
    ]);
  });
});
