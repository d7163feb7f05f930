// The load client: it must believe nobody, and count waiting that a closed loop would hide.

import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdStreams, type Load, type LoadResult, runLoad } from '../../bench/load.ts';
import { readUpstreamStats } from '../../bench/upstream.ts';
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
  ])('finds every answer good: %s', async (_, difference) => {
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

  test('calls its observer when the window opens and when it closes', async () => {
    const client = { launcher: bench.launcher, program: bench.programs.client };
    let calls = 0;
    const { before, after } = await runLoad(client, makeLoad({ port: bench.upstream.port }), () => ++calls);
    expect([before, after]).toEqual([1, 2]);
  });

  test.each(['wait', 'paced-1000x50'])('holds streams of %s open until it is let go', async (model) => {
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

describe('the request that the client sends', () => {
  test.each([
    { bodyBytes: 1024 },
    { bodyBytes: 256 * 1024 },
    { bodyBytes: 1024, events: 3, model: 'burst-3', authorization: 'Bearer psk_bench' },
  ])('is valid JSON of exactly the asked size: %o', async (difference) => {
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

describe('an answer that is not what it should be is counted as bad', () => {
  test.each<[string, string, Partial<Load>, string]>([
    ['another status', 'status', {}, unary(answerOf(1024), '503 Busy')],
    ['an answer without finish_reason', 'answer', {}, unary(answerOf(1024).replace('"stop"', 'null'))],
    ['an upstream that saw another body', 'bodySize', {}, unary(answerOf(100))],
    ['an answer cut by the connection', 'brokenOff', {}, unary(answerOf(1024), '200 OK', 2000)],
    ['bytes behind the answer', 'framing', {}, `${unary(answerOf(1024))}x`],
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

  test('the same answers, whole, are good', async () => {
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

  test('any split of the bytes gives the same verdict', async () => {
    const bytes = stream(event('null') + event('"stop"') + usage + done);
    const server = await startScripted((socket) => writeByteByByte(socket, bytes));
    const result = await run(makeLoad({ port: server.port, events: 2, seconds: 0.5 }));
    await server.close();
    expect(result).toMatchObject({ bad: 0 });
    expect(result.good).toBeGreaterThan(0);
  });

  test('a port where nobody listens ends the run early and says why', async () => {
    const server = await startScripted(() => undefined);
    await server.close();
    const result = await run(makeLoad({ port: server.port, seconds: 20 }));
    expect(result).toMatchObject({ good: 0, gaveUp: true });
    expect(result.badReasons.connect).toBeGreaterThan(0);
  });
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
