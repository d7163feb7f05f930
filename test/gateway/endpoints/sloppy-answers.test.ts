// What does a caller get of an upstream that does not keep to its dialect? The answer, wherever it can be understood;
// else words for what is wrong with it.

import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { type Answered, errorOf, post, recordOf, recordsOf } from './ask.ts';

const paths = {
  'openai-chat': '/v1/chat/completions',
  'openai-completions': '/v1/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
} as const satisfies Record<DialectName, string>;

const dialects = ['openai-chat', 'openai-completions', 'openai-responses', 'anthropic-messages'] as const;

const messages = [{ role: 'user', content: 'x' }];
const questions = {
  'openai-chat': { model: 'm', messages },
  'openai-completions': { model: 'm', prompt: 'x' },
  'openai-responses': { model: 'm', input: 'x' },
  'anthropic-messages': { model: 'm', max_tokens: 50, messages },
} as const satisfies Record<DialectName, object>;

const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };
const head = { id: 'c1', created: 1, model: 'u' };

/** A plain answer "Hi", as each dialect has it. */
const plain = {
  'openai-chat': {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage,
  },
  'openai-completions': {
    ...head,
    object: 'text_completion',
    choices: [{ index: 0, text: 'Hi', logprobs: null, finish_reason: 'stop' }],
    usage,
  },
  'openai-responses': {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'u',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
      },
    ],
    usage: { input_tokens: 2, output_tokens: 1, total_tokens: 3 },
  },
  'anthropic-messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'u',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 2, output_tokens: 1 },
  },
} as const satisfies Record<DialectName, object>;

const chunk = (delta: object, finish: string | null = null, more: object = {}): object => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const frame = (data: unknown): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const done = frame('[DONE]');
const hi = [frame(chunk({ role: 'assistant', content: 'Hi' })), frame(chunk({}, 'stop')), done].join('');

let wall: Wall;
const rigs = new Map<DialectName, Rig>();

beforeAll(async () => {
  wall = await startWall();
  for (const dialect of dialects) {
    const target = { baseUrl: wall.baseUrl, dialects: [dialect], providerEntry: { dialects: [dialect] } };
    rigs.set(dialect, await startRig(tableOf([target])));
  }
});

afterAll(async () => {
  for (const rig of rigs.values()) await rig.close();
  await wall.close();
});

beforeEach(() => {
  for (const rig of rigs.values()) rig.records.length = 0;
});

function rigOf(dialect: DialectName): Rig {
  const rig = rigs.get(dialect);
  if (!rig) throw new Error(`no upstream speaks ${dialect}`);
  return rig;
}

/** The upstream answers with exactly this. */
function answers(body: string | Buffer, headers: Readonly<Record<string, string>>): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(body);
  wall.script({
    type: 'raw',
    bytes: Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join('')}content-length: ${bytes.length}\r\n\r\n`),
      bytes,
    ]),
    followedBy: 'keep-alive',
  });
}

const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

function ask(client: DialectName, upstream: DialectName, more: object = {}): Promise<Answered> {
  return post(rigOf(upstream), paths[client], { ...questions[client], ...more });
}

/** What was said, in whatever dialect and form it came. */
function textOf(answer: Answered): string {
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${answer.text}`);
  const isStream = String(answer.headers['content-type']).startsWith('text/event-stream');
  const parts = isStream
    ? answer.events.flatMap(({ data }) => (data === undefined || data === '[DONE]' ? [] : [JSON.parse(data)]))
    : [answer.json];
  return parts.map((part) => textIn(recordOf(part), isStream)).join('');
}

function textIn(value: Record<string, unknown>, isStream: boolean): string {
  if (Array.isArray(value.choices)) {
    return recordsOf(value.choices)
      .map(({ delta, message, text }) => text ?? recordOf(delta ?? message ?? {}).content ?? '')
      .join('');
  }
  if (isStream) {
    if (value.type === 'response.output_text.delta') return String(value.delta);
    return value.type === 'content_block_delta' ? String(recordOf(value.delta).text) : '';
  }
  const list = recordsOf(value.output ?? value.content);
  return list
    .flatMap((item) => (Array.isArray(item.content) ? recordsOf(item.content) : [item]))
    .map(({ text }) => text ?? '')
    .join('');
}

describe('a content-encoding of a plain body', () => {
  test.each(['', 'identity', 'none', 'utf-8', 'Identity, '])('%j counts as absent', async (encoding) => {
    answers(JSON.stringify(plain['openai-chat']), { ...json, 'content-encoding': encoding });
    expect(textOf(await ask('openai-chat', 'openai-chat'))).toBe('Hi');
    answers(hi, { ...events, 'content-encoding': encoding });
    expect(textOf(await ask('openai-chat', 'openai-chat', { stream: true }))).toBe('Hi');
  });
});

describe('a byte order mark before a plain answer', () => {
  test.each(dialects)('%s: is removed, for a client of the same dialect too', async (dialect) => {
    answers(`\uFEFF${JSON.stringify(plain[dialect])}`, json);
    const answer = await ask(dialect, dialect);
    expect(textOf(answer)).toBe('Hi');
    expect(answer.body[0]).toBe('{'.charCodeAt(0));
  });

  test('is removed from an error, too', async () => {
    const body = Buffer.from(`\uFEFF${JSON.stringify({ error: { message: 'too hot' } })}`);
    const bytes = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    wall.script({ type: 'raw', bytes, followedBy: 'keep-alive' });
    expect(errorOf(await ask('openai-chat', 'openai-chat')).message).toBe('too hot');
  });
});

describe('an empty error beside an answer', () => {
  const empties = [{}, [], { code: 0, message: '' }, { message: null }];
  test.each(empties.map((error) => [JSON.stringify(error), error]))(
    '%s: the plain answer is served',
    async (_, error) => {
      answers(JSON.stringify({ ...plain['openai-chat'], error }), json);
      for (const client of dialects) expect(textOf(await ask(client, 'openai-chat'))).toBe('Hi');
    },
  );

  test.each(empties.map((error) => [JSON.stringify(error), error]))(
    '%s: the stream is served, and no chunk of it makes a client throw',
    async (_, error) => {
      const stream = [
        frame(chunk({ role: 'assistant', content: 'Hi' }, null, { error })),
        frame(chunk({ content: ' you' }, null, { error })),
        frame(chunk({}, 'stop', { error })),
        done,
      ];
      answers(stream.join(''), events);
      for (const client of dialects) {
        const answer = await ask(client, 'openai-chat', { stream: true });
        expect(textOf(answer)).toBe('Hi you');
        // The OpenAI SDK for Node raises on any that is truthy.
        if (client === 'openai-chat') expect(answer.text).not.toContain('"error"');
      }
    },
  );

  test('alone it is an error', async () => {
    answers('{"error":{}}', json);
    expect((await ask('openai-chat', 'openai-chat')).status).toBe(502);
  });
});

describe('an event with null', () => {
  test.each(['null', ' null ', '""'])(
    '%s as the first event: the stream behind it is served',
    async (data) => {
      answers(frame(data) + hi, events);
      for (const client of dialects) {
        expect(textOf(await ask(client, 'openai-chat', { stream: true }))).toBe('Hi');
      }
    },
  );

  test('in the middle of a stream is skipped', async () => {
    const [first, ...rest] = hi.split(/(?<=\n\n)/);
    answers([first, frame('null'), frame('null'), ...rest].join(''), events);
    for (const client of dialects) {
      expect(textOf(await ask(client, 'openai-chat', { stream: true }))).toBe('Hi');
    }
  });
});

/** The chunks that a client of chat completions is sent. */
async function chunksOf(stream: string, more: object = {}): Promise<Record<string, unknown>[]> {
  answers(stream, events);
  const answer = await ask('openai-chat', 'openai-chat', { stream: true, ...more });
  if (answer.status !== 200) throw new Error(answer.text);
  const data = answer.events.map((event) => event.data ?? '');
  expect(data.at(-1)).toBe('[DONE]');
  return data.slice(0, -1).map((text) => recordOf(JSON.parse(text)));
}

const choiceOf = (sent: Record<string, unknown>): Record<string, unknown> => {
  const [choice] = recordsOf(sent.choices);
  if (!choice) throw new Error('a chunk without a choice');
  return choice;
};

describe('the head of each chunk', () => {
  const promptFilter = {
    choices: [],
    created: 0,
    id: '',
    model: '',
    object: '',
    prompt_filter_results: [{}],
  };
  const without =
    (...names: string[]) =>
    (data: object) =>
      Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)));
  const text = [chunk({ role: 'assistant', content: 'a' }), chunk({ content: 'b' }), chunk({ content: 'c' })];
  const end = chunk({}, 'stop');
  test.each<[string, readonly object[]]>([
    ['an empty first chunk', [promptFilter, ...text, end]],
    ['an id on the first chunk alone', [text[0] ?? {}, ...[...text.slice(1), end].map(without('id'))]],
    ['empty ids later', [text[0] ?? {}, ...[...text.slice(1), end].map((data) => ({ ...data, id: '' }))]],
    ['an id on the last chunk alone', [...text.map(without('id')), end]],
    ['another id on every chunk', [...text, end].map((data, at) => ({ ...data, id: `c${at}` }))],
    ['no head at all', [...text, end].map(without('id', 'object', 'created', 'model'))],
    [
      'nothing that is of the right type',
      [...text, end].map((data) => ({ ...data, id: 7, created: '1', model: null })),
    ],
    [
      'no id, behind all else',
      [...text, end].map(without('id')).map(({ choices, ...rest }) => ({ choices, ...rest })),
    ],
  ])('%s: all get one id, and a valid time and model', async (_, sent) => {
    const stream = sent.map(frame).join('') + done;
    const got = await chunksOf(stream);
    expect(got.map((one) => recordOf(choiceOf(one).delta).content ?? '').join('')).toBe('abc');
    expect(new Set(got.map(({ id }) => id)).size).toBe(1);
    for (const { id, created, model, object } of got) {
      expect(id).toMatch(/./);
      expect(created).toBeGreaterThan(0);
      expect(model).toMatch(/^[um]$/);
      expect(object).toBe('chat.completion.chunk');
    }
  });

  test('a complete chunk is forwarded unchanged among incomplete ones', async () => {
    const odd = frame(chunk({ content: 'b' })).replace('"created":1', '"created" : 1.0e0');
    answers(
      [
        frame(chunk({ content: 'a' })),
        odd,
        frame({ ...chunk({ content: 'c' }), id: '' }),
        frame(end),
        done,
      ].join(''),
      events,
    );
    const { text: sent } = await ask('openai-chat', 'openai-chat', { stream: true });
    expect(sent).toContain(odd);
    expect(sent).toContain(frame(chunk({ content: 'c' })));
  });

  test('a plain answer gets one too', async () => {
    const { choices } = plain['openai-chat'];
    answers(JSON.stringify({ choices, id: '', created: 0 }), json);
    const answer = recordOf((await ask('openai-chat', 'openai-chat')).json);
    expect(answer).toMatchObject({ object: 'chat.completion', model: 'm', choices });
    expect(answer.id).toMatch(/^chatcmpl-./);
    expect(answer.created).toBeGreaterThan(0);
  });
});

describe('chunks without a choice', () => {
  const empty = frame({ ...head, object: 'chat.completion.chunk', choices: [] });
  const usageChunk = frame({ ...head, object: 'chat.completion.chunk', choices: [], usage });
  const [first = '', finish = ''] = hi.split(/(?<=\n\n)/);
  const withUsage = { stream_options: { include_usage: true } };
  const streams: readonly [string, string][] = [
    ['one in front', empty + first + finish + usageChunk + done],
    ['usage in front and behind', usageChunk + first + finish + usageChunk + done],
    ['usage before the finish reason', first + usageChunk + finish + done],
    ['many, without any finish reason', first + empty + usageChunk + empty + done],
  ];
  test.each(streams)('%s: none is sent to a client that has not asked for usage', async (_, stream) => {
    for (const sent of await chunksOf(stream)) expect(sent.choices).toHaveLength(1);
  });

  test.each(streams)('%s: one is sent after the finish, if usage was asked for', async (_, stream) => {
    const sent = await chunksOf(stream, withUsage);
    expect(sent.map(({ choices }) => recordsOf(choices).length)).toEqual([...sent.slice(1).map(() => 1), 0]);
    expect(sent.at(-1)).toMatchObject({ usage });
    expect(choiceOf(sent.at(-2) ?? {}).finish_reason).toBe('stop');
  });
});

describe('an end without a finish reason', () => {
  const text = frame(chunk({ role: 'assistant', content: 'Hi' }));
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const called = frame(chunk({ role: 'assistant', tool_calls: [call] }));
  test.each([
    ['text', text, 'stop'],
    ['a call', called, 'tool_calls'],
    ['text and a call', text + called, 'tool_calls'],
    ['the word for none', frame(chunk({ content: 'Hi' }, 'null')), 'stop'],
  ])('%s: a last chunk says %s', async (_, stream, reason) => {
    const sent = await chunksOf(stream + done);
    expect(choiceOf(sent.at(-1) ?? {})).toEqual({
      index: 0,
      delta: {},
      logprobs: null,
      finish_reason: reason,
    });
    expect(sent.slice(0, -1).map((one) => choiceOf(one).finish_reason ?? null)).not.toContain('null');
  });

  test('a client of completions gets it too', async () => {
    answers(
      frame({ ...head, object: 'text_completion', choices: [{ index: 0, text: 'Hi' }] }) + done,
      events,
    );
    const { events: sent } = await ask('openai-completions', 'openai-completions', { stream: true });
    const reasons = sent
      .slice(0, -1)
      .map(({ data }) => choiceOf(recordOf(JSON.parse(data ?? ''))).finish_reason);
    expect(reasons).toEqual([undefined, 'stop']);
  });

  test('a plain answer gets it too', async () => {
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    answers(
      JSON.stringify({ ...plain['openai-chat'], choices: [{ index: 0, message, finish_reason: null }] }),
      json,
    );
    expect(choiceOf(recordOf((await ask('openai-chat', 'openai-chat')).json)).finish_reason).toBe(
      'tool_calls',
    );
  });

  test('without the end marker the answer is broken off', async () => {
    answers(text, events);
    const { events: sent } = await ask('openai-chat', 'openai-chat', { stream: true });
    expect(recordOf(JSON.parse(sent.at(-1)?.data ?? ''))).toHaveProperty('error');
  });
});

describe('calls without ids', () => {
  const fn = { name: 'f', arguments: '{}' };
  const named: readonly [string, readonly object[]][] = [
    ['no ids', [0, 1, 2].map((index) => ({ index, type: 'function', function: fn }))],
    [
      'none, empty and null',
      [
        { index: 0, function: fn },
        { index: 1, id: '', function: fn },
        { index: 2, id: null, function: fn },
      ],
    ],
    ['neither ids nor indexes', [{ function: fn }, { function: fn }, { function: fn }]],
    ['one id for all', [0, 1, 2].map((index) => ({ index, id: 'x', function: fn }))],
    ['one index for all', ['x', 'y', 'z'].map((id) => ({ index: 0, id, function: fn }))],
    [
      'arguments that are objects',
      [0, 1, 2].map((index) => ({ index, function: { name: 'f', arguments: {} } })),
    ],
  ];
  const sound = (calls: readonly Record<string, unknown>[]): void => {
    expect(calls).toHaveLength(3);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    for (const call of calls) {
      expect(call).toMatchObject({ id: expect.stringMatching(/./), type: 'function', function: fn });
    }
  };

  test.each(named)('%s, in one chunk: three calls', async (_, calls) => {
    const sent = await chunksOf(
      frame(chunk({ role: 'assistant', tool_calls: calls })) + frame(chunk({}, 'tool_calls')) + done,
    );
    const got = sent.flatMap((one) => recordsOf(recordOf(choiceOf(one).delta).tool_calls ?? []));
    sound(got);
    expect(got.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test.each(named)('%s, in a chunk each: three calls', async (_, calls) => {
    const pieces = calls.map((call) => frame(chunk({ tool_calls: [call] })));
    const sent = await chunksOf([...pieces, frame(chunk({}, 'tool_calls')), done].join(''));
    const got = sent.flatMap((one) => recordsOf(recordOf(choiceOf(one).delta).tool_calls ?? []));
    sound(got);
    expect(got.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test.each(named)('%s, in a plain answer: three calls', async (_, calls) => {
    const message = { role: 'assistant', content: null, tool_calls: calls };
    answers(
      JSON.stringify({
        ...plain['openai-chat'],
        choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      }),
      json,
    );
    const answer = recordOf((await ask('openai-chat', 'openai-chat')).json);
    sound(recordsOf(recordOf(choiceOf(answer).message).tool_calls));
  });

  test('pieces of arguments stay with their call', async () => {
    const pieces = [
      [{ function: { name: 'f', arguments: '{"a"' } }],
      [{ function: { arguments: ':1}' } }],
      [{ function: { name: 'g', arguments: '' } }],
      [{ function: { arguments: '{"b":' } }],
      [{ function: { arguments: '2}' } }],
    ];
    const stream = pieces.map((calls) => frame(chunk({ tool_calls: calls }))).join('');
    const sent = await chunksOf(stream + frame(chunk({}, 'tool_calls')) + done);
    const got = sent.flatMap((one) => recordsOf(recordOf(choiceOf(one).delta).tool_calls ?? []));
    expect(got.map(({ index }) => index)).toEqual([0, 0, 1, 1, 1]);
    expect(got.map((call) => recordOf(call.function).arguments).join('')).toBe('{"a":1}{"b":2}');
  });
});

describe('invalid counts of tokens', () => {
  const absurd = [
    [{ ...usage, prompt_tokens: -5 }, undefined],
    [{ ...usage, completion_tokens: 1e308 }, undefined],
    [{ ...usage, prompt_tokens: 'many' }, undefined],
    [{ ...usage, prompt_tokens: '2' }, usage],
    [{ ...usage, completion_tokens_details: { reasoning_tokens: -1 } }, usage],
    [{ ...usage, total_tokens: 3.5 }, usage],
  ] as const;
  test.each(absurd)('%j: a plain answer says %j', async (reported, wanted) => {
    answers(JSON.stringify({ ...plain['openai-chat'], usage: reported }), json);
    expect(recordOf((await ask('openai-chat', 'openai-chat')).json).usage).toEqual(wanted);
  });

  test.each(absurd)('%j: a stream says %j', async (reported, wanted) => {
    const [first = '', finish = ''] = hi.split(/(?<=\n\n)/);
    const last = frame({ ...head, object: 'chat.completion.chunk', choices: [], usage: reported });
    const sent = await chunksOf(first + finish + last + done, { stream_options: { include_usage: true } });
    expect(sent.at(-1)?.usage).toEqual(wanted);
  });

  test('prices and times beside them are kept', async () => {
    const reported = { ...usage, cost: 0.0014, queue_time: 0.25, completion_tokens_details: null };
    answers(JSON.stringify({ ...plain['openai-chat'], usage: reported }), json);
    expect(recordOf((await ask('openai-chat', 'openai-chat')).json).usage).toEqual(reported);
  });
});

describe('a plain answer to a request for a stream', () => {
  const labels = [json, events, {}];
  test.each(dialects.flatMap((upstream) => labels.map((headers) => ({ upstream, headers }))))(
    '$upstream, labelled $headers: every client gets it as a stream',
    async ({ upstream, headers }) => {
      answers(JSON.stringify(plain[upstream], null, 1), headers);
      for (const client of dialects) {
        const answer = await ask(client, upstream, { stream: true });
        expect(answer.headers['content-type']).toContain('text/event-stream');
        expect([client, textOf(answer)]).toEqual([client, 'Hi']);
      }
      expect(rigOf(upstream).records.map(({ usage: { output } }) => output)).toEqual([1, 1, 1, 1]);
    },
  );

  test('blank lines before it are skipped', async () => {
    answers(`\n\n  \n${JSON.stringify(plain['openai-chat'])}`, json);
    expect(textOf(await ask('anthropic-messages', 'openai-chat', { stream: true }))).toBe('Hi');
  });

  test.each(dialects)('%s: a call is whole in it', async (dialect) => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
    const item = {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'f',
      arguments: '{"a":1}',
    };
    const block = { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } };
    const called = {
      'openai-chat': {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls: [call] },
            finish_reason: 'tool_calls',
          },
        ],
      },
      'openai-completions': {},
      'openai-responses': { output: [item] },
      'anthropic-messages': { content: [block], stop_reason: 'tool_use' },
    };
    if (dialect === 'openai-completions') return;
    answers(JSON.stringify({ ...plain[dialect], ...called[dialect] }), json);
    for (const client of [dialect, 'openai-chat', 'anthropic-messages', 'openai-responses'] as const) {
      const { text } = await ask(client, dialect, { stream: true });
      expect(text).toContain('{\\"a\\":1}');
    }
  });

  test.each([json, events])('an error labelled %j is read as that error', async (headers) => {
    const error = { message: 'slow down', type: 'rate_limit_error' };
    for (const upstream of dialects) {
      const rig = await startRig(
        tableOf([{ baseUrl: wall.baseUrl, dialects: [upstream], providerEntry: { dialects: [upstream] } }]),
      );
      answers(JSON.stringify({ error }), headers);
      const answer = await post(rig, paths[upstream], { ...questions[upstream], stream: true });
      expect([upstream, answer.status, rig.records.at(-1)?.failure]).toEqual([upstream, 429, 'error_event']);
      await rig.close();
    }
  });
});

describe('a stream in answer to a plain request', () => {
  const only = (dialect: DialectName): string => frame(plain[dialect]);
  test.each(dialects)('%s: the plain answer as the only event is the answer', async (upstream) => {
    for (const headers of [json, events]) {
      for (const end of ['', done]) {
        answers(only(upstream) + end, headers);
        for (const client of dialects) expect(textOf(await ask(client, upstream))).toBe('Hi');
      }
    }
  });

  test('a whole stream is joined to a plain answer', async () => {
    answers(hi, events);
    for (const client of dialects) expect(textOf(await ask(client, 'openai-chat'))).toBe('Hi');
  });

  test('a truncated stream is not an answer, and the error says what arrived', async () => {
    answers(frame(chunk({ content: 'H' })) + frame(chunk({ content: 'i' })), events);
    const answer = await ask('openai-chat', 'openai-chat');
    expect(answer.status).toBe(502);
    expect(errorOf(answer).message).toContain('a stream instead of one body');
  });
});

describe('the error of an answer reaches its caller, the log and the record', () => {
  const page = '<!DOCTYPE html><p>sk-SECRET</p>';
  test.each<[string, string | Buffer, Record<string, string>, boolean, RegExp]>([
    ['gzip', gzipSync('{}'), { ...json, 'content-encoding': 'gzip' }, false, /encoded as gzip/],
    ['gzip without a word', gzipSync('{}'), json, false, /compressed with gzip/],
    ['gzip in a stream without a word', gzipSync('{}'), events, true, /compressed with gzip/],
    ['a page', page, { 'content-type': 'text/html; charset=utf-8' }, false, /is text\/html, neither/],
    ['a page that is called JSON', page, json, false, /it is HTML/],
    ['a page that is called a stream', page, events, true, /it is HTML/],
    ['a page without a type', page, {}, false, /it is HTML, and it came without a content-type/],
    ['nothing', '', json, false, /it is empty/],
    ['half an answer', '{"choices":[{"mess', json, false, /cut off or not valid/],
    ['no choices', '{"choices":[]}', json, false, /no 'choices'/],
    ['a list', '[1]', json, false, /it is a list/],
  ])('%s', async (_, body, headers, stream, words) => {
    const reported: string[] = [];
    const table = tableOf([{ baseUrl: wall.baseUrl }]);
    const rig = await startRig(table, {
      onUnusable: ({ cause, provider }) => reported.push(`${provider}: ${cause}`),
    });
    answers(body, headers);
    const answer = await post(rig, paths['openai-chat'], { ...questions['openai-chat'], stream });
    expect(answer.status).toBe(502);
    expect(errorOf(answer).message).toMatch(words);
    expect(rig.records.map(({ cause }) => cause)).toEqual([expect.stringMatching(words)]);
    expect(reported).toEqual([expect.stringMatching(words)]);
    expect(answer.text + JSON.stringify([rig.records, reported])).not.toContain('SECRET');
    await post(rig, paths['openai-chat'], { ...questions['openai-chat'], stream });
    expect(reported, 'once a minute').toHaveLength(1);
    await rig.close();
  });

  test('a header that contains the key is not repeated', async () => {
    const key = 'sk-SECRET-0123456789';
    const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, keys: { main: key } }]));
    answers('x', { 'content-type': key });
    const answer = await post(rig, paths['openai-chat'], questions['openai-chat']);
    expect(errorOf(answer).message).toContain('something without a name');
    expect(answer.text + JSON.stringify(rig.records)).not.toMatch(/secret/i);
    await rig.close();
  });
});

describe('a response whose last event lacks streamed items', () => {
  const [message] = plain['openai-responses'].output;
  const call = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: 'f',
    arguments: '{}',
  };
  const event = (type: string, members: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
  const { output: _, ...bare } = plain['openai-responses'];
  const streamOf = (last: object): string =>
    [
      event('response.created', { response: { ...bare, status: 'in_progress', output: [] } }),
      event('response.output_item.added', { output_index: 0, item: { ...message, content: [] } }),
      event('response.output_text.delta', {
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: 'Hi',
      }),
      event('response.output_item.done', { output_index: 0, item: message }),
      event('response.output_item.added', { output_index: 1, item: { ...call, arguments: '' } }),
      event('response.function_call_arguments.delta', { item_id: 'fc_1', output_index: 1, delta: '{}' }),
      event('response.output_item.done', { output_index: 1, item: call }),
      event('response.completed', { response: last }),
    ].join('');
  const lasts: readonly [string, object][] = [
    ['an empty output', { ...bare, output: [] }],
    ['no output', bare],
    ['the first item alone', { ...bare, output: [message] }],
  ];

  test.each(lasts)('%s: the last event repeats all of it', async (_name, last) => {
    answers(streamOf(last), events);
    const { events: sent } = await ask('openai-responses', 'openai-responses', { stream: true });
    const end = recordOf(JSON.parse(sent.at(-1)?.data ?? ''));
    expect(end).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', output: [message, call] },
    });
  });

  test.each(lasts)('%s: a joined plain answer has all of it', async (_name, last) => {
    answers(streamOf(last), events);
    const answer = recordOf((await ask('openai-responses', 'openai-responses')).json);
    expect(answer.output).toEqual([message, call]);
  });

  test('a complete last event is forwarded unchanged', async () => {
    const stream = streamOf({ ...bare, output: [message, call], n: 1 }).replace('"n":1', '"n": 1.50');
    answers(stream, events);
    expect((await ask('openai-responses', 'openai-responses', { stream: true })).text).toBe(stream);
  });
});

test.each(dialects)(
  'a line without end that is no field of a stream ends it, for a client of %s',
  async (client) => {
    const table = tableOf([{ baseUrl: wall.baseUrl }]);
    const rig = await startRig(table);
    answers('x'.repeat(6 * 1024 * 1024), events);
    const answer = await post(rig, paths[client], { ...questions[client], stream: true });
    expect(rig.records.map(({ failure }) => failure)).toEqual(['too_large']);
    expect(answer.status).toBe(502);
    await rig.close();
  },
);

describe('answers that real servers send', () => {
  const [first = '', finish = ''] = hi.split(/(?<=\n\n)/);
  const errorText = JSON.stringify({ code: 503, message: 'gone', type: 'server_error' });
  const bare = JSON.stringify({ error: { code: 503, message: 'gone', status: 'UNAVAILABLE' } }, null, 2);
  const errors: readonly [string, string][] = [
    ['llama.cpp until 2025: an SSE field `error`', `error: ${errorText}\n\n${done}`],
    ['llama.cpp since', frame({ error: JSON.parse(errorText) }) + done],
    ['Google: a body after the events', `${bare}\n`],
    ['a proxy: a body on one line', `${JSON.stringify(JSON.parse(bare))}\n\n`],
    ['TGI and vLLM', frame({ error: 'gone', error_type: 'generation' }) + done],
    ['OpenRouter', frame(chunk({ content: '' }, 'error', { error: { code: 503, message: 'gone' } })) + done],
    ['SGLang', frame({ object: 'error', message: 'gone', code: 503 }) + done],
    ['a named event', `event: error\ndata: ${errorText}\n\n`],
  ];
  const chatTable = () =>
    tableOf([
      { baseUrl: wall.baseUrl, dialects: ['openai-chat'], providerEntry: { dialects: ['openai-chat'] } },
    ]);

  test.each(errors)('%s: in mid-stream the answer is broken off for every client', async (_, error) => {
    for (const client of dialects) {
      const rig = await startRig(chatTable());
      answers(first + error, events);
      const { text } = await post(rig, paths[client], { ...questions[client], stream: true });
      expect([client, text]).toEqual([client, expect.stringContaining('broke off')]);
      expect(text).not.toContain('[DONE]');
      expect(rig.records.at(-1)).toMatchObject({
        outcome: 'broken-off',
        failure: 'error_event',
      });
      await rig.close();
    }
  });

  test.each(errors)('%s: before content it is read as that error', async (_, error) => {
    for (const client of dialects) {
      const rig = await startRig(
        tableOf([
          { baseUrl: wall.baseUrl, dialects: ['openai-chat'], providerEntry: { dialects: ['openai-chat'] } },
        ]),
      );
      answers(error, events);
      const answer = await post(rig, paths[client], { ...questions[client], stream: true });
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(rig.records.map(({ failure }) => failure)).toContain('error_event');
      await rig.close();
    }
  });

  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const gemini = (delta: object, reason?: string): object => ({
    choices: [{ delta, ...(reason === undefined ? {} : { finish_reason: reason }), index: 0 }],
    created: 1,
    id: 'c1',
    model: 'u',
    object: 'chat.completion.chunk',
  });
  test('Google: calls without an index, and `stop` at the end: the agent goes on', async () => {
    const stream = [gemini({ role: 'assistant', tool_calls: [call] }), gemini({ role: 'assistant' }, 'stop')];
    const sent = await chunksOf(stream.map(frame).join('') + done);
    expect(sent.map((one) => choiceOf(one).finish_reason ?? null)).toEqual([null, 'tool_calls']);
    expect(recordOf(choiceOf(sent[0] ?? {}).delta).tool_calls).toEqual([{ index: 0, ...call }]);
  });

  const others: readonly [string, string][] = [
    [
      'Azure: filters first, and without a choice',
      frame({
        ...head,
        id: '',
        model: '',
        object: '',
        created: 0,
        choices: [],
        prompt_filter_results: [{ prompt_index: 0 }],
      }) + hi,
    ],
    [
      'llama.cpp: no model, timings at the end',
      [
        frame({ ...chunk({ role: 'assistant', content: null }), model: '' }),
        frame({ ...chunk({ content: 'Hi' }), model: '' }),
        frame({ ...chunk({}, 'stop'), model: '', timings: { prompt_n: 2 } }),
        done,
      ].join(''),
    ],
    [
      'Ollama: a role on every chunk, a reason in the last',
      [
        frame(chunk({ role: 'assistant', content: 'Hi' })),
        frame(chunk({ role: 'assistant', content: '' }, 'stop')),
        done,
      ].join(''),
    ],
    [
      'DeepSeek, OpenRouter: comments and blank lines while they think',
      `: keep-alive\n\n\n: OPENROUTER PROCESSING\n\n${hi}`,
    ],
    [
      'Mistral: everything in one chunk',
      frame(chunk({ role: 'assistant', content: 'Hi' }, 'stop', { usage })) + done,
    ],
    [
      'Groq: its own member beside the counts',
      frame(chunk({ role: 'assistant', content: 'Hi' })) +
        frame(chunk({}, 'stop', { x_groq: { id: 'req', usage } })) +
        done,
    ],
    [
      'xAI: counts on every chunk',
      [
        frame(chunk({ role: 'assistant', content: 'Hi' }, null, { usage })),
        frame(chunk({}, 'stop', { usage })),
        done,
      ].join(''),
    ],
    ['no blank line after the end mark', first + finish + done.trimEnd()],
    [
      'a delta that is null at the end',
      first +
        frame({
          ...head,
          object: 'chat.completion.chunk',
          choices: [{ index: 0, delta: null, finish_reason: 'stop' }],
        }) +
        done,
    ],
  ];
  test.each(others)('%s: every client is served', async (_, stream) => {
    for (const client of dialects) {
      answers(stream, events);
      const answer = await ask(client, 'openai-chat', { stream: true });
      expect([client, textOf(answer)]).toEqual([client, 'Hi']);
      if (client !== 'openai-chat') continue;
      const sent = answer.events.flatMap(({ data }) =>
        data === undefined || data === '[DONE]' ? [] : [recordOf(JSON.parse(data))],
      );
      for (const one of sent) {
        expect(one).toMatchObject({ id: 'c1', model: expect.stringMatching(/./) });
        expect(recordOf(choiceOf(one).delta)).toBeDefined();
      }
    }
  });
});
