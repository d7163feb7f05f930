// A good answer of the wall is a good answer on the wire: in four dialects, streamed and plain, however it is written.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRaw, rawCall, writeRequest } from '../support/raw-client.ts';
import { dataOf, endsWell, textOf, usageOf } from '../support/said.ts';
import { noTokens } from '../support/wall/call.ts';
import { type Answer, sixtyWords, startWall, type Wall } from '../support/wall.ts';
import { bodyOf, chatBody, chatPath, tongues } from './ask.ts';

const text = 'The gate opens and the water runs down to the turbine.';
let wall: Wall;

beforeEach(async () => {
  wall = await startWall();
});

afterEach(() => wall.close());

function sdk(): OpenAI {
  return new OpenAI({ apiKey: 'key', baseURL: wall.baseUrl, maxRetries: 0 });
}

describe('to the official SDK', () => {
  test('a plain chat answer carries text, finish reason and usage', async () => {
    const answer = await sdk().chat.completions.create({
      model: 'small',
      messages: [{ role: 'user', content: 'hello' }],
    });
    expect(answer).toMatchObject({
      model: 'small',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }],
      usage: { prompt_tokens: 2, completion_tokens: 11, total_tokens: 13 },
    });
  });

  test('a streamed chat answer begins with the role, ends with usage, and its text is whole for each choice', async () => {
    const stream = sdk().chat.completions.stream({
      model: 'small',
      n: 2,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hello' }],
    });
    const roles: unknown[] = [];
    for await (const chunk of stream)
      for (const { delta } of chunk.choices) if (delta.role) roles.push(delta);
    const answer = await stream.finalChatCompletion();
    expect(roles).toEqual(Array(2).fill({ role: 'assistant', content: '', refusal: null }));
    expect(answer.choices.map((choice) => choice.message.content)).toEqual([text, text]);
    expect(answer.usage?.completion_tokens).toBe(22);
  });

  test('tool calls arrive whole, streamed and plain', async () => {
    const toolCalls = [
      { name: 'weather', arguments: '{"city":"Zürich"}' },
      { name: 'time', arguments: '{}' },
    ];
    wall.script({ type: 'answer', toolCalls });
    const ask = { model: 'small', messages: [{ role: 'user', content: 'hello' }] } as const;
    const plain = await sdk().chat.completions.create({ ...ask, messages: [...ask.messages] });
    const streamed = await sdk()
      .chat.completions.stream({ ...ask, messages: [...ask.messages] })
      .finalChatCompletion();
    for (const answer of [plain, streamed]) {
      expect(answer.choices[0]?.finish_reason).toBe('tool_calls');
      expect(answer.choices[0]?.message.tool_calls).toMatchObject(
        toolCalls.map((call) => ({ type: 'function', function: call })),
      );
    }
  });

  test('legacy completions answer every prompt n times, streamed and plain', async () => {
    const ask = { model: 'small', prompt: ['one', 'two'], n: 2 };
    const plain = await sdk().completions.create(ask);
    expect(plain.choices.map((choice) => [choice.index, choice.text])).toEqual(
      [0, 1, 2, 3].map((at) => [at, text]),
    );
    const texts = ['', '', '', ''];
    for await (const chunk of await sdk().completions.create({ ...ask, stream: true })) {
      for (const choice of chunk.choices) texts[choice.index] += choice.text;
    }
    expect(texts).toEqual(Array(4).fill(text));
  });

  const sheet = { type: 'object', properties: { city: { type: 'string' } } } as const;
  const question = [{ role: 'user', content: 'hello' }] as const;
  const spoken: Answer = {
    reasoning: 'Let me think.',
    text: 'One moment, please.',
    toolCalls: [
      { name: 'weather', arguments: '{"city":"Zürich"}' },
      { name: 'time', arguments: '{}' },
    ],
    usage: { inputTokens: 20, cachedTokens: 8, outputTokens: 12, reasoningTokens: 3 },
  };

  test('a message carries thinking, text, calls and usage, streamed and plain alike', async () => {
    wall.script({ type: 'answer', ...spoken });
    const { messages } = new Anthropic({ apiKey: 'key', baseURL: wall.url, maxRetries: 0 });
    const request = {
      model: 'small',
      max_tokens: 64,
      messages: [...question],
      tools: [{ name: 'weather', input_schema: sheet }],
    };
    const streamed = await messages.stream(request).finalMessage();
    expect(await messages.create(request)).toMatchObject({
      model: 'small',
      content: [
        { type: 'thinking', thinking: 'Let me think.', signature: 'wall-signature==' },
        { type: 'text', text: 'One moment, please.' },
        { type: 'tool_use', name: 'weather', input: { city: 'Zürich' } },
        { type: 'tool_use', name: 'time', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 12, cache_read_input_tokens: 8, output_tokens: 12 },
    });
    expect(streamed).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { thinking: 'Let me think.' },
        { text: 'One moment, please.' },
        { input: { city: 'Zürich' } },
        { input: {} },
      ],
      usage: { input_tokens: 12, cache_read_input_tokens: 8, output_tokens: 12 },
    });
  });

  test('a response carries reasoning, text, calls and usage, streamed and plain alike', async () => {
    wall.script({ type: 'answer', ...spoken });
    const request = {
      model: 'small',
      input: [...question],
      tools: [{ type: 'function' as const, name: 'weather', parameters: sheet, strict: null }],
    };
    const answers = [
      await sdk().responses.create(request),
      await sdk().responses.stream(request).finalResponse(),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 'completed',
        output_text: 'One moment, please.',
        output: [
          { type: 'reasoning', summary: [{ text: 'Let me think.' }] },
          { type: 'message' },
          { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Zürich"}' },
          { type: 'function_call', call_id: 'call_2', name: 'time', arguments: '{}' },
        ],
        usage: { input_tokens: 20, input_tokens_details: { cached_tokens: 8 }, output_tokens: 12 },
      });
    }
  });

  test('an answer cut to length says so in the words of its dialect', async () => {
    wall.script({ type: 'answer', finishReason: 'length' });
    const message = await new Anthropic({ apiKey: 'key', baseURL: wall.url }).messages.create({
      model: 'small',
      max_tokens: 64,
      messages: [...question],
    });
    const response = await sdk().responses.create({ model: 'small', input: 'hello' });
    expect([message.stop_reason, response.status, response.incomplete_details?.reason]).toEqual([
      'max_tokens',
      'incomplete',
      'max_output_tokens',
    ]);
  });

  test('models are listed, and a listing does not count as a call', async () => {
    const ids = (await sdk().models.list()).data.map((model) => model.id);
    expect(ids).toEqual(['wall-model']);
    expect([wall.calls.length, wall.listings.length]).toEqual([0, 1]);
  });
});

describe('the usage chunk', () => {
  const rows: [string, Answer, boolean, number][] = [
    ['is absent if not requested', {}, false, 0],
    ['is there when it was asked for', {}, true, 1],
    ['can be left out although it was asked for', { usageChunk: 'never' }, true, 0],
    ['can be there although not requested', { usageChunk: 'always' }, false, 1],
    ['can come twice', { usageChunk: 'twice' }, true, 2],
  ];
  test.each(rows)('%s', async (_name, answer, isAsked, expected) => {
    wall.script({ type: 'answer', ...answer });
    const body = chatBody({ stream: true, ...(isAsked && { stream_options: { include_usage: true } }) });
    const { events } = await rawCall(wall, { path: chatPath, body });
    expect(dataOf({ events }).filter((data) => data.includes('"prompt_tokens"'))).toHaveLength(expected);
  });
});

describe.each(tongues)('$name', (tongue) => {
  test.each([false, true])(
    'an answer is whole and reported as it is counted (stream: %s)',
    async (stream) => {
      const include = { stream_options: { include_usage: true } };
      const body = bodyOf(tongue, { stream, ...(stream && include) });
      const seen = await rawCall(wall, { path: tongue.path, body });
      expect(textOf(seen)).toBe(text);
      expect(usageOf(seen)).toEqual({ input: 4, output: 11 });
      if (stream) expect(endsWell(seen)).toBe(true);
      const [call] = wall.calls;
      expect(call).toMatchObject({ voice: tongue.name, eventsWritten: seen.events.length });
      expect(call?.tokens).toEqual({ ...noTokens, inputTokens: 4, outputTokens: 11, isReported: true });
    },
  );

  test.each([false, true])('usage can be left out (stream: %s)', async (stream) => {
    wall.script({ type: 'answer', usageChunk: 'never' });
    const seen = await rawCall(wall, { path: tongue.path, body: bodyOf(tongue, { stream }) });
    // A plain answer of the OpenAI dialects has no such choice.
    const isTold = !stream && tongue.path.endsWith('completions');
    expect(usageOf(seen)).toEqual(isTold ? { input: 4, output: 11 } : undefined);
  });

  test('every token is a separate event, after the events that lead to it', async () => {
    const body = bodyOf(tongue, { stream: true });
    for (const tokens of [0, 1, 5]) {
      wall.script({ type: 'cut', after: { contentEvents: tokens } });
      const seen = await rawCall(wall, { path: tongue.path, body });
      expect(seen.events).toHaveLength(tokens === 0 ? 0 : tongue.leading + tokens);
    }
  });
});

describe('the same answer arrives however it is written', () => {
  const rows: [string, RegExp, Answer][] = [
    ['CRLF line ends', /\}\r\n\r\ndata/, { sse: { newline: '\r\n' } }],
    ['CR line ends', /\}\r\rdata/, { sse: { newline: '\r' } }],
    ['no space behind the colon', /^data:\{/, { sse: { noSpace: true } }],
    ['ids and retry', /^retry: 1000\nid: 1\ndata: .*\n\nid: 2\ndata/, { sse: { ids: true, retryMs: 1000 } }],
    ['comments between events', /^: comment 1\n\ndata: .*\n\n: comment 2\n\n/, { sse: { comments: true } }],
    ['empty data between events', /^data:\n\ndata: \{.*\n\ndata:\n\n/, { sse: { emptyData: true } }],
    ['data over several lines', /^data: \{\ndata: {2}"id"/, { sse: { multiline: true } }],
    ['a byte order mark', /^\uFEFFdata: /, { sse: { byteOrderMark: true } }],
    ['an event name', /^event: message\ndata: /, { sse: { eventName: 'message' } }],
    ['content-length framing', /^data: /, { framing: 'content-length' }],
    ['close-delimited framing', /^data: /, { framing: 'close' }],
    ['body bytes one by one', /^data: /, { split: { body: [1] } }],
    ['wire bytes one by one', /^data: /, { split: { wire: [1] } }],
    [
      'random pieces',
      /^data: /,
      { split: { body: { seed: 7, maxBytes: 90 }, wire: { seed: 8, maxBytes: 30 } } },
    ],
    ['a trickle', /^data: /, { trickle: { bytes: 60, everyMs: 1 } }],
  ];
  test.each(rows)('%s', async (_name, looksLike, answer) => {
    wall.script({ type: 'answer', text: 'Grüße 🚰 an alle.', ...answer });
    const {
      events,
      ending,
      text: sent,
    } = await rawCall(wall, {
      path: chatPath,
      body: chatBody({ stream: true }),
    });
    expect(sent).toMatch(looksLike);
    expect(textOf({ events: events.map(unspread), json: undefined })).toBe('Grüße 🚰 an alle.');
    expect(dataOf({ events }).at(-1)).toBe('[DONE]');
    expect(ending).toBe(
      { chunked: 'last-chunk', 'content-length': 'length-complete', close: 'close-delimited' }[
        answer.framing ?? 'chunked'
      ],
    );
  });

  function unspread<Event extends { data: string | undefined }>(event: Event): Event {
    return {
      ...event,
      data: event.data?.startsWith('{') ? JSON.stringify(JSON.parse(event.data)) : event.data,
    };
  }

  test('a body split is one HTTP chunk each, of exactly the sizes given', async () => {
    wall.script({ type: 'answer', split: { body: [1, 2, 50] } });
    const { pieces } = await rawCall(wall, { path: chatPath, body: chatBody({ stream: true }) });
    expect(pieces.slice(0, 3).map((piece) => piece.bytes.length)).toEqual([1, 2, 50]);
  });
});

test('a wire split is seen as many reads', async () => {
  wall.script({ type: 'answer', framing: 'content-length', split: { wire: [1] } });
  const { pieces, body } = await rawCall(wall, { path: chatPath, body: chatBody() });
  expect(pieces.length).toBeGreaterThan(body.length / 2);
});

describe('connections', () => {
  test('one connection carries several requests, in order, even sent at once', async () => {
    wall.script([
      { type: 'answer', text: 'first' },
      { type: 'answer', text: 'second' },
    ]);
    const connection = await openRaw(wall);
    const request = writeRequest({ path: chatPath, body: chatBody() });
    await connection.send(Buffer.concat([request, request]));
    for (const expected of ['first', 'second']) {
      const { text: answered } = await (await connection.answer()).finished;
      expect(answered).toContain(`"content":"${expected}"`);
    }
    expect(wall.calls.map((call) => [call.connection, call.isConnectionReused])).toEqual([
      [1, false],
      [1, true],
    ]);
    connection.close();
  });

  test.each([
    ['close', 'close', 'fin'],
    ['fin-unannounced', undefined, 'fin'],
    ['reset-unannounced', undefined, 'reset'],
  ] as const)(
    'after an answer with %s the connection header is %s and the end a %s',
    async (afterwards, header, how) => {
      wall.script({ type: 'answer', afterwards });
      const connection = await openRaw(wall);
      await connection.send(writeRequest({ path: chatPath, body: chatBody() }));
      const answer = await connection.answer();
      expect(answer.headers.connection).toBe(header);
      expect((await answer.finished).ending).toBe('length-complete');
      expect(await connection.closed).toBe(how);
      connection.close();
    },
  );

  test('a client that asks for a close gets it after the answer', async () => {
    const connection = await openRaw(wall);
    await connection.send(
      writeRequest({ path: chatPath, headers: { connection: 'close' }, body: chatBody() }),
    );
    expect((await (await connection.answer()).finished).ending).toBe('length-complete');
    expect(await connection.closed).toBe('fin');
    connection.close();
  });

  test('a chunked request body is read like any other', async () => {
    const body = JSON.stringify(chatBody());
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    await rawCall(wall, { path: chatPath, headers: { 'transfer-encoding': 'chunked' }, body: chunked });
    expect(wall.calls[0]?.json).toEqual(chatBody());
  });
});

describe('the log', () => {
  test('shows request and answer, byte for byte', async () => {
    const body = '{ "model":"small",\n "messages": [] }';
    const headers = [
      ['X-Twice', 'a'],
      ['x-twice', 'b'],
    ] as const;
    const answer = await rawCall(wall, { path: `${chatPath}?a=1`, headers, body });
    const call = await wall.nextCall();
    expect(call).toMatchObject({
      method: 'POST',
      path: `${chatPath}?a=1`,
      bodyText: body,
      voice: 'openai-chat',
    });
    expect(call.headers['x-twice']).toBe('a, b');
    expect(call.rawHeaders).toContainEqual(['X-Twice', 'a']);
    expect(await call.finished).toBe('complete');
    expect(call.bodyBytesWritten).toBe(answer.body.length);
    expect(call.bytesWritten).toBeGreaterThan(answer.body.length);
  });

  test('counts tokens over all calls: whole answers by their usage, errors as nothing', async () => {
    wall.script([
      { type: 'answer', usage: { inputTokens: 100, cachedTokens: 40, outputTokens: 7 } },
      { type: 'status', status: 500 },
      { type: 'answer', text: sixtyWords },
    ]);
    for (const stream of [false, false, true])
      await rawCall(wall, { path: chatPath, body: chatBody({ stream }) });
    expect(wall.totals()).toEqual({ calls: 3, inputTokens: 104, cachedTokens: 40, outputTokens: 67 });
    expect(wall.calls.map((call) => call.tokens.isReported)).toEqual([true, false, false]);
  });

  test('a client that leaves is noticed at once, and only tokens generated until then are counted', async () => {
    const gate = Promise.withResolvers<void>();
    wall.script({ type: 'stall', after: { contentEvents: 4 }, for: { until: gate.promise } });
    const connection = await openRaw(wall);
    await connection.send(writeRequest({ path: chatPath, body: chatBody({ stream: true }) }));
    const answer = await connection.answer();
    for (let event = 0; event < 5; event += 1) await answer.nextEvent();
    connection.close();
    const call = await wall.nextCall();
    expect(await call.clientClosed).toBe('fin');
    expect(await call.finished).toBe('client-closed');
    expect(call.tokens).toEqual({ ...noTokens, inputTokens: 4, outputTokens: 4 });
    expect(call.eventsWritten).toBe(5);
    gate.resolve();
  });

  test('a client that resets is distinguished from a client that closes', async () => {
    wall.script({ type: 'hang', when: 'before-headers' });
    const connection = await openRaw(wall);
    await connection.send(writeRequest({ path: chatPath, body: chatBody() }));
    const call = await wall.nextCall();
    connection.abort();
    expect(await call.clientClosed).toBe('reset');
  });

  // The kernel's buffers take some 10 MiB. The second call proves that the wall had all the time it needed.
  test('a slow reader slows down only the wall', async () => {
    const mebibyte = 'x'.repeat(1024 * 1024);
    wall.script({ type: 'answer', tokens: Array(32).fill(mebibyte) });
    const connection = await openRaw(wall);
    await connection.send(writeRequest({ path: chatPath, body: chatBody({ stream: true }) }));
    const answer = await connection.answer();
    await answer.nextEvent();
    connection.pause();
    const { body } = await rawCall(wall, { path: chatPath, body: chatBody({ stream: true }) });
    const [slow, quick] = wall.calls;
    expect(await quick?.finished).toBe('complete');
    expect(slow?.end).toBeUndefined();
    expect(slow?.bodyBytesWritten).toBeLessThan(body.length);
    connection.resume();
    expect((await answer.finished).body).toHaveLength(body.length);
    connection.close();
  });
});
