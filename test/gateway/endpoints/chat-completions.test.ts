// POST /v1/chat/completions: every field inside and outside its bounds, and what an upstream of the same dialect is
// sent: the caller's own bytes, with the model's name changed and what is missing put in. (OpenAI API reference,
// "Create chat completion"; bounds that the service's specification sets for completions hold here too.)

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';
import { errorOf, expectRefused, jsonOf, latest, post, recordOf, rowsOf, Spelled } from './ask.ts';

const path = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Say hello' }];
const minimal = { model: 'm', messages };

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
});

beforeEach(() => wall.script({ type: 'answer' }));

afterAll(async () => {
  await rig.close();
  await wall.close();
});

const longText = 'x'.repeat(20_000);

describe('a field inside its bounds is accepted, and the upstream gets it as it was sent', () => {
  const accepted = rowsOf({
    stream: [false],
    max_tokens: [1, 1_000_000],
    max_completion_tokens: [1, 1_000_000],
    temperature: [0, 1, 2],
    top_p: [0, 1],
    n: [1, 128],
    stop: ['x', ['a'], ['a', 'b', 'c', 'd']],
    presence_penalty: [-2, 2],
    frequency_penalty: [-2, 2],
    logit_bias: [{}, { 50256: -100, 11: 100 }],
    logprobs: [true, false],
    seed: [-5, 9_007_199_254_740_991],
    tools: [[], [{ type: 'function', function: { name: 'f' } }], [{ type: 'vendor_tool', more: 1 }]],
    tool_choice: ['auto', 'none', 'required', { type: 'function', function: { name: 'f' } }],
    parallel_tool_calls: [true, false],
    functions: [[{ name: 'f' }], Array.from({ length: 128 }, (_, at) => ({ name: `f${at}` }))],
    function_call: ['auto', { name: 'f' }],
    response_format: [
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' }, strict: true } },
    ],
    reasoning_effort: ['low', 'a level of next year'],
    verbosity: ['medium'],
    modalities: [['text'], ['text', 'audio']],
    audio: [{ voice: 'alloy', format: 'mp3' }],
    prediction: [{ type: 'content', content: 'x' }],
    service_tier: ['flex'],
    store: [true],
    metadata: [
      {},
      Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`${at}`.padEnd(64, 'k'), 'v'.repeat(512)])),
    ],
    user: ['somebody'],
    safety_identifier: ['', 's'.repeat(64)],
    prompt_cache_key: ['k'],
    x_vendor: [null, 5, 'x', { deep: [[[]]] }],
  });

  test.each(accepted)('$name: $shown', async ({ name, value }) => {
    const answer = await post(rig, path, { ...minimal, [name]: value });
    expect(answer.status).toBe(200);
    expect(recordOf(latest(wall).json)[name]).toEqual(value);
  });

  test.each([0, 20])('top_logprobs: %i, together with logprobs', async (top_logprobs) => {
    const answer = await post(rig, path, { ...minimal, logprobs: true, top_logprobs });
    expect(answer.status).toBe(200);
    expect(latest(wall).json).toMatchObject({ top_logprobs });
  });
});

describe('a field outside its bounds, or of a wrong type, is refused by name before the upstream is asked', () => {
  const notNumbers = ['1', true, [], {}];
  const notTexts = [5, true, [], {}];
  const notBooleans = ['true', 0, 1, [], {}];
  const refused = rowsOf({
    model: ['', null, 5, true, [], {}],
    messages: [null, [], 'x', 5, true, {}, longText],
    stream: notBooleans,
    stream_options: ['x', 5, [], { include_usage: true }],
    max_tokens: [0, -1, 1.5, new Spelled('1e400'), ...notNumbers],
    max_completion_tokens: [0, 1.5, ...notNumbers],
    temperature: [-0.0001, 2.0001, ...notNumbers],
    top_p: [-0.0001, 1.0001, ...notNumbers],
    n: [0, 129, 1.5, ...notNumbers],
    stop: [5, {}, ['a', 'b', 'c', 'd', 'e'], [5]],
    presence_penalty: [-2.0001, 2.0001, ...notNumbers],
    frequency_penalty: [-2.0001, 2.0001, ...notNumbers],
    logit_bias: ['x', [], { 1: 101 }, { 1: -101 }, { 1: true }, longText],
    logprobs: [5, 'true', {}],
    top_logprobs: [-1, 21, 1.5, 5, ...notNumbers],
    seed: [1.5, ...notNumbers],
    tools: ['x', 5, {}, { long: longText }],
    tool_choice: [5, true, []],
    parallel_tool_calls: notBooleans,
    functions: ['x', {}, Array.from({ length: 129 }, () => ({ name: 'f' })), longText],
    function_call: [5, true, []],
    response_format: ['json', 5, [], [longText]],
    reasoning_effort: notTexts,
    verbosity: notTexts,
    modalities: ['text', 5, {}],
    audio: ['alloy', 5, []],
    service_tier: notTexts,
    store: notBooleans,
    metadata: [
      'x',
      [],
      { a: 5 },
      { a: null },
      { ['k'.repeat(65)]: 'v' },
      { k: 'v'.repeat(513) },
      Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v'])),
    ],
    user: notTexts,
    safety_identifier: ['s'.repeat(65), ...notTexts],
    prompt_cache_key: notTexts,
  });

  test.each(refused)('$name: $shown', async ({ name, value }) => {
    const before = wall.calls.length;
    expectRefused(await post(rig, path, jsonOf({ ...minimal, [name]: value })), name);
    expect(wall.calls).toHaveLength(before);
  });

  test.each<[Record<string, unknown>, readonly string[]]>([
    [{ stop: [] }, []],
    [{ functions: [] }, []],
    [{ functions: [], function_call: 'auto' }, []],
    [{ functions: [], function_call: 'none', stop: [], seed: 1 }, ['seed']],
    [{ stop: [], max_completion_tokens: 5 }, ['max_completion_tokens']],
    [
      { stop: ['a'], functions: [{ name: 'f' }], function_call: 'auto' },
      ['stop', 'functions', 'function_call'],
    ],
  ])('an empty list of stops or functions says nothing, and is not sent on: %j', async (more, sent) => {
    const blank = jsonOf({ ...minimal, ...more }).replaceAll('[]', '[ \n ]');
    for (const body of [jsonOf({ ...minimal, ...more }), blank]) {
      expect((await post(rig, path, body)).status).toBe(200);
      const { model: _, messages: __, ...rest } = recordOf(latest(wall).json);
      expect(Object.keys(rest).sort()).toEqual([...sent].sort());
    }
  });

  test.each(['model', 'messages'] as const)('%s is required', async (name) => {
    const { [name]: _, ...rest } = minimal;
    expect(expectRefused(await post(rig, path, rest), name)).toBe(`'${name}' is required.`);
  });

  test.each([
    [{ stream: true, stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
    [{ logprobs: false, top_logprobs: 1 }, 'top_logprobs'],
  ])('%j is refused', async (more, param) => {
    expectRefused(await post(rig, path, { ...minimal, ...more }), param);
  });
});

describe('messages', () => {
  const accepted: readonly object[] = [
    ...['developer', 'system', 'user', 'assistant'].map((role) => ({ role, content: 'x', name: 'n' })),
    { role: 'user', content: '' },
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
    { role: 'user', content: [{ type: 'a part of next year' }] },
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'assistant', tool_calls: [] },
    { role: 'tool', content: 'x', tool_call_id: 'c' },
    { role: 'function', name: 'f', content: null },
  ];

  test.each(accepted)('%j is accepted', async (message) => {
    const answer = await post(rig, path, { model: 'm', messages: [...messages, message] });
    expect(answer.status).toBe(200);
    expect(latest(wall).json).toMatchObject({ messages: [...messages, message] });
  });

  test.each([
    [null, 'messages[1]'],
    ['hello', 'messages[1]'],
    [['hello'], 'messages[1]'],
    [{ content: 'x' }, 'messages[1].role'],
    [{ role: 5, content: 'x' }, 'messages[1].role'],
    [{ role: 'robot', content: 'x' }, 'messages[1].role'],
    [{ role: 'constructor', content: 'x' }, 'messages[1].role'],
    [{ role: 'user' }, 'messages[1].content'],
    [{ role: 'user', content: null }, 'messages[1].content'],
    [{ role: 'system' }, 'messages[1].content'],
    [{ role: 'tool', tool_call_id: 'c' }, 'messages[1].content'],
    [{ role: 'user', content: 5 }, 'messages[1].content'],
    [{ role: 'user', content: { text: 'x' } }, 'messages[1].content'],
    [{ role: 'assistant', content: true }, 'messages[1].content'],
  ])('%j is refused as %s', async (message, param) => {
    expectRefused(await post(rig, path, { model: 'm', messages: [...messages, message] }), param);
  });

  test('long ones are not looked into: the upstream judges them', async () => {
    const answer = await post(rig, path, { model: 'm', messages: [{ role: 'robot', content: longText }] });
    expect(answer.status).toBe(200);
    expect(latest(wall).json).toMatchObject({ messages: [{ role: 'robot', content: longText }] });
  });
});

describe('null counts as absent', () => {
  const optional = [
    ...['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'n'],
    ...['stop', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'seed'],
    ...['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call', 'response_format'],
    ...['reasoning_effort', 'verbosity', 'modalities', 'audio', 'service_tier', 'store', 'metadata', 'user'],
    ...['safety_identifier', 'prompt_cache_key'],
  ];

  test.each(optional)('%s', async (name) => {
    const body = { ...minimal, [name]: null };
    const answer = await post(rig, path, body);
    expect(answer.status).toBe(200);
    expect(latest(wall).json).toEqual({ ...body, model: 'upstream-0' });
  });
});

describe('the request to the upstream', () => {
  test('differs in the model name alone: order, blanks, spellings and unknown fields stay', async () => {
    const before =
      '\n{ "x_first" : [1.0, 1E+2, 12345678901234567890, -0, 0.1000], "temperature":1.00,\t"\\u006e":1e0,"model" :\r\n"';
    const after =
      '" , "messages":[{"role":"user","content":"\\u00fc\\ud83d\\ude00 ü😀 \\/ \\ud800","x":{"a":1,"a":2}}],' +
      '"__proto__":{"a":1},"constructor":null,"seed":18446744073709551615 } \n';
    const answer = await post(rig, path, `${before}m${after}`);
    expect(answer.status).toBe(200);
    expect(latest(wall).bodyText).toBe(`${before}upstream-0${after}`);
  });

  test('has no added defaults', async () => {
    await post(rig, path, minimal);
    expect(latest(wall).json).toEqual({ ...minimal, model: 'upstream-0' });
    expect(latest(wall).path).toBe('/v1/chat/completions');
  });

  test('of a stream asks for usage, after all other members', async () => {
    const text = '{"stream":true,"model":"m","messages":[{"role":"user","content":"x"}]';
    await post(rig, path, `${text}}`);
    expect(latest(wall).bodyText).toBe(
      `${text.replace('"m"', '"upstream-0"')},"stream_options":{"include_usage":true}}`,
    );
  });

  test.each([
    ['null', { include_usage: true }],
    ['{}', { include_usage: true }],
    ['{"include_usage":false}', { include_usage: true }],
    [
      '{"include_usage":null,"include_obfuscation":false}',
      { include_usage: true, include_obfuscation: false },
    ],
  ])('stream_options %s become %j', async (given, sent) => {
    await post(
      rig,
      path,
      `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":${given}}`,
    );
    expect(recordOf(latest(wall).json).stream_options).toEqual(sent);
  });

  test('stream_options that ask for usage already stay as they were spelled', async () => {
    const text =
      '{"model":"upstream-0","stream_options":{ "x":1.0, "include_usage" : true },"messages":[{"role":"user","content":"x"}],"stream":true}';
    await post(rig, path, text.replace('upstream-0', 'm'));
    expect(latest(wall).bodyText).toBe(text);
  });

  test('tools, their choice and their results pass byte for byte, and tool calls come back', async () => {
    wall.script({
      type: 'answer',
      toolCalls: [{ name: 'weather', arguments: '{"city":"Zürich"}', id: 'call_9' }],
    });
    const text = JSON.stringify({
      model: 'upstream-0',
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{not json' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'weather', strict: true, parameters: { type: 'object', $defs: { a: {} } } },
        },
        { type: 'custom', custom: { name: 'sql', format: { type: 'text' } } },
      ],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
      parallel_tool_calls: false,
    });
    const answer = await post(rig, path, text.replace('upstream-0', 'm'));
    expect(latest(wall).bodyText).toBe(text);
    expect(answer.json).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: null,
            tool_calls: [
              {
                id: 'call_9',
                type: 'function',
                function: { name: 'weather', arguments: '{"city":"Zürich"}' },
              },
            ],
          },
        },
      ],
    });
  });

  test('a body of some megabytes passes byte for byte, too', async () => {
    const content = 'µ"\\'.repeat(500_000);
    const text = JSON.stringify({
      messages: [{ role: 'user', content }],
      temperature: 0.5,
      model: 'upstream-0',
    });
    const answer = await post(rig, path, text.replace('upstream-0', 'm'));
    expect(answer.status).toBe(200);
    expect(latest(wall).bodyText === text).toBe(true);
  });

  test("has neither the caller's key nor other headers", async () => {
    await post(rig, path, minimal, {
      authorization: `Bearer psk_${'k'.repeat(49)}`,
      'x-api-key': 'another',
      cookie: 'a=b',
      'x-forwarded-for': '10.0.0.1',
      'openai-organization': 'org',
    });
    const { headers } = latest(wall);
    expect(
      Object.keys(headers).filter((name) => /authorization|api-key|cookie|forwarded|openai/.test(name)),
    ).toEqual([]);
    expect(JSON.stringify(headers)).not.toContain('psk_');
  });
});

describe('parameters of the target', () => {
  const parameters = {
    temperature: 0.25,
    max_completion_tokens: 1000,
    service_tier: 'flex',
    x_vendor: { cache: true },
  };

  async function withTarget(target: Partial<RigTarget>, body: string): Promise<string> {
    const other = await startRig(tableOf([{ baseUrl: wall.baseUrl, ...target }]));
    try {
      expect((await post(other, path, body)).status).toBe(200);
      return latest(wall).bodyText;
    } finally {
      await other.close();
    }
  }

  const text = '{"model":"m","messages":[{"role":"user","content":"x"}]}';

  test('come after the caller’s members', async () => {
    const sent = await withTarget({ parameters }, text);
    expect(sent.startsWith(text.slice(0, -1).replace('"m"', '"upstream-0"'))).toBe(true);
    expect(JSON.parse(sent)).toEqual({
      model: 'upstream-0',
      messages: [{ role: 'user', content: 'x' }],
      ...parameters,
    });
  });

  test('give way to the caller’s, whatever the value', async () => {
    const own = '"temperature":0,"service_tier":"","x_vendor":false,"max_completion_tokens":1';
    const sent = await withTarget({ parameters }, text.replace('}]}', `}],${own}}`));
    expect(sent).toBe(text.replace('"m"', '"upstream-0"').replace('}]}', `}],${own}}`));
  });

  test('take the place of an explicit null', async () => {
    const sent = await withTarget(
      { parameters: { temperature: 0.25 } },
      text.replace('}]}', '}],"temperature":null}'),
    );
    expect(sent).toBe(text.replace('"m"', '"upstream-0"').replace('}]}', '}],"temperature":0.25}'));
  });
});

describe('the answer', () => {
  test('goes on byte for byte', async () => {
    const body =
      '{ "id":"chatcmpl-1","object":"chat.completion","created":1,"model":"x",' +
      '"choices":[{"index":0,"message":{"role":"assistant","content":"h\\u0069","x":1.50},' +
      '"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"x_vendor":{} }\n';
    wall.script({ type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body });
    const answer = await post(rig, path, minimal);
    expect(answer.text).toBe(body);
  });

  test('an unknown model is reported by name, and where to look', async () => {
    const answer = await post(rig, path, { ...minimal, model: 'gone' });
    expect(answer.status).toBe(404);
    expect(answer.headers['x-should-retry']).toBe('false');
    expect(errorOf(answer)).toEqual({
      message:
        "The model 'gone' does not exist, or this key may not use it. GET /v1/models lists the models of this key.",
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
    });
  });

  test('a query string on the path changes nothing', async () => {
    expect((await post(rig, `${path}?api-version=2026-01-01&x=//v1/v1/`, minimal)).status).toBe(200);
  });
});
