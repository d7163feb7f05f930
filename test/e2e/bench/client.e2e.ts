// The load client: it must believe nobody, and count waiting that a closed loop would hide.

import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdStreams, type Load, type LoadResult, runLoad } from '../../../tools/bench/load.ts';
import type { ClientDialect } from '../../../tools/bench/scenarios.ts';
import { readUpstreamStats } from '../../../tools/bench/upstream.ts';
import { type Bench, makeLoad, startBench, startScripted } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

async function run(load: Load): Promise<LoadResult> {
  const client = { launcher: bench.launcher, program: bench.programs.client };
  return (await runLoad(client, load, () => undefined)).result;
}

describe('the load client against the mock', () => {
  test.each<[string, Partial<Load>]>([
    ['unary answers', { connections: 4 }],
    ['large bodies', { bodyBytes: 256 * 1024, connections: 2 }],
    ['burst streams', { model: 'burst-20', events: 20, connections: 2 }],
    ['paced streams', { model: 'paced-5x2', events: 5, connections: 10, rampMs: 10 }],
    ['a fixed rate', { ratePerSecond: 200, connections: 4 }],
  ])('accepts every answer: %s', async (_, difference) => {
    const result = await run(makeLoad({ port: bench.upstream.port, ...difference }));
    expect(result).toMatchObject({ bad: 0, badReasons: {}, gaveUp: false, reconnects: 0 });
    expect(result.good).toBeGreaterThan(0);
    expect(result.latencyMs?.p99).toBeGreaterThan(0);
    if (difference.events !== undefined) {
      expect(result.events).toBeGreaterThanOrEqual(result.good * (difference.events - 1));
      expect(result.eventDelayMs?.p50).toBeGreaterThan(0);
      expect(result.firstEventMs?.p50).toBeGreaterThan(0);
    }
  });

  test('lists each latency if asked to, ascending', async () => {
    const load = makeLoad({ port: bench.upstream.port, ratePerSecond: 200, connections: 4 });
    expect((await run(load)).latenciesMs).toEqual([]);
    const { latenciesMs, latencyMs } = await run({ ...load, everyLatency: true });
    expect(latenciesMs).toHaveLength(latencyMs?.count ?? 0);
    expect(latenciesMs.at(-1)).toBe(latencyMs?.max);
    expect(latenciesMs).toEqual(latenciesMs.toSorted((one, other) => one - other));
  });

  test('calls its observer when the window opens and when it closes', async () => {
    const client = { launcher: bench.launcher, program: bench.programs.client };
    let calls = 0;
    const { before, after } = await runLoad(client, makeLoad({ port: bench.upstream.port }), () => ++calls);
    expect([before, after]).toEqual([1, 2]);
  });

  test.each(['wait', 'paced-1000x50'])('holds streams of %s open until it is released', async (model) => {
    const client = { launcher: bench.launcher, program: bench.programs.client };
    const load = makeLoad({ port: bench.upstream.port, model, connections: 20 });
    const { result, held } = await holdStreams(client, load, async () => {
      await expect.poll(async () => (await readUpstreamStats(bench.upstream.port)).openStreams).toBe(20);
      return 'seen';
    });
    expect(held).toBe('seen');
    expect(result).toMatchObject({ lost: 0, bad: 0 });
  });
});

/** A conversation that ends with its user. */
const messages = Array.from({ length: 5 }, (_, i) => ({
  role: i % 2 === 0 ? 'user' : 'assistant',
  content: expect.stringContaining('water falls'),
}));

describe('the request that the client sends', () => {
  test.each([
    { bodyBytes: 1024 },
    { bodyBytes: 256 * 1024 },
    { bodyBytes: 1024, events: 3, model: 'burst-3', authorization: 'Bearer psk_bench' },
  ])('is valid JSON of exactly the requested size: %o', async (difference) => {
    const heads: string[] = [];
    const bodies: string[] = [];
    const server = await startScripted((socket, { head, body }) => {
      heads.push(head);
      bodies.push(body);
      socket.destroy();
    });
    await run(makeLoad({ port: server.port, ...difference }));
    await server.close();
    const body = bodies[0] ?? '';
    expect(body).toHaveLength(difference.bodyBytes);
    expect(JSON.parse(body)).toMatchObject({
      model: difference.model ?? 'unary',
      ...(difference.events === undefined ? {} : { stream: true, stream_options: { include_usage: true } }),
    });
    const authorization = /^authorization: (.*)$/m.exec(heads[0] ?? '')?.[1];
    expect(authorization).toBe(difference.authorization);
  });

  test.each<[ClientDialect, path: string, version: string | undefined, settings: object]>([
    ['openai-chat', '/v1/chat/completions', undefined, { messages, stream_options: { include_usage: true } }],
    ['anthropic-messages', '/v1/messages', '2023-06-01', { messages, max_tokens: 4096 }],
    ['openai-responses', '/v1/responses', undefined, { input: messages, store: false }],
  ])('speaks %s', async (dialect, path, version, settings) => {
    let asked = { head: '', body: '' };
    const server = await startScripted((socket, request) => {
      asked = request;
      socket.destroy();
    });
    await run(makeLoad({ port: server.port, model: 'burst-3', bodyBytes: 12 * 1024, events: 3, dialect }));
    await server.close();
    expect(asked.head.split('\r\n')[0]).toBe(`POST ${path} HTTP/1.1`);
    expect(/^anthropic-version: (.*)\r$/m.exec(asked.head)?.[1]).toBe(version);
    expect(asked.body).toHaveLength(12 * 1024);
    expect(JSON.parse(asked.body)).toEqual({
      model: 'burst-3',
      temperature: 0.7,
      stream: true,
      ...settings,
    });
  });

  test('is a stream in every dialect except the mock’s, where only plain answers can be checked', async () => {
    const load = makeLoad({ port: bench.upstream.port, dialect: 'anthropic-messages' });
    await expect(run(load)).rejects.toThrow('of anthropic-messages only streams with --events can be judged');
  });
});

const event = (finish: string) =>
  `data: {"choices":[{"delta":{"content":"@0000000000000000001@"},"finish_reason":${finish}}]}\n\n`;
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n';
const done = 'data: [DONE]\n\n';
const answerOf = (tokens: number) =>
  `{"choices":[{"message":{"content":"@0000000000000000001@"},"finish_reason":"stop"}],"usage":{"prompt_tokens":${tokens}}}`;

function stream(text: string): string {
  return `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

function unary(text: string, status = '200 OK', length = text.length): string {
  return `HTTP/1.1 ${status}\r\ncontent-length: ${length}\r\n\r\n${text}`;
}

describe('an invalid answer is counted as bad', () => {
  test.each<[string, string, Partial<Load>, string]>([
    ['another status', 'status', {}, unary(answerOf(1024), '503 Busy')],
    ['an answer without finish_reason', 'answer', {}, unary(answerOf(1024).replace('"stop"', 'null'))],
    ['an upstream that saw another body', 'bodySize', {}, unary(answerOf(100))],
    ['an answer cut by the connection', 'brokenOff', {}, unary(answerOf(1024), '200 OK', 2000)],
    ['bytes after the answer', 'framing', {}, `${unary(answerOf(1024))}x`],
    ['no HTTP at all', 'framing', {}, 'SSH-2.0-Other\r\n\r\n'],
    ['a stream without [DONE]', 'end', { events: 2 }, stream(event('null') + event('"stop"') + usage)],
    ['a stream without usage', 'end', { events: 2 }, stream(event('null') + event('"stop"') + done)],
    ['a missing event', 'events', { events: 2 }, stream(event('"stop"') + usage + done)],
    [
      'an error event',
      'answer',
      { events: 1 },
      stream(`${event('null')}data: {"error":{"message":"x"}}\n\n`),
    ],
    [
      'a stream without its last chunk',
      'brokenOff',
      { events: 1 },
      stream(event('"stop"') + usage + done).slice(0, -5),
    ],
  ])('%s: %s', async (_, reason, difference, bytes) => {
    const server = await startScripted((socket) => void socket.end(bytes, 'latin1'));
    const result = await run(makeLoad({ port: server.port, ...difference }));
    await server.close();
    expect(result.good).toBe(0);
    expect(result.badReasons[reason]).toBeGreaterThan(0);
  });

  test('the same answers are good if they are complete', async () => {
    const answers: [Partial<Load>, string][] = [
      [{}, unary(answerOf(1024))],
      [{ events: 2 }, stream(event('null') + event('"stop"') + usage + done)],
    ];
    for (const [difference, bytes] of answers) {
      const server = await startScripted((socket) => void socket.write(bytes, 'latin1'));
      const result = await run(makeLoad({ port: server.port, ...difference }));
      await server.close();
      expect(result).toMatchObject({ bad: 0 });
      expect(result.good).toBeGreaterThan(0);
    }
  });

  test('any split of the bytes gives the same result', async () => {
    const bytes = stream(event('null') + event('"stop"') + usage + done);
    const server = await startScripted((socket) => writeByteByByte(socket, bytes));
    const result = await run(makeLoad({ port: server.port, events: 2, seconds: 0.5 }));
    await server.close();
    expect(result).toMatchObject({ bad: 0 });
    expect(result.good).toBeGreaterThan(0);
  });

  test('a port without a listener ends the run early and says why', async () => {
    const server = await startScripted(() => undefined);
    await server.close();
    const result = await run(makeLoad({ port: server.port, seconds: 20 }));
    expect(result).toMatchObject({ good: 0, gaveUp: true });
    expect(result.badReasons.connect).toBeGreaterThan(0);
  });
});

/** `event:` and `data:` of one event, as both dialects write them. */
const named = (type: string, members: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const stamped = '@0000000000000000001@ text';
const textPart = (text: string) => ({ type: 'output_text', text, annotations: [] });
const messageItem = (...content: object[]) => ({ type: 'message', role: 'assistant', content });

/** Whole streams of two text events. */
const wholeStreams: { [dialect in Exclude<ClientDialect, 'openai-chat'>]: readonly string[] } = {
  'anthropic-messages': [
    named('message_start', { message: { role: 'assistant', usage: { input_tokens: 9, output_tokens: 0 } } }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: stamped } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: stamped } }),
    named('content_block_stop', { index: 0 }),
    named('message_delta', {
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 9, output_tokens: 2 },
    }),
    named('message_stop', {}),
  ],
  'openai-responses': [
    named('response.created', { response: { status: 'in_progress' } }),
    named('response.in_progress', { response: { status: 'in_progress' } }),
    named('response.output_item.added', { output_index: 0, item: messageItem() }),
    named('response.content_part.added', { output_index: 0, part: textPart('') }),
    named('response.output_text.delta', { output_index: 0, delta: stamped }),
    named('response.output_text.delta', { output_index: 0, delta: stamped }),
    named('response.output_text.done', { output_index: 0, text: stamped + stamped }),
    named('response.content_part.done', { output_index: 0, part: textPart(stamped + stamped) }),
    named('response.output_item.done', { output_index: 0, item: messageItem(textPart(stamped + stamped)) }),
    named('response.completed', {
      response: {
        status: 'completed',
        output: [messageItem(textPart(stamped + stamped))],
        usage: { input_tokens: 9, output_tokens: 2, total_tokens: 11 },
      },
    }),
  ],
};
const dialects = ['anthropic-messages', 'openai-responses'] as const;

describe.each(dialects)('a translated stream, %s,', (dialect) => {
  const whole = wholeStreams[dialect];
  type Write = (socket: Socket, bytes: string) => void;
  const cut: Write = (socket, bytes) => socket.end(bytes, 'latin1');
  const keep: Write = (socket, bytes) => socket.write(bytes, 'latin1');
  /** Gives the texts in turn, one a request. The client ends early when nearly everything is bad. */
  const judged = async (texts: readonly string[], write: Write = cut) => {
    let asked = 0;
    const server = await startScripted((socket) =>
      write(socket, stream(texts[asked++ % texts.length] ?? '')),
    );
    const result = await run(makeLoad({ port: server.port, events: 2, dialect, seconds: 0.5 }));
    await server.close();
    return result;
  };

  test('is good if it is complete, and its text events are counted with their delay', async () => {
    const result = await judged([whole.join('')], keep);
    expect(result).toMatchObject({ bad: 0 });
    expect(result.good).toBeGreaterThan(0);
    expect(result.events).toBe(2 * result.good);
    expect(result.eventDelayMs?.count).toBe(result.events);
  });

  test('is good however its bytes are split, and with comments and carriage returns', async () => {
    const text = `: keep-alive\n\n${whole.join('')}`.replaceAll('\n', '\r\n');
    const result = await judged([text], writeByteByByte);
    expect(result).toMatchObject({ bad: 0 });
    expect(result.good).toBeGreaterThan(0);
  });

  test('is bad if any of its events is missing', async () => {
    const result = await judged(whole.map((_, i) => whole.toSpliced(i, 1).join('')));
    expect(result.good).toBe(0);
    expect(result.bad).toBeGreaterThanOrEqual(whole.length);
  });

  test.each<[string, string, (text: string) => string]>([
    ['one text event too many', 'events', (text) => text.replace(/(event: \S+delta\n.*\n\n)/, '$1$1')],
    ['anything after its end', 'answer', (text) => text + named('ping', {})],
    ['[DONE], which neither dialect has', 'answer', (text) => `${text}data: [DONE]\n\n`],
    ['an error in its middle', 'answer', (text) => text.replace(/(?=event: \S+delta)/, named('error', {}))],
    ['data without the name of an event', 'answer', (text) => text.replace(/event: \S+delta\n/, '')],
    [
      'a name that its data does not say',
      'answer',
      (text) => text.replace(/"type":"\S+?delta"/, '"type":"x"'),
    ],
    ['text without a send time', 'answer', (text) => text.replace('@0000000000000000001@', '')],
    ['usage that lost a token', 'answer', (text) => text.replace('"output_tokens":2', '"output_tokens":1')],
    ['an event cut in its middle', 'answer', (text) => text.replace(/"\}(?=\n\n)/, '')],
  ])('is bad with %s', async (_, reason, spoil) => {
    const spoilt = spoil(whole.join(''));
    expect(spoilt).not.toBe(whole.join(''));
    const result = await judged([spoilt]);
    expect(result.good).toBe(0);
    expect(result.badReasons[reason]).toBeGreaterThan(0);
  });
});

test('a messages stream may hold pings', async () => {
  const ping = named('ping', {});
  const server = await startScripted((socket) => {
    socket.write(stream(wholeStreams['anthropic-messages'].map((event) => ping + event).join('')));
  });
  const result = await run(makeLoad({ port: server.port, events: 2, dialect: 'anthropic-messages' }));
  await server.close();
  expect(result).toMatchObject({ bad: 0 });
  expect(result.good).toBeGreaterThan(0);
});

describe('open loop', () => {
  test('counts the time that requests wait for a slow server, answered or not', async () => {
    // One connection, an answer after 50 ms, 100 requests a second: of about 50 due, at most 10 can be answered. A closed
    // loop would call that 50 ms a request; the last ones in fact have waited for hundreds.
    const server = await startScripted((socket) => {
      setTimeout(() => socket.write(unary(answerOf(1024)), 'latin1'), 50);
    });
    const result = await run(makeLoad({ port: server.port, ratePerSecond: 100, seconds: 0.5 }));
    await server.close();
    expect(result).toMatchObject({ bad: 0 });
    expect(result.unfinished).toBeGreaterThan(30);
    expect(result.latencyMs?.max).toBeGreaterThan(250);
  });
});

function writeByteByByte(socket: Socket, bytes: string): void {
  let at = 0;
  const next = () => {
    if (at === bytes.length || socket.destroyed) return;
    socket.write(bytes.charAt(at++), 'latin1', () => setImmediate(next));
  };
  next();
}
