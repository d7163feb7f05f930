// What does an answer of a Converse upstream say, plain and streamed?

import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../../gateway/dialects/conversation.ts';
import { decodePlain, decodeStream, delta, ending, event, origin, usage } from './talk.ts';

const look: Tool = { kind: 'function', name: 'look' };
const start = event('messageStart', { role: 'assistant' });
const stop = (contentBlockIndex: number): string => event('contentBlockStop', { contentBlockIndex });
const useStart = (contentBlockIndex: number, toolUseId: string): string =>
  event('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name: 'look' } } });
const text = start + delta(0, { text: 'Hel' }) + delta(0, { text: 'lo' }) + stop(0);
const plain = (content: readonly object[], more: object = {}): object => ({
  output: { message: { role: 'assistant', content } },
  stopReason: 'end_turn',
  usage,
  ...more,
});

test('cloud 25: a streamed text has no start of its block, and its usage comes after its end', () => {
  const { parts, facts } = decodeStream(text + ending('end_turn'));
  expect(parts).toEqual([
    { type: 'answer-start', id: '', model: '', createdAt: 0 },
    { type: 'part-start', choice: 0, index: 0, head: { type: 'text' } },
    { type: 'part-delta', choice: 0, index: 0, text: 'Hel' },
    { type: 'part-delta', choice: 0, index: 0, text: 'lo' },
    { type: 'part-end', choice: 0, index: 0 },
    { type: 'usage', usage: { input: 5, cachedInput: 0, cacheWrite: 0, output: 3, reasoning: 0 } },
    { type: 'choice-end', choice: 0, finish: 'stop' },
  ]);
  expect(facts).toMatchObject({ isComplete: true, fault: undefined });
});

test('cloud 28: a stream gives the same parts wherever its bytes are cut', () => {
  const whole =
    text +
    useStart(1, 't1') +
    delta(1, { toolUse: { input: '{"ü":' } }) +
    delta(1, { toolUse: { input: '1}' } }) +
    stop(1) +
    ending('tool_use');
  const wanted = decodeStream(whole, { tools: [look] }).parts;
  for (const pieceBytes of [1, 2, 3, 7, 50]) {
    expect(decodeStream(whole, { tools: [look] }, pieceBytes).parts).toEqual(wanted);
  }
});

test.each([
  ['no message stop', text],
  ['nothing but a start', start],
  ['nothing at all', ''],
])('cloud 27: a stream with %s is cut', (_, sent) => {
  expect(decodeStream(sent).facts).toMatchObject({ isComplete: false, fault: { kind: 'truncated' } });
});

test('a stream that ends after its message stop is complete without usage', () => {
  const { facts } = decodeStream(text + event('messageStop', { stopReason: 'end_turn' }));
  expect(facts).toMatchObject({ isComplete: true, usage: undefined });
});

test('cloud 26: an exception in the stream is the failure that it names', () => {
  const error = event('error', { error: { type: 'ThrottlingException', message: 'Slow down', status: 429 } });
  expect(decodeStream(start + error).facts.fault).toMatchObject({
    kind: 'error-event',
    error: { type: 'ThrottlingException', message: 'Slow down', status: 429 },
  });
});

test('a stream without a block and without an output token is not an answer', () => {
  const none = { inputTokens: 5, outputTokens: 0, totalTokens: 5 };
  const empty = start + event('messageStop', { stopReason: 'end_turn' }) + event('metadata', { usage: none });
  expect(decodeStream(empty).facts.fault).toMatchObject({ kind: 'malformed' });
  expect(decodePlain(plain([], { usage: none }))).toMatchObject({ ok: false, fault: { kind: 'malformed' } });
});

describe('a call', () => {
  test('without input has an empty object', () => {
    const { parts } = decodeStream(start + useStart(0, 't1') + stop(0) + ending('tool_use'), {
      tools: [look],
    });
    expect(parts.filter(({ type }) => type === 'part-delta')).toEqual([
      { type: 'part-delta', choice: 0, index: 0, text: '{}' },
    ]);
  });

  test('cloud 29: is the finish reason of its answer, whatever the upstream says', () => {
    const calls = start + useStart(0, 't1') + stop(0) + useStart(1, 't2') + stop(1) + ending('end_turn');
    const { parts } = decodeStream(calls, { tools: [look] });
    expect(parts.at(-1)).toEqual({ type: 'choice-end', choice: 0, finish: 'tool-calls' });
    const use = { toolUse: { toolUseId: 't1', name: 'look', input: { a: 1 } } };
    expect(decodePlain(plain([use]), { tools: [look] })).toMatchObject({
      answer: {
        choices: [
          { finish: 'tool-calls', parts: [{ type: 'tool-call', id: 't1', name: 'look', input: '{"a":1}' }] },
        ],
      },
    });
  });

  test('that is the answer by a schema is text, and other text is left out', () => {
    const output = { type: 'json-object' } as const;
    const use = event('contentBlockStart', {
      contentBlockIndex: 1,
      start: { toolUse: { toolUseId: 't', name: 'answer' } },
    });
    const sent = text + use + delta(1, { toolUse: { input: '{"a":1}' } }) + stop(1) + ending('tool_use');
    const { parts } = decodeStream(sent, { output });
    expect(parts.flatMap((part) => (part.type === 'part-delta' ? [part.text] : []))).toEqual(['{"a":1}']);
    expect(parts.at(-1)).toMatchObject({ finish: 'stop' });
    const block = { toolUse: { toolUseId: 't', name: 'answer', input: { a: 1 } } };
    expect(
      decodePlain(plain([{ text: 'Sure' }, block], { stopReason: 'tool_use' }), { output }),
    ).toMatchObject({
      answer: { choices: [{ finish: 'stop', parts: [{ type: 'text', text: '{"a":1}' }] }] },
    });
  });
});

describe('reasoning', () => {
  const opaque = { origin, state: { kind: 'signature', value: 'sig' } };

  test('has its signature at its end', () => {
    const thought =
      start +
      delta(0, { reasoningContent: { text: 'Hm' } }) +
      delta(0, { reasoningContent: { signature: 'sig' } }) +
      stop(0) +
      delta(1, { text: 'Hi' }) +
      stop(1) +
      ending('end_turn');
    expect(decodeStream(thought).parts.slice(1, 4)).toEqual([
      { type: 'part-start', choice: 0, index: 0, head: { type: 'thinking' } },
      { type: 'part-delta', choice: 0, index: 0, text: 'Hm' },
      { type: 'part-end', choice: 0, index: 0, opaque },
    ]);
    const block = { reasoningContent: { reasoningText: { text: 'Hm', signature: 'sig' } } };
    expect(decodePlain(plain([block, { text: 'Hi' }]))).toMatchObject({
      answer: {
        choices: [
          {
            parts: [
              { type: 'thinking', text: 'Hm', opaque },
              { type: 'text', text: 'Hi' },
            ],
          },
        ],
      },
    });
  });

  test('cloud 30: that is not shown is the bytes of all its pieces', () => {
    const pieces = ['ab', 'cde'].map((piece) =>
      delta(0, { reasoningContent: { redactedContent: Buffer.from(piece).toString('base64') } }),
    );
    const state = { kind: 'redacted', value: 'abcde' };
    const { parts } = decodeStream(
      start + pieces.join('') + stop(0) + delta(1, { text: 'Hi' }) + stop(1) + ending('end_turn'),
    );
    expect(parts[2]).toEqual({ type: 'part-end', choice: 0, index: 0, opaque: { origin, state } });
    const redactedContent = Buffer.from('abcde').toString('base64');
    expect(decodePlain(plain([{ reasoningContent: { redactedContent } }]))).toMatchObject({
      answer: { choices: [{ parts: [{ type: 'thinking', text: '', opaque: { state } }] }] },
    });
  });
});

test('cloud 24: usage counts cached tokens as input, and writes for an hour by themselves', () => {
  const counted = {
    inputTokens: 10,
    outputTokens: 7,
    totalTokens: 67,
    cacheReadInputTokens: 20,
    cacheWriteInputTokens: 30,
    cacheDetails: [
      { ttl: '1h', inputTokens: 12 },
      { ttl: '5m', inputTokens: 18 },
    ],
  };
  const wanted = { input: 60, cachedInput: 20, cacheWrite: 30, cacheWriteHour: 12, output: 7, reasoning: 0 };
  expect(decodePlain(plain([{ text: 'a' }], { usage: counted }))).toMatchObject({
    answer: { usage: wanted },
  });
  const sent =
    text + event('messageStop', { stopReason: 'end_turn' }) + event('metadata', { usage: counted });
  expect(decodeStream(sent).facts.usage).toEqual(wanted);
});

test.each([
  ['end_turn', { finish: 'stop' }],
  ['max_tokens', { finish: 'length' }],
  ['model_context_window_exceeded', { finish: 'context-full' }],
  [
    'guardrail_intervened',
    { finish: 'content-filter', refusal: { category: 'guardrail_intervened', explanation: null } },
  ],
  [
    'content_filtered',
    { finish: 'content-filter', refusal: { category: 'content_filtered', explanation: null } },
  ],
  ['a_new_reason', { finish: 'stop', isAssumed: true }],
])('the stop reason %s is %j', (stopReason, wanted) => {
  expect(decodeStream(text + ending(stopReason)).parts.at(-1)).toEqual({
    type: 'choice-end',
    choice: 0,
    ...wanted,
  });
  expect(decodePlain(plain([{ text: 'a' }], { stopReason }))).toMatchObject({
    answer: { choices: [wanted] },
  });
});

test('the stop sequence that was met is named', () => {
  const more = { additionalModelResponseFields: { stop_sequence: 'END' } };
  const wanted = { finish: 'stop-sequence', stopSequence: 'END' };
  expect(decodeStream(text + ending('stop_sequence', more)).parts.at(-1)).toMatchObject(wanted);
  expect(decodePlain(plain([{ text: 'a' }], { stopReason: 'stop_sequence', ...more }))).toMatchObject({
    answer: { choices: [wanted] },
  });
});

test.each(['malformed_model_output', 'malformed_tool_use'])(
  'an answer that ended with %s has failed',
  (stopReason) => {
    const fault = { kind: 'error-event', error: { status: 502, type: stopReason } };
    expect(decodeStream(text + ending(stopReason)).facts.fault).toMatchObject(fault);
    expect(decodePlain(plain([{ text: 'a' }], { stopReason }))).toMatchObject({ ok: false, fault });
  },
);

test('content without a place in other dialects is left out', () => {
  const odd =
    start +
    delta(0, { citation: { title: 't' } }) +
    stop(0) +
    delta(1, { text: 'a' }) +
    stop(1) +
    event('aNewEvent', {}) +
    ending('end_turn');
  const { parts } = decodeStream(odd);
  expect(parts.flatMap((part) => (part.type === 'part-delta' ? [part.text] : []))).toEqual(['a']);
});
