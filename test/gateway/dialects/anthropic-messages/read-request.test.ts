// Which messages requests are taken, and what is said of the others?

import { describe, expect, test } from 'vitest';
import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';
import { readMessagesRequest } from '../../../../gateway/dialects/anthropic-messages/read-request.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { bodyOf, decodeRequest, question } from './talk.ts';

const valid = { model: 'm', max_tokens: 10, messages: [question] };

function paramOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return error.param;
    throw error;
  }
  return 'nothing was wrong';
}

test('the smallest request is taken', () => {
  expect(readMessagesRequest(bodyOf(valid))).toEqual({
    model: 'm',
    isStream: false,
    wantsUsage: true,
    choices: 1,
    outputTokensMax: 10,
  });
});

test.each([
  ['a stream', { stream: true }],
  ['a limit of zero, which only fills the prompt cache', { max_tokens: 0 }],
  ['sampling', { temperature: 0, top_p: 1, top_k: 0 }],
  ['more than four stop sequences', { stop_sequences: ['a', 'b', 'c', 'd', 'e'] }],
  ['members of versions to come', { tomorrow: { a: [1] } }],
  ['system text as blocks', { system: [{ type: 'text', text: 'x' }] }],
  ['system text as a string longer than is looked at', { system: 'x'.repeat(20_000) }],
  ['a system message without content', { messages: [question, { role: 'system', output_config: {} }] }],
  ['optional members that are null', { system: null, tools: null, thinking: null, metadata: null }],
])('%s is taken', (_, members) => {
  expect(readMessagesRequest(bodyOf({ ...valid, ...members })).model).toBe('m');
});

test.each<[string, Record<string, unknown>]>([
  ['model', { model: undefined }],
  ['model', { model: '' }],
  ['max_tokens', { max_tokens: undefined }],
  ['max_tokens', { max_tokens: -1 }],
  ['max_tokens', { max_tokens: 1.5 }],
  ['messages', { messages: undefined }],
  ['messages', { messages: [] }],
  ['messages', { messages: 'Hi' }],
  ['messages[1]', { messages: [question, 'Hi'] }],
  ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
  ['messages[0].role', { messages: [{ content: 'x' }] }],
  ['messages[0].content', { messages: [{ role: 'user' }] }],
  ['messages[0].content', { messages: [{ role: 'user', content: 3 }] }],
  ['system', { system: { type: 'text' } }],
  ['stream', { stream: 'yes' }],
  ['temperature', { temperature: 1.1 }],
  ['temperature', { temperature: -0.1 }],
  ['top_p', { top_p: 2 }],
  ['top_k', { top_k: -1 }],
  ['top_k', { top_k: 0.5 }],
  ['stop_sequences', { stop_sequences: 'x' }],
  ['stop_sequences[1]', { stop_sequences: ['x', ' \n'] }],
  ['stop_sequences[0]', { stop_sequences: [1] }],
  ['tools', { tools: {} }],
  ['tool_choice', { tool_choice: 'auto' }],
  ['thinking', { thinking: true }],
  ['output_config', { output_config: 'high' }],
  ['metadata', { metadata: 'me' }],
])('an error of %s is named, as of %j', (param, members) => {
  expect(paramOf(() => readMessagesRequest(bodyOf({ ...valid, ...members })))).toBe(param);
});

test.each<[string, Record<string, unknown>]>([
  ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'picture' }] }] }],
  ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ text: 'x' }] }] }],
  ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'tool_use' }] }] }],
  ['messages[0].content[0].type', { messages: [{ role: 'assistant', content: [{ type: 'tool_result' }] }] }],
  ['messages[0].content[1]', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, 'y'] }] }],
  ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
  [
    'messages[0].content[0].source.type',
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'path' } }] }] },
  ],
  [
    'messages[0].content[0].source.data',
    {
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png' } }] },
      ],
    },
  ],
  [
    'messages[0].content[0].input',
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: '{}' }] }] },
  ],
  [
    'messages[0].content[0].tool_use_id',
    { messages: [{ role: 'user', content: [{ type: 'tool_result', content: 'x' }] }] },
  ],
  [
    'messages[0].content[0].content[0].type',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'tool_use' }] }],
        },
      ],
    },
  ],
  ['system[0].type', { system: [{ type: 'image' }] }],
  ['system[0].cache_control', { system: [{ type: 'text', text: 'x', cache_control: 1 }] }],
  ['tools[0].input_schema', { tools: [{ name: 'a' }] }],
  ['tools[0].name', { tools: [{ name: 'a b', input_schema: {} }] }],
  ['tools[0].name', { tools: [{ input_schema: {} }] }],
  ['tools[0].strict', { tools: [{ name: 'a', input_schema: {}, strict: 'no' }] }],
  ['tool_choice.type', { tool_choice: { type: 'some' } }],
  ['tool_choice.name', { tool_choice: { type: 'tool', name: 'absent' } }],
  ['tool_choice', { tool_choice: { type: 'any' } }],
  ['thinking.type', { thinking: { type: 'deep' } }],
  ['thinking.budget_tokens', { thinking: { type: 'enabled' } }],
  ['thinking.budget_tokens', { thinking: { type: 'enabled', budget_tokens: 1023 } }],
  ['output_config.effort', { output_config: { effort: 3 } }],
  ['output_config.format.type', { output_config: { format: { type: 'json' } } }],
  ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
  ['metadata.user_id', { metadata: { user_id: 5 } }],
])('an error of %s is named where the request is translated, as of %j', (param, members) => {
  expect(paramOf(() => decodeRequest(members))).toBe(param);
});

describe('counting tokens', () => {
  test('needs no limit, and is never a stream', () => {
    const body = bodyOf({ model: 'm', messages: [question], stream: true });
    expect(readMessagesRequest(body, 'count')).toMatchObject({ model: 'm', isStream: false });
  });

  test('keeps the bounds of its members', () => {
    expect(paramOf(() => readMessagesRequest(bodyOf({ model: 'm' }), 'count'))).toBe('messages');
    expect(paramOf(() => readMessagesRequest(bodyOf({ model: 'm', messages: [], tools: 1 }), 'count'))).toBe(
      'tools',
    );
  });

  test('can be asked of a dialect that needs a translation', () => {
    const body = bodyOf({ model: 'm', messages: [question] });
    const context = { upstreams: new Set(['openai-responses'] as const), header: () => undefined };
    expect(anthropicMessages.translate(body, context).conversations[0]).not.toHaveProperty('maxOutputTokens');
  });
});
