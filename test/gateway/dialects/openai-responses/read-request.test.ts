// Which requests are refused at the door, and what does the gateway learn of the others?

import { describe, expect, test } from 'vitest';
import { readResponsesRequest } from '../../../../gateway/dialects/openai-responses/read-request.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { bodyOf } from '../support/upstream-call.ts';

const read = (members: object) => readResponsesRequest(bodyOf({ model: 'm', input: 'hello', ...members }));

function paramOf(members: object): string | undefined {
  try {
    read(members);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_parameter') return error.param;
    throw error;
  }
  return undefined;
}

test.each([
  ['model', { model: undefined }],
  ['model', { model: '' }],
  ['input', { input: undefined }],
  ['input', { input: [] }],
  ['input', { input: 5 }],
  ['input[0]', { input: ['hello'] }],
  ['input[0].type', { input: [{ type: 7 }] }],
  [
    'input[1].role',
    {
      input: [
        { role: 'user', content: 'a' },
        { role: 'robot', content: 'a' },
      ],
    },
  ],
  ['input[0].role', { input: [{ type: 'message', content: 'a' }] }],
  ['input[0].content', { input: [{ role: 'user' }] }],
  ['instructions', { instructions: ['a'] }],
  ['stream', { stream: 'yes' }],
  ['stream_options', { stream_options: { include_obfuscation: false } }],
  ['max_output_tokens', { max_output_tokens: 15 }],
  ['max_output_tokens', { max_output_tokens: 16.5 }],
  ['temperature', { temperature: 2.1 }],
  ['top_p', { top_p: 1.1 }],
  ['top_logprobs', { top_logprobs: 21 }],
  ['tools', { tools: {} }],
  ['tool_choice', { tool_choice: 1 }],
  ['parallel_tool_calls', { parallel_tool_calls: 'no' }],
  ['reasoning', { reasoning: 'high' }],
  ['text', { text: 'json' }],
  ['include', { include: 'all' }],
  ['store', { store: 0 }],
  ['metadata', { metadata: { a: 1 } }],
  ['safety_identifier', { safety_identifier: 'x'.repeat(65) }],
])('%s is refused by name: %j', (param, members) => {
  expect(paramOf(members)).toBe(param);
});

test.each([
  [{ max_output_tokens: 16 }],
  [{ max_output_tokens: null, temperature: null, tools: null, metadata: null, store: null }],
  [{ temperature: 2, top_p: 0, top_logprobs: 20 }],
  [{ input: [{ type: 'agent_message', anything: 1 }] }],
  [{ input: [], previous_response_id: 'resp_1' }],
  [{ input: undefined, prompt: { id: 'pmpt_1' } }],
  [{ client_metadata: { a: 'b' }, not_yet_invented: [1] }],
])('%j passes', (members) => {
  expect(paramOf(members)).toBeUndefined();
});

test('a long input is read only by the stage that parses it', () => {
  const input = [{ role: 'robot', content: 'x'.repeat(20_000) }];
  expect(paramOf({ input })).toBeUndefined();
});

test('usage is always wanted, and there is one choice', () => {
  expect(read({ stream: true })).toEqual({
    model: 'm',
    isStream: true,
    wantsUsage: true,
    choices: 1,
    storedState: undefined,
  });
});

describe('a reference to stored state', () => {
  test.each([
    ['previous_response_id', { previous_response_id: 'resp_1', conversation: 'conv_1' }],
    ['conversation', { conversation: { id: 'conv_1' }, background: true }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['background', { background: true }],
    ['input', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
    ['input', { input: [{ id: 'msg_1' }] }],
    [undefined, { background: false, previous_response_id: null }],
  ])('is reported by the name %s', (name, members) => {
    expect(read(members).storedState).toBe(name);
  });

  test.each([
    [true, { previous_response_id: 'resp_1' }],
    [true, { background: true, input: [{ id: 'msg_1' }] }],
    [undefined, { background: true }],
    [undefined, { input: [{ role: 'user', content: 'hi' }] }],
  ])('is input or not: %s', (hasStoredInput, members) => {
    expect(read(members).hasStoredInput).toBe(hasStoredInput);
  });
});
