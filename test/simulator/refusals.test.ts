// A strict upstream: what the vendors refuse is refused, in their words, and names the member at fault.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';
import { shapes } from './shapes.ts';
import type { Dialect } from './support.ts';
import { dialects, paths, post, request } from './support.ts';

let simulator: Simulator;
let foreign: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ bodyBytesMax: 100_000 });
  foreign = await startSimulator({ sealKey: 'another vendor' });
});

afterAll(async () => {
  await Promise.all([simulator.close(), foreign.close()]);
});

type Bag = Record<string, unknown>;

const user = { role: 'user', content: 'Hello' };
const chatCall = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const chatTool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const tool = { name: 'f', input_schema: { type: 'object' } };
const use = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
const result = { type: 'tool_result', tool_use_id: 'c1', content: 'ok' };
const closed = { type: 'object', properties: {}, additionalProperties: false };
const cached = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } };

// [what differs from a good request, what the message must contain, the param that OpenAI dialects name]
const wrong: Record<Dialect, [Bag, string, string?][]> = {
  chat: [
    [{ model: undefined }, 'Field required', 'model'],
    [{ model: 7 }, 'a string', 'model'],
    [{ messages: undefined }, 'Field required', 'messages'],
    [{ messages: [] }, 'at least 1', 'messages'],
    [{ messages: 'hi' }, 'an array', 'messages'],
    [{ messages: [{ role: 'wizard', content: 'a' }] }, "'wizard'", 'messages[0].role'],
    [{ messages: [{ role: 'user', content: null }] }, 'null', 'messages[0].content'],
    [
      { messages: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }] },
      "'input_text'",
      'messages[0].content[0].type',
    ],
    [
      { messages: [user, { role: 'tool', tool_call_id: 'c1', content: 'a' }] },
      "preceeding message with 'tool_calls'",
      'messages[1].role',
    ],
    [
      { messages: [user, { role: 'assistant', tool_calls: [{ ...chatCall, id: 'c'.repeat(41) }] }] },
      'should match pattern',
      'messages[1].tool_calls[0].id',
    ],
    [
      { messages: [user, { role: 'assistant', tool_calls: [chatCall] }, user] },
      'did not have response messages: c1',
      'messages[1].role',
    ],
    [
      { messages: [user, { role: 'assistant', tool_calls: [chatCall] }] },
      'did not have response messages: c1',
      'messages[1].role',
    ],
    [
      {
        messages: [
          user,
          { role: 'assistant', tool_calls: [chatCall] },
          {
            role: 'tool',
            tool_call_id: 'c1',
            content: [{ type: 'image_url', image_url: { url: 'https://a' } }],
          },
        ],
      },
      "'image_url'",
      'messages[2].content[0].type',
    ],
    [{ temperature: 2.1 }, 'at most 2', 'temperature'],
    [{ temperature: '1' }, 'a number', 'temperature'],
    [{ top_p: -0.1 }, 'at least 0', 'top_p'],
    [{ n: 0 }, 'at least 1', 'n'],
    [{ n: 1.5 }, 'an integer', 'n'],
    [{ max_tokens: 0 }, 'at least 1', 'max_tokens'],
    [{ max_tokens: 5, max_completion_tokens: 5 }, 'at the same time', 'max_tokens'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'at most 4', 'stop'],
    [{ stream_options: { include_usage: true } }, "when 'stream' is enabled", 'stream_options'],
    [{ top_logprobs: 3 }, "'logprobs'", 'top_logprobs'],
    [{ tools: [] }, 'at least 1', 'tools'],
    [{ tools: [{ ...chatTool, type: 'web_search' }] }, "'web_search'", 'tools[0].type'],
    [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'pattern', 'tools[0].function.name'],
    [
      { tools: [{ type: 'function', function: { name: 'a', parameters: { type: 'array' } } }] },
      'object',
      'tools[0].function.parameters',
    ],
    [{ tool_choice: 'auto' }, "when 'tools' are specified", 'tool_choice'],
    [{ parallel_tool_calls: true }, "when 'tools' are specified", 'parallel_tool_calls'],
    [
      { tools: [chatTool], tool_choice: { type: 'function', function: { name: 'g' } } },
      "'g' not found",
      'tool_choice.function.name',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a' } } },
      'Field required',
      'response_format.json_schema.schema',
    ],
    [{ model: 'sim+strict', max_output_tokens: 5 }, 'not permitted', 'max_output_tokens'],
  ],
  completions: [
    [{ prompt: undefined }, 'Field required', 'prompt'],
    [{ prompt: [] }, 'non-empty', 'prompt'],
    [{ prompt: ['a', 1] }, 'array of strings', 'prompt'],
    [{ n: 129 }, 'at most 128', 'n'],
    [{ presence_penalty: 3 }, 'at most 2', 'presence_penalty'],
    [{ best_of: 1, n: 2 }, 'at least n', 'best_of'],
    [{ stream: 'yes' }, 'a boolean', 'stream'],
    [{ model: 'sim+strict', messages: [user] }, 'not permitted', 'messages'],
  ],
  messages: [
    [{ max_tokens: undefined }, 'max_tokens: Field required'],
    [{ messages: [] }, 'messages: '],
    [{ messages: [{ role: 'tool', content: 'a' }] }, 'messages.0.role: '],
    [{ messages: [{ role: 'assistant', content: 'a' }, user] }, 'first message must use the user role'],
    [{ messages: [{ role: 'system', content: 'a' }, user] }, 'first message must use the user role'],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages.0: user messages must have non-empty content'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] },
      'text content blocks must be non-empty',
    ],
    [{ messages: [{ role: 'user', content: ' \n' }] }, 'must contain non-whitespace text'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'a' } }] }] },
      "'image_url'",
    ],
    [{ messages: [{ role: 'user', content: [use] }], tools: [tool] }, "'tool_use'"],
    [
      { messages: [user, { role: 'assistant', content: [use] }, user], tools: [tool] },
      'without `tool_result` blocks immediately after: c1',
    ],
    [
      { messages: [user, { role: 'assistant', content: [use] }], tools: [tool] },
      'without `tool_result` blocks immediately after: c1',
    ],
    [
      {
        messages: [user, { role: 'assistant', content: 'a' }, { role: 'user', content: [result] }],
        tools: [tool],
      },
      'unexpected `tool_use_id` found in `tool_result` blocks: c1',
    ],
    [
      {
        messages: [
          user,
          { role: 'assistant', content: [use] },
          { role: 'user', content: [{ type: 'text', text: 'a' }, result] },
        ],
        tools: [tool],
      },
      'must come first',
    ],
    [
      {
        messages: [user, { role: 'assistant', content: [use] }, { role: 'user', content: [result, result] }],
        tools: [tool],
      },
      'single result',
    ],
    [
      { messages: [user, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }] },
      'must define tools',
    ],
    [{ messages: [user, { role: 'assistant', content: [{ ...use, id: 'a.b' }] }], tools: [tool] }, 'pattern'],
    [
      { messages: [user, { role: 'assistant', content: [{ ...use, input: '{}' }] }], tools: [tool] },
      'an object',
    ],
    [{ thread: { type: 'create' } }, 'Message threads are not available here.'],
    [
      {
        messages: [
          user,
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: '' }] },
          user,
        ],
      },
      'messages.1.content.0: Invalid signature in thinking block',
    ],
    [
      { messages: [user, { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] }, user] },
      'Invalid data in redacted_thinking block',
    ],
    [
      { system: [cached, cached, cached, cached, cached] },
      'maximum of 4 blocks with cache_control may be provided. Found 5',
    ],
    [{ tools: [{ name: 'f' }] }, 'tools.0.input_schema: Field required'],
    [{ tools: [{ name: 'f', input_schema: {} }] }, 'tools.0.input_schema.type: '],
    [{ tools: [tool, tool] }, 'must be unique'],
    [{ tool_choice: { type: 'any' } }, 'while providing tools'],
    [{ tools: [tool], tool_choice: { type: 'tool', name: 'g' } }, "'g' not found"],
    [{ tools: [tool], tool_choice: { type: 'any' }, thinking: { type: 'adaptive' } }, 'forces tool use'],
    [{ thinking: { type: 'enabled', budget_tokens: 100 } }, 'at least 1024'],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, '`max_tokens` must be greater'],
    [{ thinking: { type: 'adaptive' }, temperature: 0.5 }, 'may only be set to 1'],
    [{ temperature: 1.5 }, 'temperature: '],
    [{ stop_sequences: [' '] }, 'non-whitespace'],
    [
      { model: 'sim+strict', max_completion_tokens: 5 },
      'max_completion_tokens: Extra inputs are not permitted',
    ],
    ...['sim+strict', 'claude-opus-4-6', 'claude-sonnet-5', 'us.anthropic.claude-opus-4-8-v1:0'].map(
      (model): [Bag, string] => [
        { model, messages: [user, { role: 'assistant', content: 'a' }] },
        'does not support assistant message prefill',
      ],
    ),
    ...['claude-fable-5-1', 'claude-opus-5-5'].map((model): [Bag, string] => [
      { model, tools: [tool], tool_choice: { type: 'any' } },
      'not supported for this model',
    ]),
    ...(
      [
        [{ type: 'object' }, "'additionalProperties' must be explicitly set to false"],
        [{ ...closed, properties: { a: { type: 'object' } } }, "'additionalProperties'"],
        [{ ...closed, properties: { a: { type: ['object', 'null'] } } }, "'additionalProperties'"],
        [{ ...closed, properties: { a: { type: 'integer', minimum: 1 } } }, "'minimum' is not supported"],
        [{ ...closed, properties: { a: { oneOf: [{ type: 'null' }] } } }, "'oneOf' is not supported"],
        [{ ...closed, properties: { a: { type: 'array', minItems: 2 } } }, "'minItems'"],
        [{ ...closed, properties: { a: { type: 'string', format: 'iri' } } }, "'iri' is not supported"],
        [{ ...closed, properties: { a: { $ref: 'https://h.example/a' } } }, 'external $ref'],
        [{ ...closed, properties: { a: { $ref: '#' } } }, 'Circular reference detected'],
        [
          { ...closed, $defs: { n: { ...closed, properties: { n: { $ref: '#/$defs/n' } } } } },
          'Circular reference detected in schema definitions: n -> n',
        ],
        [
          { $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { items: { $ref: '#/$defs/a' } } } },
          'a -> b -> a',
        ],
      ] as const
    ).map(([schema, message]): [Bag, string] => [
      { output_config: { format: { type: 'json_schema', schema } } },
      message,
    ]),
  ],
  responses: [
    [{ input: undefined }, 'Field required', 'input'],
    [{ input: [] }, 'at least 1', 'input'],
    [
      { input: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] },
      "'text'",
      'input[0].content[0].type',
    ],
    [
      { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }] },
      "'input_text'",
      'input[0].content[0].type',
    ],
    [{ input: [{ role: 'tool', content: 'a' }] }, "'tool'", 'input[0].role'],
    [
      { input: [{ type: 'function_call_output', call_id: 'c1', output: 'a' }] },
      'No tool call found for function call output with call_id c1',
      'input',
    ],
    [
      { input: [{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }] },
      'No tool output found for function call c1',
      'input',
    ],
    [
      {
        input: [
          { type: 'custom_tool_call', call_id: 'c1', name: 'f', input: '' },
          { type: 'function_call_output', call_id: 'c1', output: 'a' },
        ],
      },
      'No tool call found',
      'input',
    ],
    [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, "'rs_1' not found", 'input[0]'],
    [
      { input: [{ type: 'function_call', id: 'toolu_1', call_id: 'c1', name: 'f', arguments: '{}' }] },
      "begins with 'fc'",
      'input[0].id',
    ],
    [
      { input: [{ type: 'function_call', call_id: 'c'.repeat(65), name: 'f', arguments: '{}' }] },
      'should match pattern',
      'input[0].call_id',
    ],
    [
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }] },
      'could not be verified',
      'input[0]',
    ],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, "'msg_1' not found", 'input[0]'],
    [{ input: [{ type: 'wish' }] }, "'wish'", 'input[0].type'],
    [{ max_output_tokens: 15 }, 'at least 16', 'max_output_tokens'],
    [{ previous_response_id: 'resp_1' }, "'resp_1' not found", 'previous_response_id'],
    [{ background: true }, 'not supported', 'background'],
    [{ tools: [chatTool] }, 'Field required', 'tools[0].name'],
    [{ tools: [{ type: 'wish' }] }, "'wish'", 'tools[0].type'],
    [{ tool_choice: { type: 'function', name: 'g' } }, "'g' not found", 'tool_choice.name'],
    [{ text: { format: { type: 'json_schema', name: 'a' } } }, 'Field required', 'text.format.schema'],
    [{ reasoning: { summary: 'long' } }, "'long'", 'reasoning.summary'],
    [{ model: 'sim+strict', messages: [user] }, 'not permitted', 'messages'],
  ],
};

const cases = dialects.flatMap((dialect) =>
  wrong[dialect].map(([differs, message, param]) => ({
    dialect,
    differs,
    message,
    param,
    text: JSON.stringify(differs),
  })),
);

describe('a wrong request', () => {
  it.each(cases)('$dialect refuses $text', async ({ dialect, differs, message, param }) => {
    const { status, error, call } = await refused(dialect, request(dialect, differs));
    expect(status).toBe(400);
    expect(error.message).toContain(message);
    if (param !== undefined) expect(error.param).toBe(param);
    expect(call).toMatchObject({ ending: 'rejected', status: 400, tokens: { input: 0, output: 0 } });
  });

  it.each(dialects)('%s refuses it as JSON even when a stream was asked for', async (dialect) => {
    const response = await post(simulator.url, paths[dialect], request(dialect, { model: 5, stream: true }));
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json']);
    shapes[dialect].error.parse(await response.json());
  });

  it.each(dialects)(
    '%s refuses what is not a JSON object, not JSON at all, too large, or of another type',
    async (dialect) => {
      expect((await refused(dialect, '[1]')).status).toBe(400);
      expect((await refused(dialect, '{"model":')).status).toBe(400);
      expect((await refused(dialect, '')).status).toBe(400);
      expect((await refused(dialect, { model: 'x'.repeat(100_000) })).status).toBe(413);
      expect((await refused(dialect, request(dialect), { 'content-type': 'text/plain' })).status).toBe(415);
    },
  );

  it('unknown members are let through unless strictness is asked for', async () => {
    for (const dialect of dialects) {
      const response = await post(simulator.url, paths[dialect], request(dialect, { unheard_of: { a: 1 } }));
      expect(response.status).toBe(200);
    }
  });
});

describe('Mistral', () => {
  const call = { role: 'assistant', content: null, tool_calls: [chatCall] };
  const answered = { role: 'tool', tool_call_id: 'c1', content: 'ok' };
  const sent = (model: string, ...messages: Bag[]) => request('chat', { model, messages });

  it.each([
    [
      'a user message after a result',
      [user, call, answered, user],
      "Unexpected role 'user' after role 'tool'",
    ],
    [
      'system text after a result',
      [user, call, answered, { role: 'system', content: 'a' }],
      "Unexpected role 'system' after role 'tool'",
    ],
    [
      'a last message of the assistant',
      [user, { role: 'assistant', content: 'a' }],
      'Expected last role User or Tool',
    ],
  ])('refuses %s, which OpenAI takes', async (_, messages, message) => {
    const { status, error } = await refused('chat', sent('mistral-large-latest', ...messages));
    expect(status).toBe(400);
    expect(error).toMatchObject({ type: 'invalid_request_message_order', code: '3230' });
    expect(error.message).toContain(message);
    expect((await post(simulator.url, paths.chat, sent('sim', ...messages))).status).toBe(200);
  });

  it.each([
    ['a result and its answer', [user, call, answered]],
    ['an assistant message between', [user, call, answered, { role: 'assistant', content: 'ok' }, user]],
  ])('takes %s', async (_, messages) => {
    expect((await post(simulator.url, paths.chat, sent('devstral-2512', ...messages))).status).toBe(200);
  });
});

describe('messages', () => {
  it('of a Claude before 4.6, and of other models, may end with the assistant', async () => {
    const messages = [user, { role: 'assistant', content: 'a' }];
    for (const model of [
      'claude-sonnet-4-5',
      'claude-3-7-sonnet-20250219',
      'claude-haiku-4-5-20251001',
      'glm-5',
    ]) {
      const response = await post(simulator.url, paths.messages, request('messages', { model, messages }));
      expect([model, response.status]).toEqual([model, 200]);
    }
  });

  it('needs a version, and the newest one takes no sampling parameters', async () => {
    expect(
      (await refused('messages', request('messages'), { 'anthropic-version': '' })).error.message,
    ).toContain('header is required');
    const newest = await refused('messages', request('messages', { temperature: 1 }), {
      'anthropic-version': '2026-10-21',
    });
    expect(newest.error.message).toBe('temperature: Extra inputs are not permitted');
  });

  it('counts tokens without max_tokens, and just as strictly', async () => {
    const path = '/v1/messages/count_tokens';
    const { max_tokens: _, ...body } = request('messages');
    expect((await post(simulator.url, path, body)).status).toBe(200);
    expect((await post(simulator.url, path, { ...body, messages: [] })).status).toBe(400);
  });
});

describe('opaque reasoning state', () => {
  it('of messages is known by the simulator that made it, for its very text, and by no other', async () => {
    const body = request('messages', { max_tokens: 2000, thinking: { type: 'adaptive' } });
    const answer = (await (await post(simulator.url, paths.messages, body)).json()) as {
      content: { thinking?: string }[];
    };
    const again = (content: unknown) => ({ ...body, messages: [user, { role: 'assistant', content }, user] });
    expect((await post(simulator.url, paths.messages, again(answer.content))).status).toBe(200);
    expect((await post(foreign.url, paths.messages, again(answer.content))).status).toBe(400);
    const [thinking, ...rest] = answer.content;
    const changed = [{ ...thinking, thinking: `${thinking?.thinking} ` }, ...rest];
    expect((await refused('messages', again(changed))).error.message).toContain('Invalid signature');
  });

  it('of responses is known by the simulator that made it, and by no other', async () => {
    const body = request('responses', {
      reasoning: { effort: 'low' },
      include: ['reasoning.encrypted_content'],
    });
    const answer = (await (await post(simulator.url, paths.responses, body)).json()) as { output: unknown[] };
    const again = { ...body, input: [user, ...answer.output, user] };
    expect((await post(simulator.url, paths.responses, again)).status).toBe(200);
    const other = await post(foreign.url, paths.responses, again);
    expect(await other.json()).toMatchObject({ error: { code: 'invalid_encrypted_content' } });
  });
});

describe('other addresses', () => {
  it('answer 404, and 405 to a wrong method', async () => {
    const statusOf = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(simulator.url + path, init);
      shapes[path.startsWith('/v1/messages') ? 'messages' : 'chat'].error.parse(await response.json());
      return response.status;
    };
    expect(await statusOf('/v1/nowhere')).toBe(404);
    expect(await statusOf('/v1/messages/nowhere')).toBe(404);
    expect(await statusOf('/chat/completions', { method: 'POST', body: '{}' })).toBe(404);
    expect(await statusOf('/v1/messages')).toBe(405);
    expect(await statusOf('/v1/models', { method: 'POST', body: '{}' })).toBe(405);
  });

  it('a WebSocket handshake is answered 426, so that clients fall back to HTTP at once', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AA==',
    };
    const outgoing = httpRequest({ port: simulator.port, path: '/v1/responses', headers });
    outgoing.end();
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    expect(incoming.statusCode).toBe(426);
    incoming.resume();
    await once(incoming, 'end');
  });

  it('a model that is not listed is 404 where only listed ones answer', async () => {
    const closed = await startSimulator({ models: ['one'], onlyListedModels: true });
    for (const dialect of dialects) {
      const status = async (model: string) => {
        const response = await post(closed.url, paths[dialect], request(dialect, { model }));
        const body: unknown = await response.json();
        if (!response.ok) shapes[dialect].error.parse(body);
        return response.status;
      };
      expect([await status('one+tokens=1'), await status('two')]).toEqual([200, 404]);
    }
    await closed.close();
  });
});

async function refused(dialect: Dialect, body: unknown, headers: Record<string, string> = {}) {
  const response = await post(simulator.url, paths[dialect], body, headers);
  const { error } = shapes[dialect].error.parse(await response.json());
  const call = simulator.calls().at(-1);
  return { status: response.status, error: error as { message: string; param?: string | null }, call };
}
