// What is a messages upstream sent for a conversation?

import { describe, expect, test } from 'vitest';
import { traitsOf } from '../../../../gateway/dialects/anthropic/model-traits.ts';
import type { Conversation, Part, Tool } from '../../../../gateway/dialects/conversation.ts';
import { startCpuTimer } from '../../../support/cpu-timer.ts';
import { assistantTurn, encodeRequest, signed, systemTurn, toolCall, toolResult, userTurn } from './talk.ts';

const hint = { type: 'ephemeral', ttl: '1h' };
const look: Tool = { kind: 'function', name: 'look' };
const newest = { upstreamModel: 'claude-opus-5' };

test('a question alone needs only the model, a limit and the message', () => {
  expect(encodeRequest()).toEqual({
    model: 'claude-sonnet-4-5',
    max_tokens: 8192,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
});

test('a stream is asked for', () => {
  expect(encodeRequest({}, { isStream: true }).stream).toBe(true);
});

describe('system text', () => {
  test('28: leading system text goes to the member system, each part with its cache mark', () => {
    const { system, messages } = encodeRequest({
      system: [
        { type: 'text', text: 'One', cacheHint: hint },
        { type: 'text', text: 'Two' },
      ],
    });
    expect(system).toEqual([
      { type: 'text', text: 'One', cache_control: hint },
      { type: 'text', text: 'Two' },
    ]);
    expect(messages[0].role).toBe('user');
  });

  test('later system text stays in its place where the model takes it', () => {
    const turns = [userTurn('a'), systemTurn('Be brief'), assistantTurn('b'), userTurn('c')];
    expect(encodeRequest({ turns }, newest).messages[1]).toEqual({
      role: 'system',
      content: [{ type: 'text', text: 'Be brief' }],
    });
  });

  test('a hundred thousand later system texts are joined in a moment', () => {
    const turns = [userTurn('a'), ...Array.from({ length: 100_000 }, () => systemTurn('Be brief'))];
    const workedMs = startCpuTimer();
    expect(encodeRequest({ turns }).messages[0].content).toHaveLength(turns.length);
    // Hundreds of times what it takes, and less than copying them again for each.
    expect(workedMs()).toBeLessThan(10_000);
  });

  test('later system text is a reminder in the user turn beside it where the model does not take it', () => {
    const turns = [
      userTurn('a'),
      systemTurn({ type: 'text', text: 'Be brief', cacheHint: hint }),
      userTurn('c'),
    ];
    const reminder = '<system-reminder>\nBe brief\n</system-reminder>';
    expect(encodeRequest({ turns }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: reminder, cache_control: hint },
          { type: 'text', text: 'c' },
        ],
      },
    ]);
  });

  test.each([
    ['in front', [systemTurn('Be brief'), userTurn('a')]],
    ['after an answer', [userTurn('a'), assistantTurn('b'), systemTurn('Be brief')]],
  ])('system text %s is a reminder for every model', (_, turns) => {
    const roles = encodeRequest({ turns }, newest).messages.map(({ role }: { role: string }) => role);
    expect(roles).not.toContain('system');
  });

  test('a conversation of system text alone still has a message', () => {
    const { system, messages } = encodeRequest({ system: [{ type: 'text', text: 'Greet me' }], turns: [] });
    expect(system).toHaveLength(1);
    expect(messages).toHaveLength(1);
  });
});

describe('turns', () => {
  const blocksOf = (...parts: readonly (Part | string)[]) =>
    encodeRequest({ turns: [userTurn(...parts)] }).messages[0].content;

  test.each<[string, Part, unknown]>([
    ['text', { type: 'text', text: 'x', cacheHint: hint }, { type: 'text', text: 'x', cache_control: hint }],
    ['a refusal', { type: 'refusal', text: 'No' }, { type: 'text', text: 'No' }],
    [
      'an image',
      { type: 'image', source: { kind: 'base64', mediaType: 'image/webp', data: 'AA==' }, detail: 'low' },
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'AA==' } },
    ],
    [
      'an image by its address',
      { type: 'image', source: { kind: 'url', url: 'https://a' } },
      { type: 'image', source: { type: 'url', url: 'https://a' } },
    ],
    [
      'a PDF',
      {
        type: 'file',
        source: { kind: 'base64', mediaType: 'application/pdf', data: 'AA==' },
        filename: 'a.pdf',
      },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
        title: 'a.pdf',
      },
    ],
    [
      'a file by its address',
      { type: 'file', source: { kind: 'url', url: 'https://a' } },
      { type: 'document', source: { type: 'url', url: 'https://a' } },
    ],
    [
      'a text file',
      { type: 'file', source: { kind: 'base64', mediaType: 'text/plain', data: 'T25jZQ==' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Once' } },
    ],
  ])('%s', (_, part, block) => {
    expect(blocksOf(part)).toEqual([block]);
  });

  test.each<[string, Part]>([
    ['sound', { type: 'audio', data: 'AA==', format: 'wav' }],
    [
      'images of rare types',
      { type: 'image', source: { kind: 'base64', mediaType: 'image/bmp', data: 'A' } },
    ],
    ['files of other types', { type: 'file', source: { kind: 'base64', mediaType: 'a/b', data: 'A' } }],
  ])('%s are left out', (_, part) => {
    expect(blocksOf('x', part)).toEqual([{ type: 'text', text: 'x' }]);
  });

  test('39: parallel results are one user message, results first, in the order of the calls', () => {
    const turns = [
      userTurn('a'),
      assistantTurn(toolCall('c1', '{"at":1}'), toolCall('c2')),
      userTurn(toolResult('c2', 'two')),
      userTurn('and now?', toolResult('c1', 'one')),
    ];
    expect(encodeRequest({ turns, tools: [look] }).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'c1', name: 'look', input: { at: 1 } },
          { type: 'tool_use', id: 'c2', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
          { type: 'tool_result', tool_use_id: 'c2', content: 'two' },
          { type: 'text', text: 'and now?' },
        ],
      },
    ]);
  });

  test('41: a call without arguments has an empty object', () => {
    const turns = [userTurn('a'), assistantTurn(toolCall('c1', '')), userTurn(toolResult('c1', 'x'))];
    expect(encodeRequest({ turns, tools: [look] }).messages[1].content[0].input).toEqual({});
  });

  test('42: ids with dots and colons are changed on both sides alike', () => {
    const turns = [
      userTurn('a'),
      assistantTurn(toolCall('call:1.a|b'), toolCall('call_1_a_b')),
      userTurn(toolResult('call:1.a|b', 'x'), toolResult('call_1_a_b', 'y')),
    ];
    const [, { content: calls }, { content: results }] = encodeRequest({ turns, tools: [look] }).messages;
    const ids = calls.map(({ id }: { id: string }) => id);
    expect(results.map(({ tool_use_id }: { tool_use_id: string }) => tool_use_id)).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
  });

  test('44: an image in a tool result stays in it', () => {
    const image: Part = { type: 'image', source: { kind: 'url', url: 'https://a' } };
    const turns = [userTurn('a'), assistantTurn(toolCall('c1')), userTurn(toolResult('c1', 'x', image))];
    expect(encodeRequest({ turns, tools: [look] }).messages[2].content[0].content).toEqual([
      { type: 'text', text: 'x' },
      { type: 'image', source: { type: 'url', url: 'https://a' } },
    ]);
  });

  test('59: cache marks of results and tools are kept, and failures are said to be some', () => {
    const result: Part = {
      type: 'tool-result',
      id: 'c1',
      parts: [{ type: 'text', text: 'x' }],
      isError: true,
      cacheHint: hint,
    };
    const turns = [userTurn('a'), assistantTurn(toolCall('c1')), userTurn(result)];
    const { messages, tools } = encodeRequest({ turns, tools: [{ ...look, cacheHint: hint }] });
    expect(messages[2].content).toEqual([
      { type: 'tool_result', tool_use_id: 'c1', content: 'x', is_error: true, cache_control: hint },
    ]);
    expect(tools[0].cache_control).toEqual(hint);
  });

  test('58: an assistant turn with nothing to send is left out', () => {
    const turns = [userTurn('a'), assistantTurn({ type: 'thinking', text: 'Hm' }), userTurn('b')];
    expect(encodeRequest({ turns }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ]);
  });

  test('the beginning of an answer does not end in white space', () => {
    const { messages } = encodeRequest({ turns: [userTurn('a'), assistantTurn('It is \n')] });
    expect(messages[1].content).toEqual([{ type: 'text', text: 'It is' }]);
  });

  const goOn = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] };
  const said = (role: string, text: string) => ({ role, content: [{ type: 'text', text }] });

  test.each<[string, Conversation['turns'], unknown[]]>([
    [
      'greets first',
      [assistantTurn('Hello!'), userTurn('hi')],
      [goOn, said('assistant', 'Hello!'), said('user', 'hi')],
    ],
    [
      'was trimmed to its last turns',
      [assistantTurn('One'), userTurn('a'), assistantTurn('Two'), userTurn('b')],
      [goOn, said('assistant', 'One'), said('user', 'a'), said('assistant', 'Two'), said('user', 'b')],
    ],
    [
      'lost its first turn, which cannot be carried',
      [userTurn({ type: 'audio', data: 'AA==', format: 'wav' }), assistantTurn('I heard.'), userTurn('b')],
      [goOn, said('assistant', 'I heard.'), said('user', 'b')],
    ],
  ])('a conversation that %s begins with a short user message', (_, turns, messages) => {
    expect(encodeRequest({ turns }).messages).toEqual(messages);
  });

  test.each<[string, boolean]>([
    ['claude-opus-4-6', false],
    ['us.anthropic.claude-opus-4-8-v1:0', false],
    ['claude-sonnet-5', false],
    ['claude-next', false],
    ['claude-sonnet-4-5', true],
    ['claude-3-7-sonnet-20250219', true],
    ['glm-5', true],
  ])('a conversation that ends with the assistant ends so at %s: %s', (upstreamModel, isPrefill) => {
    const turns = [userTurn('go'), assistantTurn('Sure, ')];
    const { messages } = encodeRequest({ turns }, { upstreamModel });
    const before = [said('user', 'go'), said('assistant', isPrefill ? 'Sure,' : 'Sure, ')];
    expect(messages).toEqual(isPrefill ? before : [...before, goOn]);
  });

  test.each<[string, Partial<Conversation>]>([
    ['thinks', { reasoning: { mode: 'adaptive', effort: 'low' } }],
    ['answers by a schema', { output: { type: 'json-schema', schema: { type: 'object', properties: {} } } }],
  ])('a model that %s is not given the beginning of its answer', (_, change) => {
    const turns = [userTurn('go'), assistantTurn('Sure')];
    const roles = encodeRequest({ turns, ...change }).messages.map(({ role }: { role: string }) => role);
    expect(roles).toEqual(['user', 'assistant', 'user']);
  });

  test('45: thinking goes back, unchanged, only to the provider that signed it', () => {
    const turns = [
      userTurn('a'),
      assistantTurn(
        { type: 'thinking', text: 'unsigned' },
        signed('foreign', 'x', 'there'),
        signed(' mine\n', 'sig=='),
        { type: 'thinking', text: '', opaque: { origin: 'here', state: { kind: 'redacted', value: 'r' } } },
        { type: 'thinking', text: 'e', opaque: { origin: 'here', state: { kind: 'encrypted', value: 'e' } } },
        { type: 'thinking', text: 'n', opaque: { state: { kind: 'signature', value: 'n' } } },
        'b',
      ),
      userTurn('c'),
    ];
    expect(encodeRequest({ turns }).messages[1].content).toEqual([
      { type: 'thinking', thinking: ' mine\n', signature: 'sig==' },
      { type: 'redacted_thinking', data: 'r' },
      { type: 'text', text: 'b' },
    ]);
  });
});

describe('tools', () => {
  const schema = { type: 'object', properties: { at: { type: 'string', minLength: 1 } }, $schema: 'x' };

  test('a function keeps its schema unchanged', () => {
    const tools = [{ ...look, description: 'Looks', schema, isStrict: true }];
    expect(encodeRequest({ tools }).tools).toEqual([
      { name: 'look', description: 'Looks', input_schema: schema },
    ]);
  });

  test.each([
    ['absent', {}, { type: 'object', properties: {} }],
    ['null', { schema: null }, { type: 'object', properties: {} }],
    ['without a type', { schema: { properties: {} } }, { type: 'object', properties: {} }],
  ])('a schema that is %s becomes the schema of an object', (_, change, sent) => {
    expect(encodeRequest({ tools: [{ ...look, ...change }] }).tools[0].input_schema).toEqual(sent);
  });

  test('31: a tool in a namespace has a joined name', () => {
    const tools = [
      { ...look, namespace: 'maps' },
      { ...look, namespace: 'functions' },
    ];
    const names = encodeRequest({ tools }).tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['maps__look', 'look']);
  });

  test('32: a free-text tool gets one string', () => {
    const patch: Tool = {
      kind: 'custom',
      name: 'patch',
      grammar: { syntax: 'lark', definition: 'start: X' },
    };
    const turns = [
      userTurn('a'),
      assistantTurn({ type: 'tool-call', id: 'c1', name: 'patch', kind: 'custom', input: '*** Begin' }),
      userTurn(toolResult('c1', 'done')),
    ];
    const { tools, messages } = encodeRequest({ tools: [patch], turns });
    expect(tools[0].input_schema.required).toEqual(['input']);
    expect(tools[0].description).toContain('start: X');
    expect(messages[1].content[0].input).toEqual({ input: '*** Begin' });
  });

  test('calls in the history without tools get definitions, which the model may not call', () => {
    const turns = [
      userTurn('a'),
      assistantTurn(toolCall('c1'), toolCall('c2')),
      userTurn(toolResult('c1', 'x'), toolResult('c2', 'y')),
    ];
    expect(encodeRequest({ turns })).toMatchObject({
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'none' },
    });
  });

  test("the provider's own web search is offered and can be forced", () => {
    expect(encodeRequest({ hasWebSearch: true, toolChoice: { type: 'web-search' } })).toMatchObject({
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'tool', name: 'web_search' },
    });
  });

  test.each<[Partial<Conversation>, unknown]>([
    [{}, undefined],
    [{ toolChoice: { type: 'none' } }, { type: 'none' }],
    [{ toolChoice: { type: 'auto' } }, { type: 'auto' }],
    [{ toolChoice: { type: 'required' } }, { type: 'any' }],
    [{ toolChoice: { type: 'tool', tool: { name: 'look' } } }, { type: 'tool', name: 'look' }],
    [{ mayCallInParallel: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [{ mayCallInParallel: true }, undefined],
    [
      { mayCallInParallel: false, toolChoice: { type: 'required' } },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    [{ mayCallInParallel: false, toolChoice: { type: 'none' } }, { type: 'none' }],
  ])('%j is the choice %j', (change, choice) => {
    expect(encodeRequest({ tools: [look], ...change }).tool_choice).toEqual(choice);
  });

  test('of a subset only its tools are sent', () => {
    const subset = { type: 'subset', mode: 'required', tools: [{ name: 'hear' }] } as const;
    expect(encodeRequest({ tools: [look, { ...look, name: 'hear' }], toolChoice: subset })).toMatchObject({
      tools: [{ name: 'hear' }],
      tool_choice: { type: 'any' },
    });
  });

  test('without tools there is nothing to choose', () => {
    const sent = encodeRequest({ toolChoice: { type: 'required' }, mayCallInParallel: false });
    expect(sent).not.toHaveProperty('tools');
    expect(sent).not.toHaveProperty('tool_choice');
  });
});

describe('the limit of tokens', () => {
  test.each<[string, number, Partial<Conversation>, Parameters<typeof encodeRequest>[1]]>([
    ["the caller's", 5, { maxOutputTokens: 5 }, { parameters: { max_tokens: 6 } }],
    ["else the route's", 6, {}, { parameters: { max_tokens: 6 }, maxOutputTokens: 7 }],
    [
      "else that of the client's dialect",
      16,
      { defaults: { maxOutputTokens: 16, temperature: 1, topP: 1 } },
      {},
    ],
    ['else what the model can give', 7, {}, { maxOutputTokens: 7 }],
    ['60: else a default', 8192, {}, {}],
    ['61: and never more than the model can give', 7, { maxOutputTokens: 9 }, { maxOutputTokens: 7 }],
  ])('is %s', (_, limit, change, target) => {
    expect(encodeRequest(change, target).max_tokens).toBe(limit);
  });
});

describe('thinking', () => {
  test.each<[string, unknown, unknown]>([
    ['none', { type: 'disabled' }, undefined],
    ['minimal', { type: 'adaptive', display: 'omitted' }, { effort: 'low' }],
    ['low', { type: 'adaptive', display: 'omitted' }, { effort: 'low' }],
    ['medium', { type: 'adaptive', display: 'omitted' }, { effort: 'medium' }],
    ['high', { type: 'adaptive', display: 'omitted' }, { effort: 'high' }],
    ['xhigh', { type: 'adaptive', display: 'omitted' }, { effort: 'xhigh' }],
    ['max', { type: 'adaptive', display: 'omitted' }, { effort: 'max' }],
    ['ultra', { type: 'adaptive', display: 'omitted' }, { effort: 'high' }],
  ])('51: effort %s of an adaptive model', (effort, thinking, config) => {
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', effort } }, newest);
    expect(sent.thinking).toEqual(thinking);
    expect(sent.output_config).toEqual(config);
  });

  test('an effort that the model does not know is lowered', () => {
    const target = { upstreamModel: 'claude-opus-4-6' };
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', effort: 'xhigh' } }, target);
    expect(sent.output_config).toEqual({ effort: 'high' });
  });

  test.each<[string, number | undefined]>([
    ['none', undefined],
    ['minimal', 1024],
    ['low', 1024],
    ['medium', 4096],
    ['high', 16_384],
    ['xhigh', 32_768],
    ['max', 63_999],
  ])('effort %s of a model that thinks on a budget', (effort, budget) => {
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', effort }, maxOutputTokens: 64_000 });
    expect(sent.thinking?.budget_tokens).toBe(budget);
    expect(sent).not.toHaveProperty('output_config');
    expect(sent.max_tokens).toBe(64_000);
  });

  test('50: the budget stays below the limit', () => {
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', effort: 'xhigh' }, maxOutputTokens: 4000 });
    expect(sent).toMatchObject({ max_tokens: 4000, thinking: { budget_tokens: 3999 } });
  });

  test('a limit that leaves no room for the smallest budget switches thinking off', () => {
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', effort: 'low' }, maxOutputTokens: 1024 });
    expect(sent).not.toHaveProperty('thinking');
  });

  test('an implicit limit is raised to hold the thinking budget', () => {
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', effort: 'xhigh' } });
    expect(sent.thinking.budget_tokens).toBe(32_768);
    expect(sent.max_tokens).toBeGreaterThan(32_768);
  });

  test('an implicit limit has room for the thinking of an adaptive model', () => {
    const reasoning = { mode: 'adaptive', effort: 'high' } as const;
    expect(encodeRequest({ reasoning }, newest).max_tokens).toBe(16_384 + 8192);
    expect(encodeRequest({ reasoning }, { ...newest, maxOutputTokens: 9000 }).max_tokens).toBe(9000);
    expect(encodeRequest({ reasoning, maxOutputTokens: 100 }, newest).max_tokens).toBe(100);
  });

  test('a limit is not raised above the model’s maximum', () => {
    const sent = encodeRequest(
      { reasoning: { mode: 'adaptive', effort: 'xhigh' } },
      { maxOutputTokens: 20_000 },
    );
    expect(sent).toMatchObject({ max_tokens: 20_000, thinking: { budget_tokens: 19_999 } });
  });

  test('thinking that shall be read is asked for as a summary', () => {
    const sent = encodeRequest({ reasoning: { mode: 'adaptive', summary: 'auto' } }, newest);
    expect(sent.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(sent).not.toHaveProperty('output_config');
  });

  test('models before 3.7 get no request to think', () => {
    const target = { upstreamModel: 'claude-3-5-sonnet-20241022' };
    expect(encodeRequest({ reasoning: { mode: 'adaptive', effort: 'high' } }, target)).not.toHaveProperty(
      'thinking',
    );
  });

  test.each(['claude-opus-5', 'claude-sonnet-4-5'])(
    'a forced call wins over thinking of %s',
    (upstreamModel) => {
      const sent = encodeRequest(
        { reasoning: { mode: 'adaptive', effort: 'high' }, tools: [look], toolChoice: { type: 'required' } },
        { upstreamModel },
      );
      expect(sent.tool_choice).toEqual({ type: 'any' });
      expect(sent.thinking?.type ?? 'disabled').toBe('disabled');
    },
  );

  describe('on a budget, in the middle of a tool loop', () => {
    const thinks = (turns: Conversation['turns'], upstreamModel = 'claude-sonnet-4-5') =>
      'thinking' in
      encodeRequest(
        { reasoning: { mode: 'adaptive', effort: 'low' }, tools: [look], turns },
        { upstreamModel },
      );
    const result = userTurn(toolResult('c1', 'x'));

    test('goes on after a call that this provider planned', () => {
      expect(thinks([userTurn('a'), assistantTurn(signed('Hm'), toolCall('c1')), result])).toBe(true);
    });

    test.each([
      ['another provider made the call', [signed('Hm', 's', 'there'), toolCall('c1')]],
      ['the call has no thinking', [toolCall('c1')]],
      ['the thinking is not in front', ['So:', signed('Hm'), toolCall('c1')]],
    ])('is switched off where %s', (_, parts) => {
      expect(thinks([userTurn('a'), assistantTurn(...parts), result])).toBe(false);
    });

    test('is switched off if only the last of two calls has thinking', () => {
      const turns = [
        userTurn('a'),
        assistantTurn(toolCall('c1')),
        result,
        assistantTurn(signed('Hm'), toolCall('c2')),
        userTurn(toolResult('c2', 'y')),
      ];
      expect(thinks(turns)).toBe(false);
    });

    test('is on again when the user speaks', () => {
      const turns = [
        userTurn('a'),
        assistantTurn(toolCall('c1')),
        result,
        assistantTurn('Seen'),
        userTurn('b'),
      ];
      expect(thinks(turns)).toBe(true);
    });

    test('does not matter to adaptive models', () => {
      expect(thinks([userTurn('a'), assistantTurn(toolCall('c1')), result], 'claude-opus-5')).toBe(true);
    });
  });

  describe("that is the route's own", () => {
    const parameters = { thinking: { type: 'enabled', budget_tokens: 5000 } };

    test('is sent where the caller says nothing', () => {
      const sent = encodeRequest({ maxOutputTokens: 9000, sampling: { temperature: 0.5 } }, { parameters });
      expect(sent.thinking).toEqual(parameters.thinking);
      expect(sent).not.toHaveProperty('temperature');
    });

    test('stays below the limit of the caller', () => {
      expect(encodeRequest({ maxOutputTokens: 3000 }, { parameters }).thinking.budget_tokens).toBe(2999);
    });

    test.each<[string, Partial<Conversation>]>([
      ['leaves no room', { maxOutputTokens: 100 }],
      ['forces a call', { tools: [look], toolChoice: { type: 'required' } }],
    ])('is switched off where the caller %s', (_, change) => {
      expect(encodeRequest(change, { parameters }).thinking).toEqual({ type: 'disabled' });
    });
  });
});

describe('the form of the answer', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    description: 'A person',
    properties: {
      age: { type: 'integer', minimum: 0, maximum: 150, description: 'In years' },
      minimum: { type: 'string', format: 'zip', enum: ['minLength'] },
      tags: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'object', properties: {} } },
      pair: { anyOf: [{ type: 'string', minLength: 2 }, { $ref: '#/$defs/pair' }] },
    },
    required: ['age'],
    $defs: { pair: { type: ['object', 'null'], properties: {} } },
  };

  test('52: a schema is enforced: closed, and without keywords that the grammar lacks', () => {
    const sent = encodeRequest({ output: { type: 'json-schema', name: 'person', schema, isStrict: true } });
    expect(sent.output_config).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          description: 'A person',
          properties: {
            age: { type: 'integer', description: 'In years\n\nminimum: 0, maximum: 150' },
            minimum: { type: 'string', enum: ['minLength'], description: 'format: "zip"' },
            tags: {
              type: 'array',
              minItems: 1,
              items: { type: 'object', properties: {}, additionalProperties: false },
              description: 'maxItems: 3',
            },
            pair: { anyOf: [{ type: 'string', description: 'minLength: 2' }, { $ref: '#/$defs/pair' }] },
          },
          required: ['age'],
          $defs: { pair: { type: ['object', 'null'], properties: {}, additionalProperties: false } },
          additionalProperties: false,
        },
      },
    });
  });

  test('`oneOf` becomes `anyOf`', () => {
    const either = { type: 'object', properties: { a: { oneOf: [{ type: 'string' }, { type: 'null' }] } } };
    const { output_config } = encodeRequest({ output: { type: 'json-schema', schema: either } });
    expect(output_config.format.schema.properties.a).toEqual({
      anyOf: [{ type: 'string' }, { type: 'null' }],
    });
  });

  test('a schema and an effort stand side by side', () => {
    const named = { type: 'object', properties: {} };
    const sent = encodeRequest(
      { output: { type: 'json-schema', schema: named }, reasoning: { mode: 'adaptive', effort: 'low' } },
      { ...newest, parameters: { output_config: { effort: 'max', task_budget: { total: 5 } } } },
    );
    expect(sent.output_config).toEqual({
      effort: 'low',
      task_budget: { total: 5 },
      format: { type: 'json_schema', schema: { ...named, additionalProperties: false } },
    });
  });
});

describe('sampling', () => {
  test.each<[string, Conversation['sampling'], Record<string, unknown>]>([
    ['as it is', { temperature: 0.3, topK: 5 }, { temperature: 0.3, top_k: 5 }],
    ['top-p alone', { topP: 0.9 }, { top_p: 0.9 }],
    ['temperature and not top-p', { temperature: 0.3, topP: 0.9 }, { temperature: 0.3 }],
    ['at most 1', { temperature: 1.7 }, { temperature: 1 }],
    [
      'stops that are not blank',
      { stop: ['a', ' ', 'b', '', 'c', 'd', 'e'] },
      { stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
    ],
    ['no empty list of stops', { stop: [' '] }, {}],
    [
      'nothing of what the dialect has no word for',
      { seed: 1, presencePenalty: 1, frequencyPenalty: 1, logitBias: { 1: 1 } },
      {},
    ],
  ])('%s', (_, sampling, members) => {
    const { model, max_tokens, messages, ...sent } = encodeRequest({ sampling });
    expect(sent).toEqual(members);
  });

  test('is left out while the model thinks', () => {
    const sampling = { temperature: 0.3, topP: 0.9, topK: 5 };
    const sent = encodeRequest({ sampling, reasoning: { mode: 'adaptive', effort: 'low' } });
    for (const name of ['temperature', 'top_p', 'top_k']) expect(sent).not.toHaveProperty(name);
  });

  test('is left out for models after 4.6, which refuse it', () => {
    expect(encodeRequest({ sampling: { temperature: 0.3 } }, newest)).not.toHaveProperty('temperature');
    expect(
      encodeRequest({ sampling: { temperature: 0.3 } }, { upstreamModel: 'claude-opus-4-6' }),
    ).toHaveProperty('temperature');
  });
});

describe('the rest', () => {
  test('the end user is named', () => {
    expect(encodeRequest({ endUser: 'me' }).metadata).toEqual({ user_id: 'me' });
  });

  test('an end user with a long name keeps a unique name', () => {
    const [a, b] = ['a', 'b'].map(
      (last) => encodeRequest({ endUser: 'x'.repeat(300) + last }).metadata.user_id,
    );
    expect(a.length).toBeLessThanOrEqual(256);
    expect(a).not.toBe(b);
  });

  test.each([
    ['auto', 'auto'],
    ['default', 'standard_only'],
    ['flex', undefined],
    ['priority', undefined],
  ])('the tier %s is %s', (serviceTier, sent) => {
    expect(encodeRequest({ serviceTier }).service_tier).toBe(sent);
  });

  test("the route's parameters stand where the caller gave none of that name", () => {
    const parameters = { top_k: 3, temperature: 0.1, speed: 'fast' };
    expect(encodeRequest({ sampling: { temperature: 0.9 } }, { parameters })).toMatchObject({
      top_k: 3,
      temperature: 0.9,
      speed: 'fast',
    });
  });
});

test.each<[string, ReturnType<typeof traitsOf>['thinks'], boolean]>([
  ['claude-3-opus-20240229', 'never', false],
  ['claude-3-5-haiku-latest', 'never', false],
  ['claude-3-7-sonnet-20250219', 'budget', false],
  ['claude-sonnet-4-20250514', 'budget', false],
  ['claude-sonnet-4@20250514', 'budget', false],
  ['us.anthropic.claude-opus-4-1-20250805-v1:0', 'budget', false],
  ['anthropic/claude-sonnet-4.5', 'budget', false],
  ['claude-haiku-4-5', 'budget', false],
  ['claude-opus-4-6', 'adaptive', false],
  ['claude-opus-4-8', 'adaptive', true],
  ['Claude-Sonnet-5', 'adaptive', true],
  ['claude-opus-5-5-20261001', 'adaptive', true],
  ['claude-next', 'adaptive', true],
  ['glm-5', 'budget', false],
])('%s thinks %s, and takes later system text: %s', (model, thinks, takesLaterSystem) => {
  expect(traitsOf(model)).toMatchObject({ thinks, takesLaterSystem });
});
