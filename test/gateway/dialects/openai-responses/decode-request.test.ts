// What does a responses request ask for, in our own form?

import { describe, expect, test } from 'vitest';
import type { Conversation, Part } from '../../../../gateway/dialects/conversation.ts';
import { normalise } from '../../../../gateway/dialects/normalise.ts';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { target } from '../support/upstream-call.ts';
import { asksOf, decodeRequest } from './talk.ts';

const message = (role: string, content: unknown) => ({ type: 'message', role, content });
const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'done' };
const text = (said: string): Part => ({ type: 'text', text: said });
const png = 'data:image/png;base64,aGk=';
const turnsOf = (...input: unknown[]) => decodeRequest({ input }).turns;

describe('input', () => {
  test('a string is one message of the user and asks for nothing', () => {
    expect(decodeRequest({ input: 'hello' })).toEqual({
      asks: [],
      system: [],
      turns: [{ role: 'user', parts: [text('hello')] }],
      tools: [],
      sampling: {},
      choices: 1,
      output: { type: 'text' },
    } satisfies Conversation);
  });

  test('28: instructions come first, then every leading system or developer item as a separate block', () => {
    const { system, turns } = decodeRequest({
      instructions: 'one',
      input: [
        message('developer', [{ type: 'input_text', text: 'two' }]),
        message('system', 'three'),
        message('user', 'hello'),
        message('developer', 'four'),
        message('user', 'again'),
      ],
    });
    expect(system).toEqual([text('one'), text('two'), text('three')]);
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system', 'user']);
  });

  test.each([
    ['a custom call', { ...call, type: 'custom_tool_call', input: 'raw' }, { kind: 'custom', input: 'raw' }],
    ['a call in a namespace', { ...call, namespace: 'ns' }, { kind: 'function', namespace: 'ns' }],
    ['41: a call without arguments', { ...call, arguments: '' }, { input: '{}' }],
    ['a call with malformed arguments', { ...call, arguments: '{"a' }, { input: '{"a' }],
  ])('%s', (_, item, expected) => {
    expect(turnsOf(item)[0]?.parts[0]).toMatchObject({
      type: 'tool-call',
      id: 'call_1',
      name: 'f',
      ...expected,
    });
  });

  test.each([
    ['text', 'done', [text('done')]],
    [
      'parts',
      [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image_url: png },
      ],
      [text('see'), { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'aGk=' } }],
    ],
  ])('44: the output of a tool as %s', (_, said, parts) => {
    for (const type of ['function_call_output', 'custom_tool_call_output']) {
      expect(turnsOf({ ...output, type, output: said })).toEqual([
        { role: 'user', parts: [{ type: 'tool-result', id: 'call_1', parts }] },
      ]);
    }
  });

  test('35: an assistant item without a type is a message', () => {
    expect(turnsOf({ role: 'assistant', content: 'hi' })).toEqual([
      { role: 'assistant', parts: [text('hi')] },
    ]);
  });

  test('40: reasoning, text and calls of one response become one assistant turn', () => {
    const conversation = decodeRequest({
      input: [
        message('user', 'go'),
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
        message('assistant', [{ type: 'output_text', text: 'I call' }]),
        call,
        { ...call, call_id: 'call_2' },
        { ...output, call_id: 'call_2' },
        output,
      ],
    });
    const { turns } = normalise(conversation, target);
    expect(
      turns.map(({ role, parts }) => [role, ...parts.map((part) => ('id' in part ? part.id : part.type))]),
    ).toEqual([
      ['user', 'text'],
      ['assistant', 'thinking', 'text', 'call_1', 'call_2'],
      ['user', 'call_1', 'call_2'],
    ]);
  });

  test.each([
    ['rs_1', 'native', { state: { kind: 'encrypted', value: 'native', id: 'rs_1' } }],
    [
      'rs_penstock_1',
      packOpaque('there', { kind: 'signature', value: 'sig' }),
      { origin: 'there', state: { kind: 'signature', value: 'sig' } },
    ],
  ])('the state of the reasoning %s is kept with where it came from', (id, sealed, opaque) => {
    const summary = [
      { type: 'summary_text', text: 'a' },
      { type: 'summary_text', text: 'b' },
    ];
    expect(
      turnsOf({ type: 'reasoning', id, summary, content: null, encrypted_content: sealed })[0]?.parts,
    ).toEqual([{ type: 'thinking', text: 'a\n\nb', opaque }]);
  });

  test.each([
    ['damaged state', { summary: [], encrypted_content: 'penstock.1.x' }],
    ['nothing shown and no state', { summary: [] }],
  ])('reasoning with %s says nothing', (_, item) => {
    expect(turnsOf({ type: 'reasoning', id: 'rs_1', ...item })[0]?.parts).toEqual([]);
  });

  test('a reference to reasoning that the gateway made is left out, because it is not stored', () => {
    const request = { input: [{ type: 'item_reference', id: 'rs_penstock_1' }, message('user', 'p')] };
    expect(asksOf(request)).not.toContain('stored-state at input[0]');
    expect(decodeRequest(request).turns).toHaveLength(1);
  });

  test.each([
    ['compaction at input[0]', { type: 'compaction', encrypted_content: 'x' }],
    ['compaction at input[0]', { type: 'compaction_trigger' }],
    ['stored-state at input[0]', { type: 'item_reference', id: 'msg_1' }],
    ['hosted-history at input[0]', { type: 'web_search_call', id: 'ws_1' }],
    ['tool-search at input[0]', { type: 'tool_search_call', arguments: {} }],
    ['hosted-history at input[0]', { type: 'agent_message', content: 'x' }],
    ['hosted-history at input[0]', { type: 'not_yet_invented' }],
  ])('34: %s is requested by an item that is not a turn', (ask, item) => {
    const request = { input: [item, message('user', 'p')] };
    expect(asksOf(request)).toContain(ask);
    expect(decodeRequest(request).turns).toHaveLength(1);
  });
});

describe('content', () => {
  const partOf = (part: object) => turnsOf(message('user', [part]))[0]?.parts[0];

  test.each([
    [
      { type: 'input_image', image_url: 'https://a.b/c.png', detail: 'high' },
      { source: { kind: 'url', url: 'https://a.b/c.png' }, detail: 'high' },
      'image-detail at input[0].content[0].detail',
    ],
    [
      { type: 'input_image', image_url: png },
      { source: { kind: 'base64', mediaType: 'image/png', data: 'aGk=' } },
      'image at input[0].content[0]',
    ],
    [
      { type: 'input_image', image_url: 'data:image/tiff;base64,aGk=' },
      { type: 'image' },
      'image-of-rare-type at input[0].content[0]',
    ],
    [
      { type: 'input_file', file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' },
      { type: 'file', filename: 'a.pdf' },
      'pdf at input[0].content[0]',
    ],
    [
      { type: 'input_file', file_data: 'aGk=', filename: 'a.txt' },
      { type: 'file', source: { kind: 'base64', mediaType: 'text/plain', data: 'aGk=' } },
      'text-document at input[0].content[0]',
    ],
    [
      { type: 'input_file', file_data: 'data:application/zip;base64,aGk=' },
      { type: 'file' },
      'file-of-other-type at input[0].content[0]',
    ],
    [
      { type: 'input_file', file_url: 'https://a.b/c.pdf' },
      { type: 'file', source: { kind: 'url', url: 'https://a.b/c.pdf' } },
      'file-url at input[0].content[0].file_url',
    ],
    [
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
      { type: 'audio', data: 'aGk=', format: 'wav' },
      'audio-in at input[0].content[0]',
    ],
    [
      { type: 'output_text', text: 'a', annotations: [{ type: 'url_citation' }] },
      { type: 'text', text: 'a' },
      'citations at input[0].content[0].annotations',
    ],
  ])('%j', (part, expected, ask) => {
    expect(partOf(part)).toMatchObject(expected);
    expect(asksOf({ input: [message('user', [part])] })).toContain(ask);
  });

  test('a file by its id is only listed as asked for', () => {
    const request = { input: [message('user', [{ type: 'input_image', file_id: 'file_1' }])] };
    expect(asksOf(request)).toEqual(['file-id at input[0].content[0].file_id']);
  });
});

describe('tools', () => {
  const f = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false };
  const patch = {
    type: 'custom',
    name: 'apply_patch',
    format: { type: 'grammar', syntax: 'lark', definition: 'x' },
  };

  test('30: tools of an additional_tools item count like tools of the top level', () => {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [patch, { ...f, description: 'other' }] },
      message('user', 'p'),
    ];
    expect(decodeRequest({ tools: [f], input }).tools).toEqual([
      { kind: 'function', name: 'f', schema: { type: 'object' }, isStrict: false },
      { kind: 'custom', name: 'apply_patch', grammar: { syntax: 'lark', definition: 'x' } },
    ]);
    expect(asksOf({ input })).toEqual(['custom-tool at input[0].tools[0]', 'tools at input[0].tools']);
  });

  test('31: tools of a namespace keep it', () => {
    const tools = [{ type: 'namespace', name: 'ns', description: 'd', tools: [f, patch] }];
    expect(decodeRequest({ tools }).tools.map(({ namespace, name }) => [namespace, name])).toEqual([
      ['ns', 'f'],
      ['ns', 'apply_patch'],
    ]);
    expect(asksOf({ tools })).toContain('tool-namespace at tools[0]');
  });

  test('names and namespaces have at most 128 characters; names in earlier calls may be longer', () => {
    const [name, namespace] = ['f'.repeat(128), 'n'.repeat(128)];
    const tools = [{ type: 'namespace', name: namespace, tools: [{ ...f, name }] }];
    const invented = 'f'.repeat(129);
    const request = { tools, input: [{ ...call, name: invented }] };
    expect(decodeRequest(request)).toMatchObject({
      tools: [{ name, namespace }],
      turns: [{ parts: [{ name: invented }] }],
    });
  });

  test.each([
    ['web-search at tools[0]', { type: 'web_search', external_web_access: true }],
    ['web-search at tools[0]', { type: 'web_search_preview' }],
    ['hosted-tool at tools[0]', { type: 'code_interpreter' }],
    ['hosted-tool at tools[0]', { type: 'not_yet_invented' }],
    ['tool-search at tools[0]', { type: 'tool_search', execution: 'client' }],
    ['tool-search at tools[0].defer_loading', { ...f, defer_loading: true }],
    ['strict-tool at tools[0].strict', { ...f, strict: true }],
    ['vendor-member at tools[0].output_schema', { ...f, output_schema: {} }],
  ])('33: %s', (ask, tool) => {
    expect(asksOf({ tools: [tool] })).toContain(ask);
  });

  test.each([
    ['none', { type: 'none' }, []],
    ['required', { type: 'required' }, []],
    ['auto', undefined, []],
    [{ type: 'function', name: 'f' }, { type: 'tool', tool: { name: 'f' } }, []],
    [
      { type: 'custom', name: 'apply_patch' },
      { type: 'tool', tool: { name: 'apply_patch', namespace: 'ns' } },
      [],
    ],
    [{ type: 'web_search' }, { type: 'web-search' }, ['forced-web-search at tool_choice']],
    [{ type: 'code_interpreter' }, undefined, ['forced-hosted-tool at tool_choice']],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      { type: 'subset', mode: 'auto', tools: [{ name: 'f' }] },
      ['tool-subset at tool_choice'],
    ],
  ])('the choice %j', (choice, expected, asks) => {
    const tools = [f, { type: 'namespace', name: 'ns', tools: [patch] }, { type: 'web_search' }];
    const request = { tools, tool_choice: choice };
    expect(decodeRequest(request).toolChoice).toEqual(expected);
    expect(asksOf(request)).toEqual(expect.arrayContaining(asks));
  });

  test('one call at a time is a wish only where there are tools', () => {
    expect(decodeRequest({ parallel_tool_calls: false }).asks).toEqual([]);
    expect(decodeRequest({ parallel_tool_calls: false, tools: [f] })).toMatchObject({
      mayCallInParallel: false,
    });
    expect(asksOf({ parallel_tool_calls: false, tools: [f] })).toContain(
      'parallel-calls-off at parallel_tool_calls',
    );
  });

  test.each([
    [[{ type: 'code_interpreter' }], ['hosted-tool at tools[0]', 'forced-hosted-tool at tool_choice']],
    [[{ type: 'web_search' }], ['web-search at tools[0]', 'forced-web-search at tool_choice']],
    [
      [f, { type: 'code_interpreter' }],
      ['hosted-tool at tools[1]', 'tools at tools'],
    ],
  ])('a call that must be made of one of %j', (tools, asks) => {
    expect(asksOf({ tools, tool_choice: 'required' })).toEqual(asks);
  });
});

describe('settings', () => {
  test.each<[object, Partial<Conversation>, readonly string[]]>([
    [{ max_output_tokens: 16 }, { maxOutputTokens: 16 }, ['max-tokens at max_output_tokens']],
    [{ temperature: 1, top_p: 1 }, { sampling: { temperature: 1, topP: 1 } }, []],
    [{ temperature: 1.5 }, {}, ['temperature at temperature', 'temperature-above-1 at temperature']],
    [
      { temperature: 0, top_p: 0.5 },
      {},
      ['temperature at temperature', 'top-p at top_p', 'top-p-beside-temperature at top_p'],
    ],
    [{ reasoning: { effort: 'none' } }, { reasoning: { mode: 'off' } }, []],
    [
      { reasoning: { effort: 'xhigh' } },
      { reasoning: { mode: 'adaptive', effort: 'xhigh' } },
      ['reasoning at reasoning'],
    ],
    [
      { reasoning: { summary: 'auto' } },
      { reasoning: { mode: 'adaptive', summary: 'auto' } },
      ['reasoning at reasoning', 'reasoning-summary at reasoning.summary'],
    ],
    [{ reasoning: { context: 'all_turns' } }, {}, ['vendor-member at reasoning.context']],
    [{ temperature: 1, top_p: 0.5 }, {}, ['top-p at top_p', 'top-p-beside-temperature at top_p']],
    [
      { text: { format: { type: 'json_object' } } },
      { output: { type: 'json-object' } },
      ['json-object at text.format'],
    ],
    [
      { text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: true } } },
      { output: { type: 'json-schema', name: 'n', schema: {}, isStrict: true } },
      ['json-schema at text.format'],
    ],
    [{ text: { verbosity: 'low' } }, { verbosity: 'low' }, ['verbosity at text.verbosity']],
    [{ include: ['reasoning.encrypted_content'] }, {}, []],
    [{ include: ['web_search_call.results'] }, {}, ['include at include']],
    [
      { include: ['message.output_text.logprobs'], top_logprobs: 6 },
      { logprobs: { top: 6 } },
      ['logprobs at include', 'many-logprobs at top_logprobs'],
    ],
    [{ store: false }, {}, []],
    [{ store: true }, { store: true }, ['store at store']],
    [{ metadata: { a: 'b' } }, { metadata: { a: 'b' } }, ['metadata at metadata']],
    [{ user: 'u', safety_identifier: 's' }, { endUser: 's' }, ['end-user at safety_identifier']],
    [{ user: 'u' }, { endUser: 'u' }, ['end-user at user']],
    [{ prompt_cache_key: 'k' }, { promptCacheKey: 'k' }, ['prompt-cache-key at prompt_cache_key']],
    [{ service_tier: 'auto' }, {}, []],
    [{ service_tier: 'flex' }, { serviceTier: 'flex' }, ['service-tier at service_tier']],
    [{ truncation: 'disabled', background: false }, {}, []],
    [{ truncation: 'auto' }, {}, ['context-management at truncation']],
    [{ context_management: [{ type: 'compaction' }] }, {}, ['context-management at context_management']],
    [{ previous_response_id: 'resp_1' }, {}, ['stored-state at previous_response_id']],
    [{ prompt: { id: 'x' } }, {}, ['stored-state at prompt']],
    [{ background: true }, {}, ['stored-state at background']],
    [{ max_tool_calls: 3 }, {}, ['vendor-member at max_tool_calls']],
    [{ client_metadata: { a: 'b' }, stream: true, stream_options: {} }, {}, []],
    [{ not_yet_invented: 1 }, {}, ['unknown-member at not_yet_invented']],
  ])('%j', (request, expected, asks) => {
    expect(decodeRequest(request)).toMatchObject(expected);
    expect([...asksOf(request)].sort()).toEqual([...asks].sort());
  });
});

test('input may have ten mebibytes of text, and not one character more', () => {
  const input = 'x'.repeat(10_485_760);
  expect(decodeRequest({ input }).turns).toHaveLength(1);
  expect(() => decodeRequest({ input: `${input}x` })).toThrow("'input' must have at most");
});

describe('values without a meaning are refused by their path', () => {
  const long = 'x'.repeat(20_000);
  test.each([
    ['input[0].role', { input: [{ role: 'robot', content: long }] }],
    ['input[0].content[0]', { input: [message('user', ['a'])] }],
    [
      'input[0].content[1].type',
      { input: [message('user', [{ type: 'input_text', text: '' }, { type: 'text' }])] },
    ],
    ['input[0].content[0].text', { input: [message('user', [{ type: 'input_text' }])] }],
    [
      'input[0].content[0].image_url',
      { input: [message('user', [{ type: 'input_image', image_url: 'file:///a' }])] },
    ],
    ['input[0].content[0]', { input: [message('system', [{ type: 'input_image', image_url: png }])] }],
    ['input[0].call_id', { input: [{ ...call, call_id: undefined }] }],
    ['input[0].arguments', { input: [{ ...call, arguments: {} }] }],
    ['input[0].output', { input: [{ ...output, output: 5 }] }],
    ['input[0].tools', { input: [{ type: 'additional_tools', tools: 'all' }] }],
    ['tools[0]', { tools: ['f'] }],
    ['tools[0].type', { tools: [{ name: 'f' }] }],
    ['tools[0].name', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['tools[0].parameters', { tools: [{ type: 'function', name: 'f', parameters: 'any' }] }],
    ['tools[0].description', { tools: [{ type: 'function', name: 'f', description: 5 }] }],
    ['tools[0].strict', { tools: [{ type: 'function', name: 'f', strict: 'yes' }] }],
    ['text.format.strict', { text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: 1 } } }],
    ['tools[0].tools', { tools: [{ type: 'namespace', name: 'n' }] }],
    ['tools[0].name', { tools: [{ type: 'function', name: 'f'.repeat(129) }] }],
    // Each of its tools has it in its name.
    ['tools[0].name', { tools: [{ type: 'namespace', name: 'n'.repeat(129), tools: [] }] }],
    [
      'input[0].tools[0].name',
      { input: [{ type: 'additional_tools', tools: [{ type: 'custom', name: 'c'.repeat(129) }] }] },
    ],
    ['tools[0].format.syntax', { tools: [{ type: 'custom', name: 'c', format: { type: 'grammar' } }] }],
    ['tool_choice', { tool_choice: 'maybe' }],
    ['tool_choice', { tool_choice: { type: 'function', name: 'f' } }],
    ['tool_choice.mode', { tool_choice: { type: 'allowed_tools', tools: [] } }],
    ['text.format.type', { text: { format: { type: 'xml' } } }],
    ['text.format.name', { text: { format: { type: 'json_schema', schema: {} } } }],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'n' } } }],
    ['reasoning.effort', { reasoning: { effort: 5 } }],
    ['truncation', { truncation: 'middle' }],
  ])('%s', (param, request) => {
    let refused: unknown;
    try {
      decodeRequest(request);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(GatewayError);
    expect(refused).toMatchObject({ code: 'invalid_parameter', param });
  });
});
