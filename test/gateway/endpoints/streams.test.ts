// The bytes of a streamed answer, frame by frame: what the client asked for and nothing else, whatever the upstream
// wrote around it. (The service's specification, "POST /completions" and "Events"; OpenAI API reference, "Streaming".)

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { type Answer, startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { type Answered, errorOf, post } from './ask.ts';

const chatPath = '/v1/chat/completions';
const completionsPath = '/v1/completions';
const chat = { model: 'm', messages: [{ role: 'user', content: 'Say hello' }], stream: true };
const completion = { model: 'm', prompt: 'Say hello', stream: true };
const withUsage = { stream_options: { include_usage: true } };
const createdS = 1_800_000_000;

let wall: Wall;
/** Its upstream speaks completions. */
let native: Rig;
/** Its upstream speaks chat completions only. */
let chatOnly: Rig;

beforeAll(async () => {
  wall = await startWall();
  const clock = { ...systemClock, wallMs: () => createdS * 1000 + 999 };
  native = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-completions'] }]), { clock });
  chatOnly = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-chat'] }]), { clock });
});

beforeEach(() => {
  wall.script({ type: 'answer' });
  native.records.length = 0;
  chatOnly.records.length = 0;
});

afterAll(async () => {
  await native.close();
  await chatOnly.close();
  await wall.close();
});

/** Exactly these frames, as a provider would send them. */
function play(frames: readonly string[]): void {
  const body = frames.map((frame) => `data: ${frame}\n\n`).join('');
  wall.script({
    type: 'raw',
    bytes: `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    followedBy: 'keep-alive',
  });
}

function asStream(frames: readonly string[]): string {
  return frames.map((frame) => `data: ${frame}\n\n`).join('');
}

function dataOf({ events }: Answered): string[] {
  return events.map(({ data }) => data ?? '');
}

const usage = '{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}';

describe('an upstream of the same dialect: its frames are forwarded unchanged', () => {
  const textFrame = (text: string, finish: string, more = ''): string =>
    `{ "id":"c-1","object":"text_completion", "created":1.0e9,"choices":[{"text":"${text}","index":0,"logprobs":null,"finish_reason":${finish}}],"model":"x"${more}}`;
  const deltaFrame = (delta: string, finish: string, more = ''): string =>
    `{"id":"c-1", "object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}],"x_vendor":1.50${more}}`;

  const dialects = {
    completions: {
      rig: () => native,
      path: completionsPath,
      body: completion,
      frames: (more: string) => [
        textFrame('h\\u0069 \\"usage\\":null ', 'null', more),
        textFrame('ü😀', 'null', more),
        textFrame('', '"stop"', more),
      ],
    },
    chat: {
      rig: () => chatOnly,
      path: chatPath,
      body: chat,
      frames: (more: string) => [
        deltaFrame('{"role":"assistant","content":"","refusal":null}', 'null', more),
        deltaFrame('{"content":"h\\u0069 ,\\"usage\\":null"}', 'null', more),
        deltaFrame('{"content":"ü😀"}', 'null', more),
        deltaFrame('{}', '"stop"', more),
      ],
    },
  };
  const usageChunk = `{"id":"c-1","object":"x","created":1,"model":"x","choices":[],"usage":${usage}}`;
  const usageNull = ',"usage":null';

  describe.each(Object.entries(dialects))('%s', (_name, { rig, path, body, frames }) => {
    test('a client that does not ask for usage sees none', async () => {
      play([...frames(usageNull), usageChunk, '[DONE]']);
      const answer = await post(rig(), path, body);
      expect(answer.text).toBe(asStream([...frames(''), '[DONE]']));
    });

    test('a client that asks for no usage sees none', async () => {
      play([...frames(usageNull), usageChunk, '[DONE]']);
      const answer = await post(rig(), path, { ...body, stream_options: { include_usage: false } });
      expect(answer.text).toBe(asStream([...frames(''), '[DONE]']));
    });

    test('a client that asks for usage gets null in each frame, and one more frame without choices', async () => {
      const sent = [...frames(usageNull), usageChunk, '[DONE]'];
      play(sent);
      const answer = await post(rig(), path, { ...body, ...withUsage });
      expect(answer.text).toBe(asStream(sent));
    });

    test.each([{}, withUsage])('the ledger has the usage in either case: %j', async (more) => {
      play([...frames(usageNull), usageChunk, '[DONE]']);
      await post(rig(), path, { ...body, ...more });
      expect(rig().records).toHaveLength(1);
      expect(rig().records[0]).toMatchObject({
        outcome: 'answered',
        isStream: true,
        isEstimated: false,
        usage: { input: 2, output: 3 },
        costPicodollars: 2 * 1_000_000 + 3 * 2_000_000,
      });
    });

    test('an upstream that ends without [DONE] gets one added, if every choice has ended', async () => {
      play(frames(''));
      expect((await post(rig(), path, body)).text).toBe(asStream([...frames(''), '[DONE]']));
    });

    test('frames after [DONE] are not forwarded', async () => {
      play([...frames(''), '[DONE]', '{"late":1}', '[DONE]']);
      expect((await post(rig(), path, body)).text).toBe(asStream([...frames(''), '[DONE]']));
    });
  });
});

describe('text completions from a chat-only upstream', () => {
  const frame = (answer: Answered, choices: readonly object[], more: object = {}): string =>
    JSON.stringify({
      id: `cmpl-${answer.headers['x-request-id']?.replace('req_', '')}`,
      object: 'text_completion',
      created: createdS,
      choices,
      model: 'upstream-0',
      ...more,
    });
  const choice = (text: string, index = 0, finish_reason: string | null = null): object => ({
    text,
    index,
    logprobs: null,
    finish_reason,
  });

  test('have the fields of the specification and no usage', async () => {
    wall.script({ type: 'answer', tokens: ['Hello ', 'there'] });
    const answer = await post(chatOnly, completionsPath, completion);
    expect(answer.text).toBe(
      asStream([
        frame(answer, [choice('Hello ')]),
        frame(answer, [choice('there')]),
        frame(answer, [choice('', 0, 'stop')]),
        '[DONE]',
      ]),
    );
  });

  test('with usage: null in each, and one more with no choices', async () => {
    wall.script({
      type: 'answer',
      tokens: ['Hello ', 'there'],
      finishReason: 'length',
      usage: { inputTokens: 7, cachedTokens: 3, outputTokens: 2, reasoningTokens: 1 },
    });
    const answer = await post(chatOnly, completionsPath, { ...completion, ...withUsage });
    expect(answer.events).toHaveLength(5);
    expect(dataOf(answer).slice(0, 3)).toEqual([
      frame(answer, [choice('Hello ')], { usage: null }),
      frame(answer, [choice('there')], { usage: null }),
      frame(answer, [choice('', 0, 'length')], { usage: null }),
    ]);
    expect(JSON.parse(dataOf(answer)[3] ?? '')).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    });
    expect(answer.text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
  });

  test('carry every choice of several prompts, each with one end, and sum the usage', async () => {
    wall.script({ type: 'answer', tokens: ['a ', 'b'], usage: { inputTokens: 10, outputTokens: 4 } });
    const answer = await post(chatOnly, completionsPath, {
      ...completion,
      ...withUsage,
      prompt: ['x', 'y', 'z'],
      n: 2,
    });
    const texts = new Map<number, string>();
    const ends = new Map<number, unknown[]>();
    const chunks = dataOf(answer)
      .slice(0, -1)
      .map((data) => JSON.parse(data));
    for (const { choices } of chunks) {
      for (const { index, text, finish_reason } of choices) {
        texts.set(index, (texts.get(index) ?? '') + text);
        if (finish_reason !== null) ends.set(index, [...(ends.get(index) ?? []), finish_reason]);
      }
    }
    const indexes = [0, 1, 2, 3, 4, 5];
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect([...texts].sort()).toEqual(indexes.map((index) => [index, 'a b']));
    expect([...ends].sort()).toEqual(indexes.map((index) => [index, ['stop']]));
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 },
    });
    expect(dataOf(answer).filter((data) => data === '[DONE]')).toHaveLength(1);
    expect(chatOnly.records.map(({ attempt }) => attempt).sort()).toEqual([1, 2, 3]);
  });

  test('echo begins each choice with its prompt', async () => {
    wall.script({ type: 'answer', tokens: ['b'] });
    const answer = await post(chatOnly, completionsPath, { ...completion, prompt: 'a', n: 2, echo: true });
    const texts = new Map<number, string>();
    for (const data of dataOf(answer).slice(0, -1)) {
      for (const { index, text } of JSON.parse(data).choices)
        texts.set(index, (texts.get(index) ?? '') + text);
    }
    expect([...texts].sort()).toEqual([
      [0, 'ab'],
      [1, 'ab'],
    ]);
  });

  test('the ledger has the usage although the client did not ask', async () => {
    wall.script({ type: 'answer', usage: { inputTokens: 7, outputTokens: 9 } });
    await post(chatOnly, completionsPath, completion);
    expect(chatOnly.records[0]).toMatchObject({
      outcome: 'answered',
      isEstimated: false,
      clientDialect: 'openai-completions',
      upstreamDialect: 'openai-chat',
      usage: { input: 7, output: 9 },
    });
  });
});

describe('every stream', () => {
  const routes = [
    ['chat', () => chatOnly, chatPath, chat],
    ['completions', () => native, completionsPath, completion],
    ['completions from chat', () => chatOnly, completionsPath, completion],
  ] as const;

  describe.each(routes)('%s', (_name, rig, path, body) => {
    test('has the headers of an event stream and the request in two names', async () => {
      const { status, headers, ending } = await post(rig(), path, body);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'transfer-encoding': 'chunked',
        'cache-control': 'no-cache, no-store, no-transform',
        'x-request-id': expect.stringMatching(/^req_/),
      });
      expect(headers['request-id']).toBe(headers['x-request-id']);
      expect(headers).not.toHaveProperty('content-length');
      expect(headers).not.toHaveProperty('content-encoding');
      expect(ending).toBe('last-chunk');
    });

    const styles: readonly (readonly [string, Answer])[] = [
      ['event ids', { sse: { ids: true } }],
      ['a retry', { sse: { retryMs: 5 } }],
      ['comments', { sse: { comments: true } }],
      ['empty data', { sse: { emptyData: true } }],
      ['event names', { sse: { eventName: 'chunk' } }],
      ['CRLF', { sse: { newline: '\r\n' } }],
      ['CR', { sse: { newline: '\r' } }],
      ['no blank behind the colon', { sse: { noSpace: true } }],
      ['a byte order mark', { sse: { byteOrderMark: true } }],
      ['JSON over several lines', { sse: { multiline: true } }],
      ['single bytes', { split: { body: [1] } }],
    ];

    test.each(styles)('an upstream that writes %s: only data lines are forwarded', async (_style, answer) => {
      wall.script({ type: 'answer', tokens: ['Hello ', 'ü😀'], ...answer });
      const { text, events, status } = await post(rig(), path, body);
      expect(status).toBe(200);
      expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('data:'))).toEqual([]);
      expect(text).not.toContain('\r');
      expect(text).toContain('Hello ');
      expect(text).toContain('ü😀');
      for (const { data } of events) expect(data).toMatch(/^(\{[\s\S]*\}|\[DONE\])$/);
      expect(events.map(({ data }) => data).indexOf('[DONE]')).toBe(events.length - 1);
    });

    test('an upstream that fails before its first content: a JSON error with its status, not a stream', async () => {
      wall.script({ type: 'status', status: 400, error: { message: 'not like this' } });
      const answer = await post(rig(), path, body);
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(errorOf(answer).message).toBe('not like this');
    });

    test('an upstream that breaks off: an error frame, no [DONE], and a body without its end', async () => {
      wall.script({ type: 'cut', after: { contentEvents: 2 }, framing: 'close' });
      const answer = await post(rig(), path, body);
      expect(answer.status).toBe(200);
      expect(JSON.parse(dataOf(answer).at(-1) ?? '')).toEqual({
        error: {
          message: expect.stringContaining('broke off'),
          type: 'server_error',
          code: 'upstream_error',
          param: null,
        },
      });
      expect(answer.text).not.toContain('[DONE]');
      expect(answer.ending).toBe('fin-early');
    });
  });
});
