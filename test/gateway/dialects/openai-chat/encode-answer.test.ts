// What does a chat client get, plain and streamed, whatever the answer came from?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type {
  AnswerChoice,
  FinishReason,
  ModelAnswer,
  Part,
} from '../../../../gateway/dialects/conversation.ts';
import type { Translation } from '../../../../gateway/dialects/dialect.ts';
import { encodeChatFinish } from '../../../../gateway/dialects/openai/map-finish-reason.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import {
  chatChunkSchema,
  chatCompletionSchema,
  chunkOrderFaults,
} from '../../../support/openapi/chat-schema.ts';
import { runs } from '../../../support/runs.ts';
import { done, frame } from '../support/openai-streams.ts';
import { randomParts } from '../support/random-parts.ts';
import { readPieces } from '../support/read-pieces.ts';
import { bodyOf, chatDecoder } from '../support/upstream-call.ts';

const head = { id: 'x1', createdAt: 1_800_000_000, model: 'm', inputEstimate: 7 };
const text: Part = { type: 'text', text: 'a' };
const signature = { origin: 'o', state: { kind: 'signature', value: 's' } } as const;
const counted = { input: 7, cachedInput: 2, cacheWrite: 1, output: 3, reasoning: 1 };

function translate(request: Record<string, unknown> = {}): Translation {
  const body = bodyOf({ model: 'm', messages: [{ role: 'user', content: 'p' }], ...request });
  return openAiChat.translate(body, { upstreams: new Set(), header: () => undefined });
}

const functions = { functions: [{ name: 'f' }] };
const withUsage = { stream: true, stream_options: { include_usage: true } };

function plain(choices: readonly AnswerChoice[], request = {}, more: Partial<ModelAnswer> = {}) {
  const answer: ModelAnswer = { id: 'up', model: 'served', createdAt: 1, choices, ...more };
  return chatCompletionSchema.parse(
    JSON.parse(translate(request).encodeAnswer([answer], head).toString('utf8')),
  );
}

const message = (parts: readonly Part[], request = {}, more: Partial<AnswerChoice> = {}) =>
  plain([{ index: 0, parts, finish: 'stop', ...more }], request).choices[0]?.message;

/** The chunks of a stream, each of the published shape and in order. */
function streamed(parts: readonly StreamPart[], request: Record<string, unknown> = { stream: true }) {
  const encoder = translate(request).streamEncoder(head);
  const sent = encoder.open(0).encode(parts) + encoder.close();
  const chunks = sent
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => chatChunkSchema.parse(JSON.parse(event.slice('data: '.length))));
  expect(chunkOrderFaults(chunks)).toEqual([]);
  return chunks;
}

const deltas = (parts: readonly StreamPart[], request?: Record<string, unknown>) =>
  streamed([{ type: 'answer-start', id: 'up', model: 'served', createdAt: 1 }, ...parts], request).flatMap(
    ({ choices }) => choices.map(({ delta, finish_reason }) => finish_reason ?? delta),
  );

const whole = (part: Part, index = 0): StreamPart[] => {
  const { type } = part;
  if (type === 'tool-call') {
    const { input, ...partHead } = part;
    return [
      { type: 'part-start', choice: 0, index, head: partHead },
      { type: 'part-delta', choice: 0, index, text: input },
      { type: 'part-end', choice: 0, index },
    ];
  }
  if (type !== 'text' && type !== 'thinking' && type !== 'refusal')
    throw new Error(`${type} is not streamed`);
  return [
    { type: 'part-start', choice: 0, index, head: { type } },
    { type: 'part-delta', choice: 0, index, text: part.text },
    {
      type: 'part-end',
      choice: 0,
      index,
      ...(type === 'thinking' && part.opaque ? { opaque: part.opaque } : {}),
    },
  ];
};
const ends = (finish: FinishReason = 'stop'): StreamPart => ({ type: 'choice-end', choice: 0, finish });
const call = (id: string, kind: 'function' | 'custom' = 'function', input = '{}'): Part => ({
  type: 'tool-call',
  id,
  name: 'f',
  kind,
  input,
});

describe('a plain answer', () => {
  test('is a chat completion', () => {
    expect(
      plain([{ index: 0, parts: [text], finish: 'stop' }], {}, { usage: counted, serviceTier: 'flex' }),
    ).toEqual({
      id: 'chatcmpl-x1',
      object: 'chat.completion',
      created: 1_800_000_000,
      model: 'served',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'a', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 3,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
      service_tier: 'flex',
    });
  });

  test.each<[string, unknown, unknown]>([
    ['nothing', message([]), { content: '', refusal: null }],
    ['a refusal', message([{ type: 'refusal', text: 'no' }]), { content: null, refusal: 'no' }],
    [
      'a refusal that is only explained',
      message([], {}, { finish: 'content-filter', refusal: { category: null, explanation: 'no' } }),
      { content: null, refusal: 'no' },
    ],
    [
      'calls, those without an id with one of ours',
      message([call('c1'), call('')]),
      {
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'call_x1_0_1', type: 'function', function: { name: 'f', arguments: '{}' } },
        ],
      },
    ],
    [
      'a call with free text',
      message([call('c1', 'custom', 'hi')]),
      { tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'f', input: 'hi' } }] },
    ],
    [
      'the first call in the old form, where the request has it',
      message([call('c1'), call('c2')], functions, { finish: 'tool-calls' }),
      { content: null, function_call: { name: 'f', arguments: '{}' } },
    ],
    [
      '48: thinking as a plain string, with what its provider wants back',
      message([
        { type: 'thinking', text: 'one', opaque: signature },
        { type: 'thinking', text: 'two' },
        text,
      ]),
      {
        content: 'a',
        reasoning_content: 'one\n\ntwo',
        reasoning_details: [
          {
            type: 'reasoning.encrypted',
            data: packOpaque('o', signature.state),
            format: 'penstock',
            index: 0,
            text_length: 3,
          },
        ],
      },
    ],
  ])('shows %s', (_, found, wanted) => {
    expect(found).toMatchObject(wanted as Record<string, unknown>);
  });

  test('shows log probabilities', () => {
    const logprobs = [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }];
    expect(plain([{ index: 0, parts: [text], finish: 'stop', logprobs }]).choices[0]?.logprobs).toEqual({
      content: logprobs,
      refusal: null,
    });
  });
});

test.each<[FinishReason, string, string]>([
  ['stop', 'stop', 'stop'],
  ['stop-sequence', 'stop', 'stop'],
  ['length', 'length', 'length'],
  ['context-full', 'length', 'length'],
  ['tool-calls', 'tool_calls', 'function_call'],
  ['content-filter', 'content_filter', 'content_filter'],
  ['pause', 'stop', 'stop'],
])('the finish %s is reported as %s, and in the old form as %s', (finish, newer, older) => {
  expect(plain([{ index: 0, parts: [], finish }]).choices[0]?.finish_reason).toBe(newer);
  expect(plain([{ index: 0, parts: [], finish }], functions).choices[0]?.finish_reason).toBe(older);
  expect(deltas([ends(finish)]).at(-1)).toBe(newer);
  expect(deltas([ends(finish)], { stream: true, ...functions }).at(-1)).toBe(older);
});

describe('a stream', () => {
  const role = { role: 'assistant', content: '', refusal: null };

  test.each<[string, unknown, unknown]>([
    ['of nothing', deltas([ends()]), [role, 'stop']],
    ['55: of text begins with the role', deltas([...whole(text), ends()]), [role, { content: 'a' }, 'stop']],
    [
      'of a call alone has no text',
      deltas([...whole(call('c1', 'function', '{"x":1}')), ends('tool-calls')]),
      [
        { ...role, content: null },
        { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"x":1}' } }] },
        'tool_calls',
      ],
    ],
    [
      '5, 57: of calls with text between them numbers the calls',
      deltas([
        ...whole(call('')),
        ...whole(text, 1),
        ...whole(call('c2', 'custom', 'hi'), 2),
        ends('tool-calls'),
      ]),
      [
        { ...role, content: null },
        {
          tool_calls: [
            { index: 0, id: 'call_x1_0_0', type: 'function', function: { name: 'f', arguments: '' } },
          ],
        },
        { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
        { content: 'a' },
        { tool_calls: [{ index: 1, id: 'c2', type: 'custom', custom: { name: 'f', input: '' } }] },
        { tool_calls: [{ index: 1, custom: { input: 'hi' } }] },
        'tool_calls',
      ],
    ],
    [
      'of calls in the old form has the first one',
      deltas([...whole(call('c1')), ...whole(call('c2'), 1), ends('tool-calls')], {
        stream: true,
        ...functions,
      }),
      [
        { ...role, content: null },
        { function_call: { name: 'f', arguments: '' } },
        { function_call: { arguments: '{}' } },
        'function_call',
      ],
    ],
    [
      '48: of thinking has plain strings, and what is to be given back',
      deltas([
        ...whole({ type: 'thinking', text: 'one', opaque: signature }),
        ...whole({ type: 'thinking', text: 'two' }, 1),
        ...whole(text, 2),
        ends(),
      ]),
      [
        role,
        { reasoning_content: 'one' },
        {
          reasoning_details: [
            expect.objectContaining({ data: packOpaque('o', signature.state), text_length: 3 }),
          ],
        },
        { reasoning_content: '\n\ntwo' },
        { content: 'a' },
        'stop',
      ],
    ],
    [
      'of a refusal',
      deltas([...whole({ type: 'refusal', text: 'no' }), ends('content-filter')]),
      [role, { refusal: 'no' }, 'content_filter'],
    ],
    [
      'of a refusal that is only explained',
      deltas([{ ...ends('content-filter'), refusal: { category: null, explanation: 'no' } } as StreamPart]),
      [role, { refusal: 'no' }, 'content_filter'],
    ],
  ])('%s', (_, found, wanted) => {
    expect(found).toEqual(wanted);
  });

  test('has the same head in every chunk', () => {
    const chunks = streamed([
      { type: 'answer-start', id: 'up', model: 'served', createdAt: 1 },
      ...whole(text),
      ends(),
    ]);
    for (const { choices: _, ...rest } of chunks) {
      expect(rest).toEqual({
        id: 'chatcmpl-x1',
        object: 'chat.completion.chunk',
        created: 1_800_000_000,
        model: 'served',
      });
    }
  });

  test('has usage null in each chunk and one chunk of usage, only where it is asked for', () => {
    const parts: StreamPart[] = [...whole(text), ends(), { type: 'usage', usage: counted }];
    const chunks = streamed(parts, withUsage);
    expect(chunks.map(({ usage }) => usage?.total_tokens ?? null)).toEqual([null, null, null, 10]);
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(streamed(parts).some((chunk) => 'usage' in chunk)).toBe(false);
  });

  test('19: reports the latest usage once', () => {
    const parts: StreamPart[] = [
      { type: 'usage', usage: { ...counted, output: 0 } },
      ends(),
      { type: 'usage', usage: counted },
    ];
    expect(streamed(parts, withUsage).at(-1)?.usage).toMatchObject({
      prompt_tokens: 7,
      completion_tokens: 3,
    });
  });

  test('carries log probabilities with their text', () => {
    const logprobs = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }];
    const chunks = streamed([
      { type: 'part-start', choice: 0, index: 0, head: { type: 'text' } },
      { type: 'part-delta', choice: 0, index: 0, text: 'a', logprobs },
      ends(),
    ]);
    expect(chunks[1]?.choices[0]?.logprobs).toEqual({ content: logprobs, refusal: null });
  });

  test('56: ends with the terminal marker, wherever it came from', () => {
    expect(openAiChat.streamEnd).toBe('data: [DONE]\n\n');
  });

  test('23: passes a sign of life on as a comment', () => {
    const encoder = translate({ stream: true }).streamEncoder(head);
    expect(encoder.open(0).encode([{ type: 'ping' }])).toMatch(/^: .*\n\n$/);
  });

  test('that starts again forgets the earlier attempt', () => {
    const encoder = translate(withUsage).streamEncoder(head);
    encoder.open(0).encode([...whole(text), { type: 'usage', usage: { ...counted, input: 1000 } }]);
    const second = encoder.open(0);
    expect(second.encode(whole(text))).toContain('"role":"assistant"');
    expect(encoder.close()).toBe('');
  });

  test('of any parts has the published shape, and gives the same parts when it is read again', () => {
    fc.assert(
      fc.property(randomParts(3), (parts) => {
        const chunks = streamed(parts, withUsage);
        const choices = parts.filter(({ type }) => type === 'choice-end').length;
        const bytes = Buffer.from(chunks.map(frame).join('') + done);
        const again = readPieces(chatDecoder(choices, { tools: [{ kind: 'custom', name: 'free' }] }), [
          bytes,
        ]).out.flat();
        for (let choice = 0; choice < choices; choice++) {
          expect(said(again, choice)).toEqual(said(parts, choice));
        }
      }),
      { seed: 11, numRuns: runs(1000) },
    );
  });

  test('of any parts equals the plain answer', () => {
    fc.assert(
      fc.property(randomParts(2), (parts) => {
        const ended = parts.flatMap((part) => (part.type === 'choice-end' ? [part.choice] : []));
        const answer = plain(ended.map((choice) => gatherChoice(ofChoice(parts, choice), choice)));
        const chunks = streamed(parts);
        for (const { index, message: found, finish_reason } of answer.choices) {
          const pieces = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
          expect(pieces.at(-1)?.finish_reason).toBe(finish_reason);
          for (const name of ['content', 'refusal', 'reasoning_content'] as const) {
            const joined = pieces
              .map(({ delta }) => (name in delta ? Reflect.get(delta, name) : '') ?? '')
              .join('');
            expect(joined).toBe(found[name] ?? '');
          }
        }
      }),
      { seed: 12, numRuns: runs(500) },
    );
  });
});

test('thinking that a client echoes comes back with the state it was given with', () => {
  const thinking = fc.record({
    type: fc.constant('thinking'),
    text: fc.string({ unit: 'grapheme', maxLength: 8 }),
    opaque: fc.constantFrom(signature, { origin: 'o', state: { kind: 'redacted', value: 'r' } } as const),
  });
  fc.assert(
    fc.property(fc.array(thinking, { minLength: 1, maxLength: 4 }), (parts) => {
      const messages = [plain([{ index: 0, parts, finish: 'stop' }]).choices[0]?.message];
      const [conversation] = translate({ messages }).conversations;
      const found = conversation?.turns[0]?.parts.filter(({ type }) => type === 'thinking');
      expect(found).toEqual(parts);
    }),
    { seed: 14, numRuns: runs(500) },
  );
});

function ofChoice(parts: readonly StreamPart[], choice: number): StreamPart[] {
  return parts.filter((part) => 'choice' in part && part.choice === choice);
}

/** All that must survive: texts by kind, calls in order, and why it ended. */
function said(parts: readonly StreamPart[], choice: number): unknown {
  const { parts: all, finish, refusal } = gatherChoice(ofChoice(parts, choice), choice);
  const textOf = (type: Part['type']): string =>
    all
      .map((part) => (part.type === type && 'text' in part ? part.text : ''))
      .join('')
      .replaceAll('\n\n', '');
  const calls = all.flatMap((part) => (part.type === 'tool-call' ? [[part.name, part.input]] : []));
  const reason = encodeChatFinish(finish);
  return {
    text: textOf('text'),
    thinking: textOf('thinking'),
    refusal: textOf('refusal') || (refusal?.explanation ?? ''),
    calls,
    // Where tools were called, a plain stop is read as that.
    reason: calls.length > 0 && reason === 'stop' ? 'tool_calls' : reason,
  };
}
