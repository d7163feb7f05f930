// What is a chat upstream sent for a conversation of any dialect?

import { describe, expect, test } from 'vitest';
import type { Conversation, Part, Turn } from '../../../../gateway/dialects/conversation.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { toolErrorMark } from '../../../../gateway/dialects/tools/tool-error.ts';
import { makeConversation, sentBody, target, tidyBody } from '../support/upstream-call.ts';

const text = (value: string): Part => ({ type: 'text', text: value });
const userTurn = (...parts: readonly Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: readonly Part[]): Turn => ({ role: 'assistant', parts });
const call = (id: string, name = 'f', input = '{}'): Part => ({
  type: 'tool-call',
  id,
  name,
  kind: 'function',
  input,
});
const result = (id: string, ...parts: readonly Part[]): Part => ({ type: 'tool-result', id, parts });
const image: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA' } };
const imageSent = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
const details = (value: unknown): Part => ({
  type: 'thinking',
  text: 'hm',
  opaque: { origin: 'here', state: { kind: 'details', value } },
});

const sent = (more: Partial<Conversation>) => tidyBody(openAiChat, makeConversation(more));
const messages = (...turns: readonly Turn[]) => sent({ turns }).messages;

describe('the messages', () => {
  test.each<[string, unknown, unknown]>([
    [
      '27: begin with one system message a block',
      sent({ system: [text('a'), text('b')] }).messages,
      [
        { role: 'system', content: 'a' },
        { role: 'system', content: 'b' },
        { role: 'user', content: 'p' },
      ],
    ],
    [
      'keep later system text where it is',
      messages(userTurn(text('a')), { role: 'system', parts: [text('s')] }, userTurn(text('b'))),
      [
        { role: 'user', content: 'a' },
        { role: 'system', content: 's' },
        { role: 'user', content: 'b' },
      ],
    ],
    [
      'keep several blocks of later system text apart',
      messages(userTurn(text('a')), { role: 'system', parts: [text('s'), text('t')] }),
      [
        { role: 'user', content: 'a' },
        { role: 'system', content: 's' },
        { role: 'system', content: 't' },
      ],
    ],
    [
      'keep several texts of the user apart',
      messages(userTurn(text('a'), text('b'))),
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    ],
    [
      'join the texts of the assistant as they were said',
      messages(userTurn(text('a')), assistant(text('wo'), text('rd')), userTurn(text('b'))),
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'word' },
        { role: 'user', content: 'b' },
      ],
    ],
    [
      'are a list of parts where there is more than text',
      messages(
        userTurn(
          text('a'),
          { ...image, detail: 'original' } as Part,
          { type: 'image', source: { kind: 'url', url: 'https://x.test/a' }, detail: 'low' },
          {
            type: 'file',
            source: { kind: 'base64', mediaType: 'application/pdf', data: 'BB' },
            filename: 'a.pdf',
          },
          { type: 'file', source: { kind: 'base64', mediaType: 'application/pdf', data: 'BB' } },
          { type: 'audio', data: 'CC', format: 'wav' },
        ),
      ),
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'high' } },
            { type: 'image_url', image_url: { url: 'https://x.test/a', detail: 'low' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BB' } },
            { type: 'file', file: { filename: 'document', file_data: 'data:application/pdf;base64,BB' } },
            { type: 'input_audio', input_audio: { data: 'CC', format: 'wav' } },
          ],
        },
      ],
    ],
    [
      'show a text document as text, its title in front',
      messages(
        userTurn({
          type: 'file',
          source: { kind: 'base64', mediaType: 'text/plain', data: Buffer.from('é').toString('base64') },
          filename: 'a.txt',
        }),
      ),
      [{ role: 'user', content: 'a.txt\né' }],
    ],
    [
      '40: have one assistant message for text and parallel calls, and one tool message a result',
      messages(
        userTurn(text('a')),
        assistant(text('so'), call('c1'), call('c2', 'g', '{"x":1}')),
        userTurn(result('c2', text('2')), result('c1', text('1'), text('one')), text('and?')),
      ),
      [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: 'so',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } },
            { id: 'c2', type: 'function', function: { name: 'g', arguments: '{"x":1}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: '1\none' },
        { role: 'tool', tool_call_id: 'c2', content: '2' },
        { role: 'user', content: 'and?' },
      ],
    ],
    [
      '44: show the images of results behind all of the results',
      messages(
        userTurn(text('a')),
        assistant(call('c1'), call('c2')),
        userTurn(result('c1', text('see'), image), result('c2', text('2')), text('b')),
      ),
      [
        { role: 'user', content: 'a' },
        expect.objectContaining({ role: 'assistant', content: null }),
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: 'see\n[An image or file, shown in the next user message.]',
        },
        { role: 'tool', tool_call_id: 'c2', content: '2' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '[From the tool results above, not from the user:]' },
            imageSent,
            { type: 'text', text: 'b' },
          ],
        },
      ],
    ],
    [
      'mark the result of a tool that failed',
      messages(
        userTurn(text('a')),
        assistant(call('c1')),
        userTurn({ type: 'tool-result', id: 'c1', parts: [text('no file')], isError: true }),
      ),
      [
        { role: 'user', content: 'a' },
        expect.objectContaining({ role: 'assistant' }),
        { role: 'tool', tool_call_id: 'c1', content: `${toolErrorMark}\nno file` },
      ],
    ],
    [
      '42: change ids that do not fit in the same way on both sides',
      messages(userTurn(text('a')), assistant(call('a.b|c')), userTurn(result('a.b|c', text('1')))),
      [
        { role: 'user', content: 'a' },
        expect.objectContaining({ tool_calls: [expect.objectContaining({ id: 'a_b_c' })] }),
        { role: 'tool', tool_call_id: 'a_b_c', content: '1' },
      ],
    ],
    [
      '49: give thinking back on turns with calls only',
      messages(
        userTurn(text('a')),
        assistant({ type: 'thinking', text: 'hm' }, text('b')),
        userTurn(text('c')),
        assistant({ type: 'thinking', text: 'hm' }, call('c1')),
        userTurn(result('c1', text('1'))),
      ),
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
        expect.objectContaining({ content: null, reasoning_content: 'hm' }),
        expect.objectContaining({ role: 'tool' }),
      ],
    ],
    [
      'give a provider its own details back as they were',
      messages(
        userTurn(text('a')),
        assistant(
          details({ type: 'reasoning.text', text: 'hm', signature: 's' }),
          details({ type: 'thinking' }),
          text('b'),
        ),
      ),
      [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: 'b',
          reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 's' }],
          thinking_blocks: [{ type: 'thinking' }],
        },
      ],
    ],
    [
      'leave out the state of other providers',
      messages(
        userTurn(text('a')),
        assistant(
          {
            type: 'thinking',
            text: 'hm',
            opaque: { origin: 'there', state: { kind: 'details', value: {} } },
          },
          text('b'),
        ),
      ),
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    ],
    [
      'have a refusal where it belongs',
      messages(userTurn(text('a')), assistant({ type: 'refusal', text: 'no' })),
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, refusal: 'no' },
      ],
    ],
    [
      '58: leave out an empty assistant turn',
      messages(userTurn(text('a')), assistant(text(' ')), userTurn(text('b'))),
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    ],
    ['of white space only stay', messages(userTurn(text('  '))), [{ role: 'user', content: '  ' }]],
  ])('%s', (_, found, wanted) => {
    expect(found).toEqual(wanted);
  });
});

describe('the tools', () => {
  const custom = {
    kind: 'custom',
    name: 'apply.patch',
    description: 'Patches.',
    grammar: { syntax: 'lark', definition: 'start: "x"' },
  } as const;
  const plain = { kind: 'function', name: 'f' } as const;

  test('32: a custom tool is a function of one text, and so are its calls', () => {
    const { tools, messages: all } = sent({
      tools: [custom],
      turns: [
        userTurn(text('a')),
        assistant({ type: 'tool-call', id: 'c1', name: 'apply.patch', kind: 'custom', input: 'say "x"' }),
      ],
    });
    expect(tools).toMatchObject([
      {
        type: 'function',
        function: {
          name: expect.stringMatching(/^apply_patch_[0-9a-f]{8}$/),
          description: 'Patches.\n\nThe input must match this lark grammar:\nstart: "x"',
          parameters: {
            type: 'object',
            properties: { input: { type: 'string' } },
            required: ['input'],
            additionalProperties: false,
          },
        },
      },
    ]);
    expect(all).toMatchObject([
      {},
      { tool_calls: [{ function: { arguments: '{"input":"say \\"x\\""}' } }] },
      { role: 'tool', content: `${toolErrorMark}\nno result` },
    ]);
  });

  test('31, 43: namespaces are joined to the name, and long names are shortened', () => {
    const long = 'n'.repeat(80);
    const { tools, tool_choice } = sent({
      tools: [
        { ...plain, namespace: 'files' },
        { ...plain, name: long },
      ],
      toolChoice: { type: 'tool', tool: { name: 'f', namespace: 'files' } },
    });
    expect(tools).toMatchObject([
      { function: { name: 'files__f' } },
      { function: { name: expect.stringMatching(/^n{55}_[0-9a-f]{8}$/) } },
    ]);
    expect(tool_choice).toEqual({ type: 'function', function: { name: 'files__f' } });
  });

  test('schemas lose two words only, and no property of that name', () => {
    const schema = {
      $schema: 'x',
      type: 'object',
      properties: { encrypted: { type: 'string', encrypted: true }, $schema: { enum: [{ $schema: 1 }] } },
      anyOf: [{ encrypted: true, minLength: 1 }],
    };
    const { tools } = sent({ tools: [{ ...plain, schema, isStrict: false }] });
    expect(tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'f',
          parameters: {
            type: 'object',
            properties: { encrypted: { type: 'string' }, $schema: { enum: [{ $schema: 1 }] } },
            anyOf: [{ minLength: 1 }],
          },
          strict: false,
        },
      },
    ]);
  });

  test('a function without arguments says so', () => {
    expect(sent({ tools: [plain] }).tools).toMatchObject([
      { function: { parameters: { type: 'object', properties: {} } } },
    ]);
  });

  test.each<[Conversation['toolChoice'], unknown]>([
    [{ type: 'none' }, 'none'],
    [{ type: 'auto' }, 'auto'],
    [{ type: 'required' }, 'required'],
    [
      { type: 'subset', mode: 'required', tools: [{ name: 'f' }] },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    ],
    [{ type: 'web-search' }, undefined],
  ])('the choice %j is %j', (toolChoice, wanted) => {
    expect(sent({ tools: [plain], ...(toolChoice ? { toolChoice } : {}) }).tool_choice).toEqual(wanted);
  });

  test('without tools there is no choice among them', () => {
    const body = sent({ toolChoice: { type: 'auto' }, mayCallInParallel: false });
    expect(Object.keys(body).sort()).toEqual(['messages', 'model']);
  });

  test('one call at a time', () => {
    expect(sent({ tools: [plain], mayCallInParallel: false }).parallel_tool_calls).toBe(false);
  });
});

describe('the settings', () => {
  test.each<[string, Partial<Conversation>, Record<string, unknown>]>([
    ['json', { output: { type: 'json-object' } }, { response_format: { type: 'json_object' } }],
    [
      '52: a schema without a name',
      { output: { type: 'json-schema', schema: { $schema: 'x', type: 'object' }, isStrict: true } },
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'response', schema: { type: 'object' }, strict: true },
        },
      },
    ],
    [
      '51: a tier of reasoning',
      { reasoning: { mode: 'adaptive', effort: 'xhigh' } },
      { reasoning_effort: 'xhigh' },
    ],
    ['a budget', { reasoning: { mode: 'budget', budgetTokens: 4000 } }, { reasoning_effort: 'medium' }],
    ['no reasoning', { reasoning: { mode: 'off' } }, { reasoning_effort: 'none' }],
    ['reasoning as the model likes', { reasoning: { mode: 'adaptive' } }, {}],
    ['a limit', { maxOutputTokens: 5 }, { max_tokens: 5 }],
    ['several answers', { choices: 2 }, { n: 2 }],
    ['log probabilities', { logprobs: { top: 0 } }, { logprobs: true }],
    ['alternatives', { logprobs: { top: 3 } }, { logprobs: true, top_logprobs: 3 }],
    ['an end user', { endUser: 'u' }, { user: 'u' }],
    [
      'an end user of a long name',
      { endUser: 'u'.repeat(65) },
      { user: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ],
    [
      'hints',
      { verbosity: 'low', serviceTier: 'flex', promptCacheKey: 'k' },
      { verbosity: 'low', service_tier: 'flex', prompt_cache_key: 'k' },
    ],
    ['what is stored', { store: true, metadata: { a: 'b' } }, { store: true, metadata: { a: 'b' } }],
    ['metadata of what is not stored', { store: false, metadata: { a: 'b' } }, {}],
    [
      'sampling, without what the dialect lacks',
      { sampling: { temperature: 0, topP: 0.5, topK: 4 } },
      { temperature: 0, top_p: 0.5 },
    ],
  ])('%s', (_, conversation, wanted) => {
    const { model: _model, messages: _messages, ...rest } = sent(conversation);
    expect(rest).toEqual(wanted);
  });

  test('the newer names are used where the target uses them', () => {
    const parameters = { max_completion_tokens: 9, safety_identifier: 'them', extra: 1 };
    const body = sentBody(openAiChat, makeConversation({ maxOutputTokens: 5, endUser: 'u' }), { parameters });
    expect(body).toMatchObject({ max_completion_tokens: 5, safety_identifier: 'u', extra: 1 });
    expect(body).not.toHaveProperty('user');
  });

  test('of more than four stop sequences four are sent, and the gateway cuts at all', () => {
    const stop = ['a', 'b', 'c', 'd', 'e'];
    const open = (stops: readonly string[]) =>
      openAiChat.asUpstream.open(makeConversation({ sampling: { stop: stops } }), target);
    expect(JSON.parse(open(stop).body.toString('utf8')).stop).toEqual(['a', 'b', 'c', 'd']);
    expect(open(stop).stopsLeft).toEqual(stop);
    expect(open(stop.slice(1)).stopsLeft).toBeUndefined();
  });
});
