// What does a chat request ask for, in our own form? And what of it is named where it cannot be carried?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Conversation } from '../../../../gateway/dialects/conversation.ts';
import type { TranslationContext } from '../../../../gateway/dialects/dialect.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { runs } from '../../../support/runs.ts';
import { bodyOf } from '../support/upstream-call.ts';

const context: TranslationContext = { upstreams: new Set(['anthropic-messages']), header: () => undefined };
const user = { role: 'user', content: 'p' };
const png = 'data:image/png;base64,AAAA';

function decode(request: Record<string, unknown>): Conversation {
  const body = bodyOf({ model: 'm', messages: [user], ...request });
  const [conversation] = openAiChat.translate(body, context).conversations;
  if (!conversation) throw new Error('no conversation');
  return conversation;
}

const asksOf = (request: Record<string, unknown>): string[] =>
  decode(request).asks.map(({ feature, param }) => `${feature} ${param}`);
const said = (...messages: readonly unknown[]) => ({ messages });
const userParts = (...content: readonly unknown[]) => said({ role: 'user', content });
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const call = (args = '{}') => ({ id: 'c1', type: 'function', function: { name: 'f', arguments: args } });

describe('a request asks for', () => {
  test.each<[string, Record<string, unknown>, string[]]>([
    ['nothing, where it is one text of the user', {}, []],
    [
      'nothing, where all is as by default',
      {
        ...{ n: 1, presence_penalty: 0, frequency_penalty: 0, store: false, logprobs: false, temperature: 1 },
        ...{ top_p: 1, response_format: { type: 'text' }, tool_choice: 'auto', parallel_tool_calls: true },
        ...{ verbosity: 'medium', service_tier: 'auto', modalities: ['text'], metadata: {}, logit_bias: {} },
        ...{ reasoning_effort: 'none', tools: [], stream: true, stream_options: { include_usage: true } },
      },
      [],
    ],
    [
      'nothing, where all is null',
      {
        ...{ n: null, max_tokens: null, stop: null, seed: null, audio: null, metadata: null, user: null },
        ...{ reasoning_effort: null, strange: null, logprobs: null, response_format: null, tools: null },
      },
      [],
    ],
    ['system text', said({ role: 'developer', content: 's' }, user), ['system-text messages[0]']],
    [
      'later system text',
      said(user, { role: 'system', content: 's' }, user),
      ['later-system-text messages[1]', 'several-turns messages'],
    ],
    ['a name', said({ ...user, name: 'n' }), ['author-name messages[0].name']],
    ['an image', userParts({ type: 'image_url', image_url: { url: png } }), ['image messages[0].content[0]']],
    [
      'an image of a rare type, in detail',
      userParts({ type: 'image_url', image_url: { url: 'data:image/tiff;base64,AAAA', detail: 'high' } }),
      [
        'image messages[0].content[0]',
        'image-detail messages[0].content[0].image_url.detail',
        'image-of-rare-type messages[0].content[0]',
      ],
    ],
    [
      'audio in',
      userParts(
        { type: 'text', text: 'a' },
        { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
      ),
      ['audio-in messages[0].content[1]'],
    ],
    ...(
      [
        ['application/pdf', 'pdf'],
        ['text/plain', 'text-document'],
        ['application/zip', 'file-of-other-type'],
      ] as const
    ).map(([type, feature]): [string, Record<string, unknown>, string[]] => [
      `a file of type ${type}`,
      userParts({ type: 'file', file: { file_data: `data:${type};base64,AAAA` } }),
      [`${feature} messages[0].content[0]`],
    ]),
    [
      'a file by its id',
      userParts({ type: 'file', file: { file_id: 'f1' } }),
      ['file-id messages[0].content[0].file.file_id'],
    ],
    [
      '59: a cache hint, in either spelling',
      userParts(
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'b', prompt_cache_breakpoint: { mode: 'explicit' } },
      ),
      [
        'cache-hint messages[0].content[0].cache_control',
        'cache-hint messages[0].content[1].prompt_cache_breakpoint',
      ],
    ],
    ['tools', { tools: [tool] }, ['tools tools']],
    [
      'strict and custom tools',
      {
        tools: [
          { type: 'function', function: { name: 'f', strict: true } },
          { type: 'custom', custom: { name: 'c' } },
        ],
      },
      ['strict-tool tools[0].function.strict', 'custom-tool tools[1]', 'tools tools'],
    ],
    ['a tool that runs at a provider', { tools: [{ type: 'web_search' }] }, ['hosted-tool tools[0]']],
    [
      'such a tool and no other',
      { tools: [{ type: 'web_search' }], tool_choice: 'required' },
      ['hosted-tool tools[0]', 'forced-hosted-tool tool_choice'],
    ],
    [
      'a part of the tools',
      {
        tools: [tool],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
        },
      },
      ['tools tools', 'tool-subset tool_choice.allowed_tools'],
    ],
    [
      'a tool while it thinks',
      { tools: [tool], tool_choice: 'required', reasoning_effort: 'low', temperature: 0.5, top_p: 0.5 },
      [
        'reasoning reasoning_effort',
        'tools tools',
        'temperature temperature',
        'top-p top_p',
        'top-p-beside-temperature top_p',
      ],
    ],
    [
      'one call at a time',
      { tools: [tool], parallel_tool_calls: false },
      ['tools tools', 'parallel-calls-off parallel_tool_calls'],
    ],
    [
      'tools by what was said before',
      said(
        user,
        { role: 'assistant', tool_calls: [call('nonsense')] },
        { role: 'tool', tool_call_id: 'c1', content: 'r' },
      ),
      [
        'tools messages[1].tool_calls',
        'malformed-arguments messages[1].tool_calls[0].function.arguments',
        'tools messages[2]',
        'several-turns messages',
      ],
    ],
    [
      'an image in a result',
      said({ role: 'tool', tool_call_id: 'c1', content: [{ type: 'image_url', image_url: { url: png } }] }),
      ['tools messages[0]', 'tool-result-media messages[0].content[0]', 'image messages[0].content[0]'],
    ],
    [
      'thinking from before',
      said({ role: 'assistant', content: 'a', reasoning_content: 'hm', reasoning_details: [{}] }),
      ['reasoning-history messages[0].reasoning_content', 'reasoning-history messages[0].reasoning_details'],
    ],
    [
      'what was spoken before',
      said({ role: 'assistant', content: null, audio: { id: 'a1' } }),
      ['audio-out messages[0].audio'],
    ],
    ['json', { response_format: { type: 'json_object' } }, ['json-object response_format']],
    [
      'json by a schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } } },
      ['json-schema response_format'],
    ],
    ['several answers', { n: 2 }, ['choices n']],
    [
      'log probabilities',
      { logprobs: true, top_logprobs: 6 },
      ['logprobs logprobs', 'many-logprobs top_logprobs'],
    ],
    [
      'a limit, by its newer name',
      { max_tokens: 5, max_completion_tokens: 6 },
      ['max-tokens max_completion_tokens'],
    ],
    [
      'other sampling',
      {
        temperature: 1.5,
        presence_penalty: 1,
        frequency_penalty: 1,
        seed: 1,
        logit_bias: { 5: 1 },
        stop: [' '],
      },
      [
        'temperature temperature',
        'temperature-above-1 temperature',
        'penalties presence_penalty',
        'penalties frequency_penalty',
        'logit-bias logit_bias',
        'seed seed',
        'stop stop',
        'blank-stop stop',
      ],
    ],
    [
      'all the rest',
      {
        ...{
          verbosity: 'low',
          service_tier: 'flex',
          store: true,
          metadata: { a: 'b' },
          prompt_cache_key: 'k',
        },
        ...{
          user: 'u',
          safety_identifier: 's',
          modalities: ['text', 'audio'],
          prediction: { type: 'content' },
        },
        ...{
          web_search_options: {},
          prompt_cache_options: {},
          prompt_cache_retention: '24h',
          moderation: {},
        },
        strange: 0,
      },
      [
        'audio-out modalities',
        'prediction prediction',
        'hosted-tool web_search_options',
        'cache-hint prompt_cache_options',
        'cache-hint prompt_cache_retention',
        'vendor-member moderation',
        'unknown-member strange',
        'verbosity verbosity',
        'service-tier service_tier',
        'store store',
        'metadata metadata',
        'prompt-cache-key prompt_cache_key',
        'end-user safety_identifier',
      ],
    ],
  ])('%s', (_, request, wanted) => {
    expect(asksOf(request).sort()).toEqual(wanted.toSorted());
  });
});

describe('the conversation', () => {
  test('27: has the leading system messages as blocks, and later ones where they stand', () => {
    const { system, turns } = decode(
      said(
        { role: 'system', content: 'a' },
        { role: 'developer', content: [{ type: 'text', text: 'b', cache_control: { type: 'ephemeral' } }] },
        user,
        { role: 'system', content: 'c' },
      ),
    );
    expect(system).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', cacheHint: { type: 'ephemeral' } },
    ]);
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system']);
  });

  test('has the parts of an assistant in order', () => {
    const message = {
      role: 'assistant',
      reasoning_content: 'hm',
      content: [
        { type: 'text', text: 'a' },
        { type: 'refusal', refusal: 'b' },
      ],
      refusal: 'c',
      tool_calls: [call(''), { id: 'c2', type: 'custom', custom: { name: 'x', input: 'in' } }],
    };
    expect(decode(said(message)).turns[0]?.parts).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'a' },
      { type: 'refusal', text: 'b' },
      { type: 'refusal', text: 'c' },
      // No arguments at all are an empty object (pitfall 41).
      { type: 'tool-call', id: 'c1', name: 'f', kind: 'function', input: '{}' },
      { type: 'tool-call', id: 'c2', name: 'x', kind: 'custom', input: 'in' },
    ]);
  });

  test('links functions of the old form with their results', () => {
    const { turns, tools, toolChoice, mayCallInParallel } = decode({
      functions: [{ name: 'f', description: 'd' }],
      function_call: { name: 'f' },
      ...said(
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"n":1}' } },
        { role: 'function', name: 'f', content: '1' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"n":2}' } },
        { role: 'function', name: 'f', content: '2' },
      ),
    });
    expect(turns.flatMap(({ parts }) => parts.map((part) => ('id' in part ? part.id : '')))).toEqual([
      ...['call_function_0', 'call_function_0', 'call_function_1', 'call_function_1'],
    ]);
    expect(tools).toEqual([{ kind: 'function', name: 'f', description: 'd' }]);
    expect([toolChoice, mayCallInParallel]).toEqual([{ type: 'tool', tool: { name: 'f' } }, false]);
  });

  test('has tools, choice and format as they were meant', () => {
    const grammar = { syntax: 'lark', definition: 'start: "x"' };
    const decoded = decode({
      tools: [tool, { type: 'custom', custom: { name: 'c', format: { type: 'grammar', grammar } } }],
      tool_choice: { type: 'custom', custom: { name: 'c' } },
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { a: 1 }, strict: true } },
      reasoning_effort: 'high',
      max_completion_tokens: 9,
      user: 'u',
    });
    expect(decoded).toMatchObject({
      tools: [
        { kind: 'function', name: 'f', schema: tool.function.parameters },
        { kind: 'custom', name: 'c', grammar },
      ],
      toolChoice: { type: 'tool', tool: { name: 'c' } },
      output: { type: 'json-schema', name: 'n', schema: { a: 1 }, isStrict: true },
      reasoning: { mode: 'adaptive', effort: 'high' },
      maxOutputTokens: 9,
      endUser: 'u',
    });
  });

  test('keeps images of unknown type', () => {
    const part = { type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA' } };
    expect(decode(userParts(part)).turns[0]?.parts).toEqual([
      { type: 'image', source: { kind: 'base64', mediaType: 'image/jpeg', data: 'AAAA' } },
    ]);
  });

  test('has media with their types', () => {
    const parts = [
      { type: 'image_url', image_url: { url: png, detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'mp3' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
    ];
    expect(decode(userParts(...parts)).turns[0]?.parts).toEqual([
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' }, detail: 'low' },
      { type: 'image', source: { kind: 'url', url: 'https://x.test/a.png' } },
      { type: 'audio', data: 'AA', format: 'mp3' },
      {
        type: 'file',
        source: { kind: 'base64', mediaType: 'application/pdf', data: 'BBBB' },
        filename: 'a.pdf',
      },
    ]);
  });
});

describe('state that a provider wants back', () => {
  const signature = { kind: 'signature', value: 's' } as const;
  const redacted = { kind: 'redacted', value: 'r' } as const;
  const entry = (state: typeof signature | typeof redacted, text_length?: number) => ({
    type: 'reasoning.encrypted',
    data: packOpaque('o', state),
    ...(text_length === undefined ? {} : { text_length }),
  });
  const thinking = (reasoning_content: string | undefined, ...reasoning_details: readonly unknown[]) =>
    decode(
      said({ role: 'assistant', content: 'a', reasoning_content, reasoning_details }),
    ).turns[0]?.parts.filter(({ type }) => type === 'thinking');
  const part = (text: string, state: unknown) => ({ type: 'thinking', text, opaque: { origin: 'o', state } });

  test.each<[string, unknown, unknown]>([
    [
      'goes with the text it was made for',
      thinking('one\n\ntwo', entry(signature, 3), entry(signature, 3)),
      [part('one', signature), part('two', signature)],
    ],
    [
      'goes with all text where it is the only one',
      thinking('one', entry(redacted), entry(signature)),
      [part('', redacted), part('one', signature)],
    ],
    [
      'is left out if its text is unknown',
      thinking('onetwo', entry(signature), entry(signature)),
      [{ type: 'thinking', text: 'onetwo' }],
    ],
    [
      'is left out where the text has been changed',
      thinking('oned', entry(signature, 3), entry(redacted, 0), entry(signature, 0)),
      [{ type: 'thinking', text: 'oned' }, part('', redacted)],
    ],
    ['is left out where it is damaged', thinking(undefined, { data: 'penstock.1.o.???' }), []],
    [
      'of another service stays unmarked',
      thinking(undefined, { data: 'theirs' }),
      [{ type: 'thinking', text: '', opaque: { state: { kind: 'details', value: { data: 'theirs' } } } }],
    ],
  ])('%s', (_, found, wanted) => {
    expect(found).toEqual(wanted);
  });
});

describe('a request is refused', () => {
  test.each<[Record<string, unknown>, string]>([
    [userParts({ type: 'video' }), 'messages[0].content[0].type'],
    [userParts({ text: 'a' }), 'messages[0].content[0].type'],
    [userParts('a'), 'messages[0].content[0]'],
    [userParts({ type: 'text' }), 'messages[0].content[0].text'],
    [userParts({ type: 'refusal', refusal: 'a' }), 'messages[0].content[0].type'],
    [userParts({ type: 'image_url', image_url: png }), 'messages[0].content[0].image_url'],
    [userParts({ type: 'image_url', image_url: { url: 'ftp://x' } }), 'messages[0].content[0].image_url.url'],
    [
      userParts({ type: 'input_audio', input_audio: { data: 'A' } }),
      'messages[0].content[0].input_audio.format',
    ],
    [userParts({ type: 'file', file: {} }), 'messages[0].content[0].file.file_data'],
    [userParts({ type: 'file', file: { file_data: 'AAAA' } }), 'messages[0].content[0].file.file_data'],
    [said({ role: 'user', content: 7 }), 'messages[0].content'],
    [said({ role: 'system', content: [{ type: 'image_url' }] }), 'messages[0].content[0].type'],
    [said({ role: 'tool', content: 'r' }), 'messages[0].tool_call_id'],
    [said({ role: 'function', content: 'r' }), 'messages[0].name'],
    [said({ role: 'assistant', tool_calls: {} }), 'messages[0].tool_calls'],
    [said({ role: 'assistant', tool_calls: [{ id: '' }] }), 'messages[0].tool_calls[0].id'],
    [said({ role: 'assistant', tool_calls: [{ id: 'a' }] }), 'messages[0].tool_calls[0].function'],
    [
      said({ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'x' } }] }),
      'messages[0].tool_calls[0].custom.input',
    ],
    [{ tools: [{}] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', function: { name: '' } }] }, 'tools[0].function.name'],
    [
      { tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
      'tools[0].function.parameters',
    ],
    [{ functions: [{ parameters: {} }] }, 'functions[0].name'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [
      { tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } },
      'tool_choice.function.name',
    ],
    [
      { tools: [tool], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x', tools: [] } } },
      'tool_choice.allowed_tools.mode',
    ],
    [{ response_format: { type: 'xml' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema', json_schema: {} } }, 'response_format.json_schema.schema'],
    [{ logit_bias: { 5: 'x' } }, 'logit_bias'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
  ])('%j names %s', (request, param) => {
    expect(() => decode(request)).toThrow(expect.objectContaining({ code: 'invalid_parameter', param }));
  });

  test('also where it is too large to be looked at for every request', () => {
    const messages = [
      { role: 'user', content: 'x'.repeat(20_000) },
      { role: 'wizard', content: 'a' },
    ];
    expect(() => decode({ messages })).toThrow(expect.objectContaining({ param: 'messages[1].role' }));
  });
});

test('every request becomes a conversation or a refusal', () => {
  const keys = [
    'role',
    'content',
    'type',
    'text',
    'tool_calls',
    'function',
    'name',
    'arguments',
    'id',
    'custom',
  ];
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('user', 'assistant', 'system', 'tool', 'text', 'image_url', 'file', '', null, 0, true),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keys), tie('any'), { maxKeys: 5 }),
    ),
  })).any;
  const members = fc.record(
    {
      messages: fc.array(
        fc.record({
          role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
          content: value,
          tool_calls: value,
          reasoning_details: value,
          name: value,
        }),
        { minLength: 1, maxLength: 3 },
      ),
      tools: value,
      tool_choice: value,
      functions: value,
      function_call: value,
      response_format: value,
    },
    { requiredKeys: ['messages'] },
  );
  fc.assert(
    fc.property(members, (request) => {
      try {
        decode(request);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        expect(error.code).toBe('invalid_parameter');
      }
    }),
    { seed: 5, numRuns: runs(1500) },
  );
});
