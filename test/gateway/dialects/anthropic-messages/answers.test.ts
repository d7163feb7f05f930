// What does a plain message of an upstream mean, and what does a messages client get for one?

import { describe, expect, test } from 'vitest';
import { encodeMessagesAnswer } from '../../../../gateway/dialects/anthropic-messages/encode-answer.ts';
import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';
import type { AnswerChoice, ModelAnswer, Part } from '../../../../gateway/dialects/conversation.ts';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import { call, signed, toolCall } from './talk.ts';

const decode = (answer: unknown) =>
  call().decodeAnswer(Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)));

const message = (content: readonly unknown[], more = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'served',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 2, output_tokens: 7 },
  ...more,
});

function partsOf(content: readonly unknown[]): readonly Part[] | undefined {
  const decoded = decode(message(content));
  return decoded.ok ? decoded.answer.choices[0]?.parts : undefined;
}

describe('an upstream answers', () => {
  test('with text', () => {
    expect(decode(message([{ type: 'text', text: 'a' }]))).toEqual({
      ok: true,
      answer: {
        id: 'msg_1',
        model: 'served',
        createdAt: 0,
        choices: [{ index: 0, parts: [{ type: 'text', text: 'a' }], finish: 'stop' }],
        usage: { input: 17, cachedInput: 5, cacheWrite: 2, output: 7, reasoning: 0 },
      },
    });
  });

  test.each<[string, unknown, readonly Part[]]>([
    ['thinking', { type: 'thinking', thinking: ' Hm\n', signature: 'sig' }, [signed(' Hm\n')]],
    [
      'thinking without a signature',
      { type: 'thinking', thinking: 'Hm' },
      [{ type: 'thinking', text: 'Hm' }],
    ],
    [
      'redacted thinking',
      { type: 'redacted_thinking', data: 'r' },
      [{ type: 'thinking', text: '', opaque: { origin: 'here', state: { kind: 'redacted', value: 'r' } } }],
    ],
    [
      'a call',
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
      [toolCall('toolu_1', '{"at":1}')],
    ],
    [
      '41: a call without arguments',
      { type: 'tool_use', id: 'toolu_1', name: 'look' },
      [toolCall('toolu_1')],
    ],
    ['what its own tools have found', { type: 'web_search_tool_result' }, []],
  ])('with %s', (_, block, parts) => {
    expect(partsOf([block])).toEqual(parts);
  });

  test('54: with a call, and the finish reason of a natural end', () => {
    const decoded = decode(message([{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }]));
    expect(decoded).toMatchObject({ answer: { choices: [{ finish: 'tool-calls' }] } });
  });

  test('with the stop sequence', () => {
    const decoded = decode(message([], { stop_reason: 'stop_sequence', stop_sequence: 'END' }));
    expect(decoded).toMatchObject({
      answer: { choices: [{ finish: 'stop-sequence', stopSequence: 'END' }] },
    });
  });

  test('with a refusal', () => {
    const details = { type: 'refusal', category: 'bio', explanation: null };
    const decoded = decode(message([], { stop_reason: 'refusal', stop_details: details }));
    expect(decoded).toMatchObject({
      answer: { choices: [{ finish: 'content-filter', refusal: { category: 'bio', explanation: null } }] },
    });
  });

  test.each<[string, unknown, string]>([
    ['what is no JSON', '<html>', 'malformed'],
    ['a list', [], 'malformed'],
    ['an object without content', {}, 'malformed'],
    [
      '12: an error of status 200',
      { type: 'error', error: { type: 'api_error', message: 'Oh' } },
      'error-event',
    ],
    [
      'a reason that means an error',
      message([{ type: 'text', text: 'a' }], { stop_reason: 'error' }),
      'error-event',
    ],
  ])('with %s, which counts as failed', (_, answer, kind) => {
    expect(decode(answer)).toMatchObject({ ok: false, fault: { kind } });
  });
});

describe('a client gets', () => {
  const encode = (choice: Partial<AnswerChoice>, more: Partial<ModelAnswer> = {}) => {
    const choices = [{ index: 0, parts: [], finish: 'stop', ...choice } as const];
    const answer = { id: 'x', model: 'served', createdAt: 1, choices, ...more };
    return JSON.parse(
      encodeMessagesAnswer([answer], { id: 'abc', createdAt: 1, model: 'm', inputEstimate: 7 }).toString(
        'utf8',
      ),
    );
  };

  test('a message', () => {
    const usage = { input: 17, cachedInput: 5, cacheWrite: 2, output: 7, reasoning: 3 };
    expect(encode({ parts: [{ type: 'text', text: 'a' }] }, { usage })).toEqual({
      id: 'msg_abc',
      type: 'message',
      role: 'assistant',
      model: 'served',
      content: [{ type: 'text', text: 'a', citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 5,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 3 },
      },
    });
  });

  const state = { kind: 'details', value: { data: 'd' } } as const;

  test.each<[string, Part, readonly unknown[]]>([
    [
      'thinking, with its state as the signature',
      { type: 'thinking', text: 'Hm', opaque: { origin: 'there', state } },
      [{ type: 'thinking', thinking: 'Hm', signature: packOpaque('there', state) }],
    ],
    [
      '47: thinking without state, with an empty signature',
      { type: 'thinking', text: 'Hm' },
      [{ type: 'thinking', thinking: 'Hm', signature: '' }],
    ],
    [
      'thinking that is not shown',
      { type: 'thinking', text: '', opaque: { origin: 'there', state } },
      [{ type: 'thinking', thinking: '', signature: packOpaque('there', state) }],
    ],
    [
      'redacted thinking',
      { type: 'thinking', text: '', opaque: { origin: 'there', state: { kind: 'redacted', value: 'r' } } },
      [{ type: 'redacted_thinking', data: packOpaque('there', { kind: 'redacted', value: 'r' }) }],
    ],
    ['nothing of thinking that is neither', { type: 'thinking', text: '' }, []],
    ['nothing of empty text', { type: 'text', text: '' }, []],
    ['a refusal as text', { type: 'refusal', text: 'No' }, [{ type: 'text', text: 'No', citations: null }]],
    [
      'a call',
      toolCall('call_1', '{"at":1}'),
      [{ type: 'tool_use', id: 'call_1', name: 'look', input: { at: 1 } }],
    ],
    [
      'a call without an id',
      toolCall('', ''),
      [{ type: 'tool_use', id: 'toolu_abc_0', name: 'look', input: {} }],
    ],
    [
      'a call whose arguments are no object, as they are',
      toolCall('call_1', '{"at'),
      [{ type: 'tool_use', id: 'call_1', name: 'look', input: { _raw: '{"at' } }],
    ],
  ])('%s', (_, part, content) => {
    expect(encode({ parts: [part] }).content).toEqual(content);
  });

  test('estimated numbers without any counts', () => {
    expect(encode({ parts: [{ type: 'text', text: 'a'.repeat(40) }] }).usage).toEqual({
      input_tokens: 7,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 10,
    });
  });
});

describe('an error of an upstream', () => {
  test.each<[string, string, unknown]>([
    [
      'in its own form',
      '{"type":"error","error":{"type":"rate_limit_error","message":"Slow"},"request_id":"r"}',
      { message: 'Slow', type: 'rate_limit_error', status: 429 },
    ],
    [
      'of an unknown type',
      '{"type":"error","error":{"type":"tomorrow","message":"Oh"}}',
      { message: 'Oh', type: 'tomorrow', status: null },
    ],
    ['26: as a text', '{"error":"Oh"}', { message: 'Oh' }],
    ['26: in a list, with a number', '[{"error":{"message":"Oh","code":503}}]', { code: '503', status: 503 }],
    ['26: that is no JSON', '<html>', { message: '' }],
  ])('%s is understood', (_, body, error) => {
    expect(anthropicMessages.readError(Buffer.from(body))).toMatchObject(error as object);
  });
});
