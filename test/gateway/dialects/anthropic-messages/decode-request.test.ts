// What does a messages request say, in our own form, and what does it ask of an upstream?

import { describe, expect, test } from 'vitest';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import { asksOf, decodeBlocks, decodeRequest, question } from './talk.ts';

const hint = { type: 'ephemeral' };

describe('roles', () => {
  test('system text is before the turns, each block a separate part', () => {
    const system = [
      { type: 'text', text: 'One', cache_control: hint },
      { type: 'text', text: 'Two' },
    ];
    expect(decodeRequest({ system }).system).toEqual([
      { type: 'text', text: 'One', cacheHint: hint },
      { type: 'text', text: 'Two' },
    ]);
    expect(asksOf({ system })).toEqual(['cache-hint system[0].cache_control', 'system-text system']);
  });

  test('a first system block with the vendor’s accounting is left out', () => {
    const billing = { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1' };
    expect(decodeRequest({ system: [billing, { type: 'text', text: 'One' }] }).system).toEqual([
      { type: 'text', text: 'One' },
    ]);
    expect(asksOf({ system: [billing] })).toEqual([]);
    expect(asksOf({ system: billing.text })).toEqual([]);
  });

  test('only the first line of a system text is for the vendor', () => {
    const line = 'x-anthropic-billing-header: cc_version=2.1';
    const kept = [{ type: 'text', text: 'You are\nhelpful.' }];
    expect(decodeRequest({ system: `${line}\nYou are\nhelpful.` }).system).toEqual(kept);
    const block = { type: 'text', text: `${line}\nYou are\nhelpful.` };
    expect(decodeRequest({ system: [block] }).system).toEqual(kept);
  });

  test('27: system messages are taken in their order, with their cache marks', () => {
    const messages = [
      question,
      { role: 'system', content: [{ type: 'text', text: 'Be brief', cache_control: hint }] },
      { role: 'assistant', content: 'Yes' },
      { role: 'system', content: 'Be long' },
    ];
    const { turns } = decodeRequest({ messages });
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system', 'assistant', 'system']);
    expect(turns[1]?.parts).toEqual([{ type: 'text', text: 'Be brief', cacheHint: hint }]);
    expect(asksOf({ messages })).toEqual([
      'cache-hint messages[1].content[0].cache_control',
      'later-system-text messages[1]',
      'later-system-text messages[3]',
      'several-turns messages',
    ]);
  });

  test('a system message in front of all others is system text', () => {
    const { system, turns } = decodeRequest({
      messages: [{ role: 'system', content: 'Be brief' }, question],
    });
    expect(system).toEqual([{ type: 'text', text: 'Be brief' }]);
    expect(turns).toHaveLength(1);
  });

  test('the effort of the last system message holds', () => {
    const messages = [question, { role: 'system', output_config: { effort: 'low' } }];
    expect(decodeRequest({ messages, output_config: { effort: 'max' } }).reasoning).toEqual({
      mode: 'adaptive',
      effort: 'low',
    });
  });
});

describe('blocks', () => {
  test.each<[string, string, unknown, unknown]>([
    ['a string', 'user', 'x', [{ type: 'text', text: 'x' }]],
    ['text', 'user', [{ type: 'text', text: 'x' }], [{ type: 'text', text: 'x' }]],
    ['empty text', 'user', [{ type: 'text', text: '' }], []],
    [
      'an image',
      'user',
      [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }],
      [{ type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA==' } }],
    ],
    [
      'an image by its address',
      'user',
      [{ type: 'image', source: { type: 'url', url: 'https://a/b.png' } }],
      [{ type: 'image', source: { kind: 'url', url: 'https://a/b.png' } }],
    ],
    [
      'a PDF',
      'user',
      [
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
          title: 'a.pdf',
          context: 'Read it',
        },
      ],
      [
        { type: 'text', text: 'Read it' },
        {
          type: 'file',
          source: { kind: 'base64', mediaType: 'application/pdf', data: 'AA==' },
          filename: 'a.pdf',
        },
      ],
    ],
    [
      'a PDF by its address',
      'user',
      [{ type: 'document', source: { type: 'url', url: 'https://a/b.pdf' } }],
      [{ type: 'file', source: { kind: 'url', url: 'https://a/b.pdf' } }],
    ],
    [
      'a text document',
      'user',
      [
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'Once' },
          title: 'Tale',
          cache_control: hint,
        },
      ],
      [{ type: 'text', text: 'Tale\nOnce', cacheHint: hint }],
    ],
    [
      'a document of blocks',
      'user',
      [
        {
          type: 'document',
          source: { type: 'content', content: [{ type: 'text', text: 'Once' }] },
          title: 'Tale',
        },
      ],
      [
        { type: 'text', text: 'Tale' },
        { type: 'text', text: 'Once' },
      ],
    ],
    [
      'a search result',
      'user',
      [
        {
          type: 'search_result',
          source: 'https://a',
          title: 'A',
          content: [{ type: 'text', text: 'Found' }],
        },
      ],
      [{ type: 'text', text: 'A\nhttps://a\nFound' }],
    ],
    [
      'a tool call',
      'assistant',
      [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } }],
      [{ type: 'tool-call', id: 'toolu_1', name: 'look', kind: 'function', input: '{"at":1}' }],
    ],
    [
      'a tool call without arguments',
      'assistant',
      [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }],
      [{ type: 'tool-call', id: 'toolu_1', name: 'look', kind: 'function', input: '{}' }],
    ],
    [
      'a tool result',
      'user',
      [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }],
      [{ type: 'tool-result', id: 'toolu_1', parts: [{ type: 'text', text: 'seen' }] }],
    ],
    [
      'a tool result without content',
      'user',
      [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true }],
      [{ type: 'tool-result', id: 'toolu_1', parts: [], isError: true }],
    ],
    [
      'a tool result that names a tool',
      'user',
      [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'tool_reference', tool_name: 'look' }],
        },
      ],
      [{ type: 'tool-result', id: 'toolu_1', parts: [{ type: 'text', text: 'look' }] }],
    ],
    [
      'native thinking',
      'assistant',
      [{ type: 'thinking', thinking: ' Hm\n', signature: 'EqQ=' }],
      [{ type: 'thinking', text: ' Hm\n', opaque: { state: { kind: 'signature', value: 'EqQ=' } } }],
    ],
    [
      'native thinking that is not shown',
      'assistant',
      [{ type: 'redacted_thinking', data: 'Emw=' }],
      [{ type: 'thinking', text: '', opaque: { state: { kind: 'redacted', value: 'Emw=' } } }],
    ],
    [
      'unsigned thinking',
      'assistant',
      [{ type: 'thinking', thinking: 'Hm', signature: '' }],
      [{ type: 'thinking', text: 'Hm' }],
    ],
    ['what the tools of a provider wrote', 'assistant', [{ type: 'server_tool_use', id: 'a' }], []],
    ['what they found', 'assistant', [{ type: 'web_search_tool_result', content: [] }], []],
  ])('%s', (_, role, content, parts) => {
    expect(decodeBlocks(role, content)).toEqual(parts);
  });

  test('packed state is recognised, in any place', () => {
    const state = { kind: 'encrypted', value: 'abc', id: 'rs_1' } as const;
    const packed = packOpaque('there', state);
    const opaque = { origin: 'there', state };
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: packed },
      { type: 'redacted_thinking', data: packed },
    ];
    expect(decodeBlocks('assistant', content)).toEqual([
      { type: 'thinking', text: 'Hm', opaque },
      { type: 'thinking', text: '', opaque },
    ]);
  });

  test('damaged state is left out', () => {
    const signature = `${packOpaque('there', { kind: 'signature', value: 'abc' })}.x`;
    expect(decodeBlocks('assistant', [{ type: 'thinking', thinking: 'Hm', signature }])).toEqual([]);
  });

  test('44: an image in a tool result is kept', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } };
    const content = [
      { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'x' }, image] },
    ];
    expect(decodeBlocks('user', content)).toEqual([
      {
        type: 'tool-result',
        id: 'a',
        parts: [
          { type: 'text', text: 'x' },
          { type: 'image', source: { kind: 'url', url: 'https://a/b.png' } },
        ],
      },
    ]);
  });

  test('59: a cache mark on a tool result is kept', () => {
    const content = [{ type: 'tool_result', tool_use_id: 'a', content: 'x', cache_control: hint }];
    expect(decodeBlocks('user', content)[0]?.cacheHint).toEqual(hint);
  });
});

describe('what a request asks for', () => {
  const image = (source: unknown) => ({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  const document = (source: unknown, more = {}) => ({
    messages: [{ role: 'user', content: [{ type: 'document', source, ...more }] }],
  });
  const tool = { name: 'look', input_schema: { type: 'object' } };
  const search = { type: 'web_search_20250305', name: 'web_search' };
  const at = 'messages[0].content[0]';

  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ['nothing by plain text', {}, []],
    [
      'nothing by what is the default anyway',
      {
        temperature: 1,
        top_p: 1,
        stream: false,
        service_tier: 'auto',
        speed: 'standard',
        thinking: { type: 'disabled' },
        tool_choice: { type: 'auto' },
        metadata: {},
        container: null,
        mcp_servers: [],
      },
      ['top-p-beside-temperature top_p'],
    ],
    ['an image', image({ type: 'url', url: 'https://a' }), [`image ${at}`, `image-url ${at}.source.url`]],
    [
      'an image of a rare type',
      image({ type: 'base64', media_type: 'image/bmp', data: 'AA==' }),
      [`image ${at}`, `image-of-rare-type ${at}.source.media_type`],
    ],
    ['an image by its id', image({ type: 'file', file_id: 'file_1' }), [`file-id ${at}`]],
    ['a document by its id', document({ type: 'file', file_id: 'file_1' }), [`file-id ${at}`]],
    ['a PDF', document({ type: 'base64', media_type: 'application/pdf', data: 'AA==' }), [`pdf ${at}`]],
    [
      'another file',
      document({ type: 'base64', media_type: 'text/csv', data: 'AA==' }),
      [`file-of-other-type ${at}`],
    ],
    ['a file by its address', document({ type: 'url', url: 'https://a' }), [`file-url ${at}`]],
    [
      'a text document, with citations',
      document({ type: 'text', media_type: 'text/plain', data: 'x' }, { citations: { enabled: true } }),
      [`citations ${at}.citations`, `text-document ${at}`],
    ],
    [
      'a search result',
      {
        messages: [
          { role: 'user', content: [{ type: 'search_result', source: 'a', title: 'b', content: [] }] },
        ],
      },
      [`search-result ${at}`],
    ],
    [
      'citations in the history',
      { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'x', citations: [{}] }] }] },
      [`citations ${at}.citations`],
    ],
    [
      'what hosted tools have left',
      { messages: [{ role: 'assistant', content: [{ type: 'code_execution_tool_result' }] }] },
      [`hosted-history ${at}`],
    ],
    [
      'a failed tool with an image',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'a',
                is_error: true,
                content: [{ type: 'image', source: { type: 'url', url: 'https://a' } }],
              },
            ],
          },
        ],
      },
      [
        `tools ${at}`,
        `tool-error ${at}.is_error`,
        `image ${at}.content[0]`,
        `image-url ${at}.content[0].source.url`,
        `tool-result-media ${at}`,
      ],
    ],
    [
      'thinking of earlier turns',
      { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: '' }] }] },
      [`reasoning-history ${at}`],
    ],
    ['tools', { tools: [tool] }, ['tools tools']],
    [
      'tools with everything',
      { tools: [{ ...tool, strict: true, cache_control: hint, defer_loading: true, input_examples: [{}] }] },
      [
        'strict-tool tools[0].strict',
        'tool-search tools[0].defer_loading',
        'vendor-member tools[0].input_examples',
        'cache-hint tools[0].cache_control',
        'tools tools',
      ],
    ],
    ['web search', { tools: [search] }, ['web-search tools[0]']],
    [
      'web search that is forced, as Claude Code does',
      { tools: [{ ...search, max_uses: 8 }], tool_choice: { type: 'tool', name: 'web_search' } },
      ['web-search tools[0]', 'vendor-member tools[0].max_uses', 'forced-web-search tool_choice'],
    ],
    [
      'a tool search',
      { tools: [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search' }] },
      ['tool-search tools[0]'],
    ],
    [
      'a hosted tool that is forced',
      { tools: [{ type: 'web_fetch_20250910', name: 'get' }], tool_choice: { type: 'tool', name: 'get' } },
      ['hosted-tool tools[0]', 'forced-hosted-tool tool_choice'],
    ],
    [
      'one call at a time',
      { tools: [tool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      ['tools tools', 'parallel-calls-off tool_choice.disable_parallel_tool_use'],
    ],
    [
      'reasoning that is shown',
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } },
      ['reasoning output_config.effort', 'reasoning thinking', 'reasoning-summary thinking.display'],
    ],
    [
      'a schema',
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      ['json-schema output_config.format'],
    ],
    [
      'a schema by its older name',
      { output_format: { type: 'json_schema', schema: {} } },
      ['json-schema output_format'],
    ],
    [
      'sampling',
      { temperature: 0.5, top_p: 0.9, top_k: 3, stop_sequences: ['END'] },
      [
        'temperature temperature',
        'top-p top_p',
        'top-k top_k',
        'top-p-beside-temperature top_p',
        'stop stop_sequences',
        'stop-name stop_sequences',
      ],
    ],
    ['a user', { metadata: { user_id: 'me' } }, ['end-user metadata.user_id']],
    ['a tier', { service_tier: 'standard_only' }, ['service-tier service_tier']],
    ['a cache mark for all', { cache_control: hint }, ['cache-hint cache_control']],
    [
      'context management',
      { context_management: { edits: [{}] } },
      ['context-management context_management'],
    ],
    ['servers of tools', { mcp_servers: [{ url: 'https://a' }] }, ['hosted-tool mcp_servers']],
    [
      "the vendor's own members",
      { container: 'c', inference_geo: 'eu', speed: 'fast', fallbacks: [{}] },
      [
        'vendor-member container',
        'vendor-member inference_geo',
        'vendor-member speed',
        'vendor-member fallbacks',
      ],
    ],
    ['filling the prompt cache only', { max_tokens: 0 }, ['vendor-member max_tokens']],
    ['unknown members', { tomorrow: 1 }, ['unknown-member tomorrow']],
  ])('%s', (_, members, asks) => {
    expect(asksOf(members)).toEqual(asks);
  });
});

describe('tools', () => {
  const schema = { type: 'object', properties: { at: { type: 'string' } } };

  test.each([
    ['without a type', {}],
    ['of type null', { type: null }],
    ['of type custom', { type: 'custom' }],
  ])("36: a tool %s is the client's own", (_, type) => {
    const tools = [{ name: 'look', description: 'Looks', input_schema: schema, ...type }];
    expect(decodeRequest({ tools }).tools).toEqual([
      { kind: 'function', name: 'look', description: 'Looks', schema },
    ]);
  });

  test('37: a tool that the vendor runs does not fail the request', () => {
    const tools = [
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { name: 'look', input_schema: schema },
    ];
    expect(decodeRequest({ tools }).tools.map(({ name }) => name)).toEqual(['look']);
  });

  test.each([
    [{ type: 'none' }, { type: 'none' }],
    [{ type: 'auto' }, { type: 'auto' }],
    [{ type: 'any' }, { type: 'required' }],
    [
      { type: 'tool', name: 'look' },
      { type: 'tool', tool: { name: 'look' } },
    ],
  ])('the choice %j', (choice, toolChoice) => {
    const conversation = decodeRequest({
      tools: [{ name: 'look', input_schema: schema }],
      tool_choice: choice,
    });
    expect(conversation.toolChoice).toEqual(toolChoice);
    expect(conversation).not.toHaveProperty('mayCallInParallel');
  });

  test.each([{ type: 'any' }, { type: 'tool', name: 'web_search' }])(
    'web search as the only tool is forced by %j',
    (choice) => {
      const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
      const conversation = decodeRequest({ tools, tool_choice: choice });
      expect(conversation).toMatchObject({
        hasWebSearch: true,
        toolChoice: { type: 'web-search' },
        tools: [],
      });
    },
  );
});

describe('reasoning', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ['none asked for', {}, undefined],
    ['switched off', { thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, { mode: 'off' }],
    ['adaptive', { thinking: { type: 'adaptive', display: 'omitted' } }, { mode: 'adaptive' }],
    [
      'adaptive with an effort',
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'xhigh' } },
      { mode: 'adaptive', effort: 'xhigh', summary: 'auto' },
    ],
    ['an effort alone', { output_config: { effort: 'low' } }, { mode: 'adaptive', effort: 'low' }],
    [
      'a budget',
      { max_tokens: 20_000, thinking: { type: 'enabled', budget_tokens: 2048 } },
      { mode: 'budget', budgetTokens: 2048, summary: 'auto' },
    ],
    [
      'a budget of all there is',
      { max_tokens: 32_000, thinking: { type: 'enabled', budget_tokens: 31_999, display: 'omitted' } },
      { mode: 'adaptive', effort: 'high' },
    ],
  ])('%s', (_, members, reasoning) => {
    expect(decodeRequest(members).reasoning).toEqual(reasoning);
  });
});

test('the rest of the settings have their places', () => {
  const conversation = decodeRequest(
    {
      max_tokens: 77,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 3,
      stop_sequences: ['a', 'b', 'c', 'd', 'e'],
      metadata: { user_id: '{"device_id":"d"}' },
      service_tier: 'standard_only',
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    },
    { 'x-claude-code-session-id': 's-1' },
  );
  expect(conversation).toMatchObject({
    maxOutputTokens: 77,
    sampling: { temperature: 0.5, topP: 0.9, topK: 3, stop: ['a', 'b', 'c', 'd', 'e'] },
    endUser: '{"device_id":"d"}',
    serviceTier: 'default',
    output: { type: 'json-schema', schema: { type: 'object' }, isStrict: true },
    promptCacheKey: 's-1',
    choices: 1,
  });
});
