// What is a responses upstream sent?

import { describe, expect, test } from 'vitest';
import type { Conversation, Part, Turn } from '../../../../gateway/dialects/conversation.ts';
import { responsesUpstream } from '../../../../gateway/dialects/openai-responses/upstream.ts';
import type { MarkedState } from '../../../../gateway/dialects/state/opaque.ts';
import { makeConversation, sentBody, target } from '../support/upstream-call.ts';
import { sentRequest } from './talk.ts';

const text = (said: string): Part => ({ type: 'text', text: said });
const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });
const call = (id: string, more: object = {}): Part => ({
  type: 'tool-call',
  id,
  name: 'f',
  kind: 'function',
  input: '{}',
  ...more,
});
const result = (id: string, ...parts: Part[]): Part => ({ type: 'tool-result', id, parts });
const image: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'aGk=' } };

test('the least there is: nothing is stored, nothing is asked for', () => {
  expect(sentRequest({})).toEqual({
    model: 'up',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'p' }] }],
    store: false,
  });
});

describe('turns', () => {
  test('29: leading system text is the instructions, later system text a developer item in its place', () => {
    const sent = sentRequest({
      system: [text('one'), text('two')],
      turns: [user(text('a')), { role: 'system', parts: [text('three')] }, user(text('b'))],
    });
    expect(sent).toMatchObject({
      instructions: 'one\n\ntwo',
      input: [{ role: 'user' }, { role: 'developer', content: [{ text: 'three' }] }, { role: 'user' }],
    });
  });

  test('calls and results are items of their own, in order, beside the messages', () => {
    const { input } = sentRequest({
      turns: [
        user(text('go')),
        assistant(
          text('I call'),
          call('call_1'),
          call('call_2', { kind: 'custom', input: 'raw', name: 'patch' }),
        ),
        user(result('call_1', text('a'), text('b')), result('call_2', text('done')), text('and?')),
      ],
    });
    expect(input).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'I call', annotations: [] }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: 'raw' },
      { type: 'function_call_output', call_id: 'call_1', output: 'a\nb' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'and?' }] },
    ]);
  });

  test('44: an image in the result of a tool stays in it', () => {
    const { input } = sentRequest({
      turns: [assistant(call('call_1')), user(result('call_1', text('see'), image))],
    });
    expect(input).toMatchObject([
      { type: 'function_call' },
      {
        type: 'function_call_output',
        output: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
        ],
      },
    ]);
  });

  test('a result that is an error says so in its first line', () => {
    const failed: Part = { type: 'tool-result', id: 'call_1', parts: [text('no disk')], isError: true };
    const { input } = sentRequest({ turns: [assistant(call('call_1')), user(failed)] });
    expect(input).toMatchObject([{}, { output: 'The tool failed:\nno disk' }]);
  });

  test('42: ids that do not fit are changed in pairs', () => {
    const id = `call.1|${'x'.repeat(80)}`;
    const { input } = sentRequest({ turns: [assistant(call(id)), user(result(id, text('a')))] });
    const [first, second] = Array.isArray(input) ? input : [];
    expect(first.call_id).toMatch(/^[\w-]{1,64}$/);
    expect(second.call_id).toBe(first.call_id);
  });

  test.each<[string, Part, unknown]>([
    [
      'an image with its detail',
      { type: 'image', source: { kind: 'url', url: 'https://a.b/c' }, detail: 'low' },
      { type: 'input_image', image_url: 'https://a.b/c', detail: 'low' },
    ],
    [
      'a PDF',
      {
        type: 'file',
        source: { kind: 'base64', mediaType: 'application/pdf', data: 'aGk=' },
        filename: 'a.pdf',
      },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
    ],
    [
      'a file by its address',
      { type: 'file', source: { kind: 'url', url: 'https://a.b/c' } },
      { type: 'input_file', file_url: 'https://a.b/c' },
    ],
    [
      'a text file',
      { type: 'file', source: { kind: 'base64', mediaType: 'text/plain', data: 'aGk=' }, filename: 'a.txt' },
      { type: 'input_text', text: 'a.txt\nhi' },
    ],
    [
      'audio',
      { type: 'audio', data: 'aGk=', format: 'wav' },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
    ],
  ])('%s', (_, part, expected) => {
    expect(sentRequest({ turns: [user(part)] }).input).toEqual([
      { type: 'message', role: 'user', content: [expected] },
    ]);
  });

  test('a refusal of the past stays one', () => {
    const { input } = sentRequest({ turns: [assistant({ type: 'refusal', text: 'no' })] });
    expect(input).toMatchObject([{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }]);
  });
});

describe('thinking', () => {
  const state = { kind: 'encrypted', value: 'enc', id: 'rs_1' } as const;
  const think = (opaque?: MarkedState): Part => ({
    type: 'thinking',
    text: 'hm',
    ...(opaque ? { opaque } : {}),
  });

  test("with this provider's own state goes back in front of its turn", () => {
    const sent = sentRequest({ turns: [assistant(think({ origin: 'here', state }), text('a'))] });
    expect(sent.input).toMatchObject([
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: 'enc',
      },
      { role: 'assistant' },
    ]);
    expect(sent.include).toEqual(['reasoning.encrypted_content']);
  });

  test('without content or state is left out', () => {
    const own = think({ origin: 'here', state });
    expect(sentRequest({ turns: [assistant(text('a'), own), user(text('b'))] }).input).toMatchObject([
      { role: 'assistant' },
      { role: 'user' },
    ]);
  });

  test.each<[string, MarkedState | undefined]>([
    ['without state', undefined],
    ['of another provider', { origin: 'there', state }],
    ['of no provider we know', { state }],
    ['with state of another dialect', { origin: 'here', state: { kind: 'signature', value: 's' } }],
  ])('45: %s is left out', (_, opaque) => {
    expect(sentRequest({ turns: [assistant(think(opaque), text('a'))] }).input).toMatchObject([
      { role: 'assistant' },
    ]);
  });
});

describe('tools', () => {
  const f = {
    kind: 'function',
    name: 'f',
    description: 'd',
    schema: { $schema: 'x', type: 'object' },
  } as const;

  test('functions are flat and not strict unless they are said to be', () => {
    const tools = [f, { kind: 'function', name: 'g', isStrict: true }] as const;
    expect(sentRequest({ tools }).tools).toEqual([
      {
        type: 'function',
        name: 'f',
        description: 'd',
        parameters: { type: 'object', properties: {} },
        strict: false,
      },
      { type: 'function', name: 'g', parameters: { type: 'object', properties: {} }, strict: true },
    ]);
  });

  test('custom tools, namespaces and web search are native', () => {
    const tools = [
      { kind: 'custom', name: 'patch', grammar: { syntax: 'lark', definition: 'x' } },
      { kind: 'function', name: 'wait', namespace: 'clock' },
    ] as const;
    expect(sentRequest({ tools, hasWebSearch: true }).tools).toMatchObject([
      { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'namespace', name: 'clock', tools: [{ type: 'function', name: 'wait' }] },
      { type: 'web_search' },
    ]);
  });

  test('43: names that do not fit are changed, and come back as they were', () => {
    const name = `a.b.${'x'.repeat(130)}`;
    const upstream = responsesUpstream.open(
      makeConversation({ tools: [{ kind: 'function', name }] }),
      target,
    );
    const [tool] = JSON.parse(upstream.body.toString('utf8')).tools;
    expect(tool.name).toMatch(/^[\w-]{1,128}$/);
    const item = { type: 'function_call', call_id: 'call_1', name: tool.name, arguments: '{}' };
    const answer = upstream.decodeAnswer(
      Buffer.from(JSON.stringify({ status: 'completed', output: [item] })),
    );
    expect(answer).toMatchObject({ answer: { choices: [{ finish: 'tool-calls', parts: [{ name }] }] } });
  });

  test.each<[NonNullable<Conversation['toolChoice']>, unknown]>([
    [{ type: 'none' }, 'none'],
    [{ type: 'auto' }, 'auto'],
    [{ type: 'required' }, 'required'],
    [
      { type: 'tool', tool: { name: 'f' } },
      { type: 'function', name: 'f' },
    ],
    [{ type: 'web-search' }, { type: 'web_search' }],
    [
      { type: 'subset', mode: 'required', tools: [{ name: 'f' }] },
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
    ],
  ])('the choice %j', (toolChoice, expected) => {
    expect(sentRequest({ tools: [f], toolChoice }).tool_choice).toEqual(expected);
  });

  test('a choice without tools is left out, and so is `parallel_tool_calls`', () => {
    const sent = sentRequest({ toolChoice: { type: 'required' }, mayCallInParallel: false });
    expect(sent).not.toHaveProperty('tool_choice');
    expect(sent).not.toHaveProperty('parallel_tool_calls');
    expect(sentRequest({ tools: [f], mayCallInParallel: false }).parallel_tool_calls).toBe(false);
  });
});

describe('settings', () => {
  test.each<[Partial<Conversation>, Record<string, unknown>]>([
    [{ maxOutputTokens: 5 }, { max_output_tokens: 16 }],
    [{ maxOutputTokens: 500 }, { max_output_tokens: 500 }],
    [{ sampling: { temperature: 0, topP: 0.5 } }, { temperature: 0, top_p: 0.5 }],
    [{ output: { type: 'json-object' } }, { text: { format: { type: 'json_object' } } }],
    [
      { output: { type: 'json-schema', schema: { type: 'object' }, isStrict: true }, verbosity: 'low' },
      {
        text: {
          format: { type: 'json_schema', name: 'response', schema: { type: 'object' }, strict: true },
          verbosity: 'low',
        },
      },
    ],
    [{ reasoning: { mode: 'off' } }, { reasoning: { effort: 'none' } }],
    [
      { reasoning: { mode: 'adaptive', summary: 'auto' } },
      { reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] },
    ],
    [{ reasoning: { mode: 'adaptive', effort: 'xhigh' } }, { reasoning: { effort: 'xhigh' } }],
    [{ reasoning: { mode: 'budget', budgetTokens: 1024 } }, { reasoning: { effort: 'low' } }],
    [{ reasoning: { mode: 'budget', budgetTokens: 8191 } }, { reasoning: { effort: 'medium' } }],
    [{ reasoning: { mode: 'budget', budgetTokens: 24_575 } }, { reasoning: { effort: 'high' } }],
    [{ reasoning: { mode: 'budget', budgetTokens: 24_576 } }, { reasoning: { effort: 'xhigh' } }],
    [
      { reasoning: { mode: 'budget', budgetTokens: 31_999 }, maxOutputTokens: 32_000 },
      { reasoning: { effort: 'high' } },
    ],
    [{ logprobs: { top: 3 } }, { include: ['message.output_text.logprobs'], top_logprobs: 3 }],
    [{ endUser: 'u' }, { safety_identifier: 'u' }],
    [
      { promptCacheKey: 'k', serviceTier: 'flex', metadata: { a: 'b' } },
      { prompt_cache_key: 'k', service_tier: 'flex', metadata: { a: 'b' } },
    ],
    [{ store: true }, { store: false }],
  ])('51, 52: %j', (conversation, expected) => {
    expect(sentRequest(conversation)).toMatchObject(expected);
  });

  test('long names of end users are hashed, so that they stay apart', () => {
    const nameOf = (endUser: string) => sentRequest({ endUser }).safety_identifier;
    expect(nameOf(`${'x'.repeat(64)}1`)).toMatch(/^[0-9a-f]{64}$/);
    expect(nameOf(`${'x'.repeat(64)}1`)).not.toBe(nameOf(`${'x'.repeat(64)}2`));
  });

  test('stop sequences are left to the gateway', () => {
    const conversation = makeConversation({ sampling: { stop: ['END'] } });
    expect(responsesUpstream.open(conversation, target).stopsLeft).toEqual(['END']);
    expect(responsesUpstream.open(makeConversation(), target)).not.toHaveProperty('stopsLeft');
  });

  test("the caller is before the target's parameters, and these before the defaults of a dialect", () => {
    const defaults = { maxOutputTokens: 16, temperature: 1, topP: 1 };
    const parameters = { temperature: 0.2, max_output_tokens: 99, store: true };
    const conversation = makeConversation({ defaults, maxOutputTokens: 50 });
    expect(
      sentBody({ asUpstream: responsesUpstream }, conversation, { parameters, isStream: true }),
    ).toMatchObject({
      temperature: 0.2,
      max_output_tokens: 50,
      top_p: 1,
      store: false,
      stream: true,
    });
  });
});
