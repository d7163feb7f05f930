// Every answer follows its dialect to the letter: plain, and event by event, through all the ways an answer can go.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';
import { modelShapes, shapes } from './shapes.ts';
import type { Dialect, Event } from './support.ts';
import { dialects, parseEvents, paths, post, request } from './support.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(async () => {
  await simulator.close();
});

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const png = 'iVBORw0KGgo=';

const chatTools = [
  { type: 'function', function: { name: 'weather', parameters: schema } },
  { type: 'custom', custom: { name: 'shell' } },
];
const messagesTools = [{ name: 'weather', input_schema: schema }];
const responsesTools = [
  { type: 'function', name: 'weather', parameters: schema, strict: true },
  { type: 'custom', name: 'shell' },
  { type: 'namespace', name: 'team', tools: [{ type: 'function', name: 'ask', parameters: null }] },
  { type: 'web_search' },
];

// What differs from the smallest request.
const requests: Record<Dialect, Record<string, Record<string, unknown>>> = {
  chat: {
    'the smallest request': {},
    'two samples': { n: 2 },
    'log probabilities': { logprobs: true, top_logprobs: 2 },
    'a limit': { max_completion_tokens: 3 },
    'a limit of old': { max_tokens: 3 },
    'a stop': { stop: ['simulator'] },
    reasoning: { reasoning_effort: 'low' },
    'reasoning that eats the limit': { reasoning_effort: 'high', max_completion_tokens: 3 },
    'a tool': { tools: chatTools },
    'a custom tool': { tools: chatTools, tool_choice: { type: 'custom', custom: { name: 'shell' } } },
    'parallel calls and reasoning': { model: 'sim+calls=3', tools: chatTools, reasoning_effort: 'low' },
    'a call cut short': { tools: chatTools, max_tokens: 4 },
    'no tool': { tools: chatTools, tool_choice: 'none' },
    'functions of old': { functions: [{ name: 'weather', parameters: schema }] },
    'structured output': {
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
    },
    'a JSON object': { response_format: { type: 'json_object' } },
    'a refusal': { model: 'sim+refusal' },
    'a filtered answer': { model: 'sim+filter' },
    'cached input': { model: 'sim+cached=3+cache-write=2' },
    'parts of all kinds': {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
            { type: 'input_audio', input_audio: { data: png, format: 'wav' } },
            { type: 'file', file: { file_id: 'file-1' } },
          ],
        },
      ],
    },
    'null for everything optional': {
      stream_options: null,
      n: null,
      stop: null,
      tools: null,
      temperature: null,
      max_tokens: null,
    },
  },
  completions: {
    'the smallest request': {},
    'two prompts, two samples': { prompt: ['a', 'b'], n: 2 },
    'the default limit': { max_tokens: null, model: 'sim+tokens=30' },
    'an echo': { echo: true },
    'log probabilities': { logprobs: 1 },
    'token ids': { prompt: [1, 2, 3] },
    'lists of token ids': { prompt: [[1, 2], [3]] },
    'a stop': { stop: 'simulator' },
    'hidden reasoning': { model: 'sim+reasoning=5' },
    'a filtered answer': { model: 'sim+filter' },
  },
  messages: {
    'the smallest request': {},
    'a limit': { max_tokens: 3 },
    'a limit of nothing': { max_tokens: 0 },
    'a stop': { stop_sequences: ['nowhere', 'simulator'] },
    thinking: { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } },
    'thinking that is not shown': {
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'low' },
    },
    'redacted thinking': { model: 'sim+redacted', thinking: { type: 'adaptive' } },
    'thinking that eats the limit': { max_tokens: 2, thinking: { type: 'adaptive' } },
    'a tool': { tools: messagesTools },
    'a forced tool': { tools: messagesTools, tool_choice: { type: 'tool', name: 'weather' } },
    'a tool without arguments': {
      tools: [{ name: 'now', input_schema: { type: 'object' }, type: 'custom' }],
    },
    'thinking, then parallel calls': {
      model: 'sim+calls=2',
      tools: messagesTools,
      thinking: { type: 'adaptive' },
    },
    'a call that does not fit': { tools: messagesTools, max_tokens: 4 },
    'structured output': {
      output_config: { format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } } },
    },
    'a refusal': { model: 'sim+refusal' },
    'cached input': { model: 'sim+cached=3+cache-write=2' },
    'blocks of all kinds': {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } },
          ],
        },
        { role: 'system', content: 'Mind the time.' },
      ],
    },
  },
  responses: {
    'the smallest request': {},
    'a limit': { model: 'sim+tokens=40', max_output_tokens: 16 },
    'reasoning without a summary': { reasoning: { effort: 'low' } },
    'reasoning with a summary and its state': {
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    },
    'a tool': { tools: responsesTools },
    'a custom tool': { tools: responsesTools, tool_choice: { type: 'custom', name: 'shell' } },
    'a tool in a namespace': { model: 'sim+tool=ask', tools: responsesTools },
    'parallel calls and reasoning': {
      model: 'sim+calls=3',
      tools: responsesTools,
      reasoning: { effort: 'low' },
    },
    'a call cut short': { model: 'sim+reasoning=12', tools: responsesTools, max_output_tokens: 16 },
    'structured output': { text: { format: { type: 'json_schema', name: 'a', schema, strict: true } } },
    'log probabilities': { include: ['message.output_text.logprobs'], top_logprobs: 1 },
    'a refusal': { model: 'sim+refusal' },
    'a filtered answer': { model: 'sim+filter' },
    'cached input': { model: 'sim+cached=3' },
    'a compaction': { input: [{ role: 'user', content: 'Hello' }, { type: 'compaction_trigger' }] },
    'items of all kinds': {
      instructions: 'Be brief.',
      input: [
        { type: 'additional_tools', role: 'developer', tools: responsesTools },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'a' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: 'https://example.com/a.png' },
          ],
        },
        { role: 'assistant', content: [{ type: 'output_text', text: 'b', annotations: [] }] },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      ],
    },
  },
};

const cases = dialects.flatMap((dialect) =>
  Object.entries(requests[dialect]).map(([name, differs]) => ({ dialect, name, differs })),
);

describe('an answer follows the dialect to the letter', () => {
  it.each(cases)('$dialect: $name, plain', async ({ dialect, differs }) => {
    const response = await post(simulator.url, paths[dialect], request(dialect, differs));
    const body: unknown = await response.json();
    expect(response.status, JSON.stringify(body)).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    shapes[dialect].answer.parse(body);
  });

  it.each(cases)('$dialect: $name, streamed', async ({ dialect, differs }) => {
    const includesUsage = dialect === 'chat' || dialect === 'completions';
    const options = includesUsage ? { stream_options: { include_usage: true } } : {};
    const events = await stream(dialect, { ...differs, ...options });
    checkOrder[dialect](events);
    const ends = includesUsage ? events.slice(0, -1) : events;
    for (const { data } of ends) shapes[dialect].event.parse(data);
  });

  it.each(['crlf', 'noise', 'chunk=5', 'pace=1'])('a stream with %s says the same', async (directive) => {
    const strip = (events: Event[]) =>
      JSON.stringify(events).replaceAll(/sim[0-9a-f]{16}|"created(_at)?":\d+|"completed_at":\d+/g, '');
    for (const dialect of dialects) {
      if (directive === 'chunk=5') {
        expect((await stream(dialect, { model: 'sim-small+chunk=5' })).length).toBeLessThan(
          (await stream(dialect, {})).length,
        );
      } else
        expect(strip(await stream(dialect, { model: `sim-small+${directive}` }))).toBe(
          strip(await stream(dialect, {})),
        );
    }
  });
});

async function stream(dialect: Dialect, differs: Record<string, unknown>): Promise<Event[]> {
  const response = await post(simulator.url, paths[dialect], request(dialect, { ...differs, stream: true }));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  return parseEvents(text);
}

type Bag = Record<string, unknown>;
const typeOf = (event: Event): unknown => (event.data as Bag).type;

const checkOrder: Record<Dialect, (events: Event[]) => void> = {
  chat: checkChunks,
  completions: checkChunks,
  messages: (events) => {
    for (const event of events) expect(event.event).toBe(typeOf(event));
    const types = events.map(typeOf);
    expect(types[0]).toBe('message_start');
    expect(types.slice(-2)).toEqual(['message_delta', 'message_stop']);
    // Blocks are numbered from 0 and never overlap.
    let [open, next] = [-1, 0];
    for (const { data } of events) {
      const { type, index } = data as { type: string; index: number };
      if (type === 'content_block_start') {
        expect([open, index]).toEqual([-1, next]);
        open = index;
        next += 1;
      } else if (type === 'content_block_delta') expect(index).toBe(open);
      else if (type === 'content_block_stop') {
        expect(index).toBe(open);
        open = -1;
      }
    }
    expect(open).toBe(-1);
  },
  responses: (events) => {
    for (const event of events) expect(event.event).toBe(typeOf(event));
    const types = events.map(typeOf);
    expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    expect(['response.completed', 'response.incomplete']).toContain(types.at(-1));
    expect(events.map(({ data }) => (data as Bag).sequence_number)).toEqual(events.map((_, at) => at));
    // Every item that is done is the item of the final response, under the id its events had.
    const done = events.filter((event) => typeOf(event) === 'response.output_item.done');
    const last = events.at(-1)?.data as { response: { output: unknown[] } };
    expect(done.map(({ data }) => (data as Bag).item)).toEqual(last.response.output);
    const ids = last.response.output.map((item) => (item as Bag).id);
    for (const { data } of events) {
      const { item_id: id, output_index: index } = data as { item_id?: string; output_index?: number };
      if (id !== undefined && index !== undefined) expect(id).toBe(ids[index]);
    }
  },
};

function checkChunks(events: Event[]): void {
  for (const { event } of events) expect(event).toBeUndefined();
  expect(events.at(-1)?.data).toBe('[DONE]');
  const chunks = events
    .slice(0, -1)
    .map(
      ({ data }) =>
        data as { id: string; choices: { index: number; finish_reason: string | null }[]; usage: unknown },
    );
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  const last = chunks.at(-1);
  expect(last?.choices).toEqual([]);
  expect(last?.usage).not.toBeNull();
  expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  const finished = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.finish_reason !== null));
  const indexes = new Set(chunks.flatMap(({ choices }) => choices.map((choice) => choice.index)));
  expect(finished.map((choice) => choice.index)).toEqual([...indexes].sort());
}

describe('a chat stream', () => {
  it('begins with empty content, or with null where a call comes first', async () => {
    const begin = async (differs: Record<string, unknown>) => {
      const [first] = await stream('chat', differs);
      return (first?.data as { choices: { delta: unknown }[] } | undefined)?.choices[0]?.delta;
    };
    expect(await begin({})).toEqual({ role: 'assistant', content: '', refusal: null });
    expect(await begin({ tools: chatTools })).toEqual({ role: 'assistant', content: null, refusal: null });
  });
});

describe('a stream without include_usage', () => {
  it.each(['chat', 'completions'] as const)('has no usage member in any chunk of %s', async (dialect) => {
    const response = await post(simulator.url, paths[dialect], request(dialect, { stream: true }));
    expect(await response.text()).not.toContain('usage');
  });
});

describe('the model listing', () => {
  it('has one body for both SDK families', async () => {
    const response = await fetch(`${simulator.url}/v1/models`);
    const list = modelShapes.list.parse(await response.json());
    expect(list.data.map(({ id }) => id)).toEqual(['sim-small', 'sim-large', 'sim-reasoner']);
    expect([list.first_id, list.last_id]).toEqual(['sim-small', 'sim-reasoner']);
  });

  it('answers for one model, with an encoded slash in its id or a plain one', async () => {
    const other = await startSimulator({ models: ['acme/a'] });
    for (const path of ['/v1/models/acme%2Fa', '/v1/models/acme/a']) {
      const response = await fetch(other.url + path);
      expect(modelShapes.entry.parse(await response.json()).id).toBe('acme/a');
    }
    const missing = await fetch(`${other.url}/v1/models/acme/b`);
    expect([missing.status, shapes.chat.error.parse(await missing.json()).error.code]).toEqual([
      404,
      'model_not_found',
    ]);
    expect((await fetch(`${other.url}/v1/models/%zz`)).status).toBe(404);
    await other.close();
  });
});
