// What if the client reads slowly, not at all, or goes away; and what does it see while it waits?

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { GatewayOptions } from '../../gateway/process/options.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { listenKept } from '../support/listen-kept.ts';
import type { RawAnswer } from '../support/raw-client.ts';
import { type Behaviour, type Script, startWall, type Wall } from '../support/wall.ts';
import { askOpen, dataOf, errorOf, lineOf, textOf, wallText } from './ask.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function wallThat(script: Script): Promise<Wall> {
  const wall = await startWall(script);
  closers.push(() => wall.close());
  return wall;
}

async function rigOf(targets: readonly RigTarget[], options: Partial<GatewayOptions> = {}): Promise<Rig> {
  const rig = await startRig(tableOf(targets), { random: () => 0, ...options });
  closers.push(() => rig.close());
  return rig;
}

/** The first event that carries text. */
async function firstContent(answer: RawAnswer): Promise<void> {
  for (;;) {
    const event = await answer.nextEvent();
    if (event === undefined) throw new Error('the stream ended before any content');
    if (textOf({ events: [event], json: undefined }) !== '') return;
  }
}

describe('a client that stops reading', () => {
  const megabytes = 48;
  const tokens = Array.from({ length: megabytes * 64 }, () => `${'x'.repeat(16 * 1024 - 1)} `);
  const long: Behaviour = { type: 'answer', tokens };
  /** Kernel buffers of two connections: each up to 16 MiB to receive and 4 MiB to send. The gateway itself holds back a few chunks. */
  const bufferedMax = 42 * 1024 * 1024;

  test('stops the upstream too, and gets everything when it reads on', async () => {
    const wall = await wallThat(long);
    const rig = await rigOf([{ baseUrl: wall.baseUrl }]);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    const opened = await answer;
    await firstContent(opened);
    connection.pause();
    const call = await wall.nextCall();
    await settled(() => call.bytesWritten);
    expect(call.bytesWritten, `of ${megabytes} MiB`).toBeLessThan(bufferedMax);
    connection.resume();
    const finished = await opened.finished;
    connection.close();
    expect(finished.ending).toBe('last-chunk');
    expect(dataOf(finished).at(-1)).toBe('[DONE]');
    expect(textOf(finished)).toHaveLength(tokens.length * 16 * 1024);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
  });

  test('is disconnected when it reads nothing for too long', async () => {
    const wall = await wallThat(long);
    const rig = await rigOf([{ baseUrl: wall.baseUrl, timeouts: { clientWriteMs: 200 } }]);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    await firstContent(await answer);
    connection.pause();
    const call = await wall.nextCall();
    await call.clientClosed;
    expect(call.bytesWritten, `of ${megabytes} MiB`).toBeLessThan(bufferedMax);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 cancelled tenant']);
    connection.close();
  });

  test('gets the timeout of the serving provider, not of the failed one', async () => {
    const first = await wallThat({ type: 'status', status: 503 });
    const second = await wallThat(long);
    const rig = await rigOf([
      { baseUrl: first.baseUrl, timeouts: { clientWriteMs: 600_000 } },
      { baseUrl: second.baseUrl, timeouts: { clientWriteMs: 200 } },
    ]);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    await firstContent(await answer);
    connection.pause();
    const call = await second.nextCall();
    await call.clientClosed;
    connection.close();
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_503 platform', '2 t1 cancelled tenant']);
  });
});

describe('a client that goes away', () => {
  test.each([
    ['in a stream', true, { type: 'stall', after: { contentEvents: 3 } }],
    ['before a stream has begun', true, { type: 'hang', when: 'after-headers' }],
    ['before the headers of a stream', true, { type: 'hang', when: 'before-headers' }],
    ['from a plain call', false, { type: 'hang', when: 'before-headers' }],
    ['from half of a plain answer', false, { type: 'stall', after: { bytes: 40 } }],
  ] satisfies [string, boolean, Behaviour][])(
    '%s: the upstream is released',
    async (_name, isStream, fault) => {
      const wall = await wallThat(fault);
      const rig = await rigOf([{ baseUrl: wall.baseUrl }, { baseUrl: wall.baseUrl }]);
      const { connection, answer } = await askOpen(rig, { isStream });
      answer.catch(() => {});
      const call = await wall.nextCall();
      if (isStream && fault.type === 'stall') await firstContent(await answer);
      connection.abort();
      await call.clientClosed;
      expect(rig.records.map(lineOf)).toEqual(['1 t0 cancelled tenant']);
      expect(rig.records[0]?.usage.input).toBeGreaterThan(0);
      expect(wall.calls, 'nobody else is asked for one who has left').toHaveLength(1);
    },
  );

  test.each([true, false])(
    'while its upstream takes long to connect (stream: %s): the connection is given up, and no upstream is blamed',
    async (isStream) => {
      const silent = createServer();
      const { port, close } = await listenKept(silent);
      closers.push(close);
      // Longer than the test: the connection does not end for want of time.
      const targets = [{ baseUrl: `https://127.0.0.1:${port}/v1`, timeouts: { connectMs: 600_000 } }];
      const rig = await rigOf(targets);
      const arrived = once(silent, 'connection');
      const { connection, answer } = await askOpen(rig, { isStream });
      answer.catch(() => {});
      const [socket]: Socket[] = await arrived;
      if (!socket) throw new Error('nobody has come');
      socket.resume();
      connection.abort();
      await once(socket, 'close');
      await vi.waitFor(async () => expect(await inFlight(rig)).toBe(0));
      expect(rig.records.map(lineOf)).toEqual(['1 t0 cancelled tenant']);
      expect(rig.records[0]?.usage.input).toBe(0);
      expect(rig.failures).toEqual([]);
    },
  );

  test.each([true, false])(
    'between two attempts (stream: %s): no second attempt begins',
    async (isStream) => {
      const wall = await wallThat({ type: 'status', status: 429, headers: { 'retry-after': '5' } });
      const rig = await rigOf([{ baseUrl: wall.baseUrl }]);
      const { connection, answer } = await askOpen(rig, { isStream });
      answer.catch(() => {});
      await vi.waitFor(() => expect(rig.records).toHaveLength(1));
      connection.abort();
      // Long before the five seconds are over.
      await vi.waitFor(async () => expect(await inFlight(rig)).toBe(0), { timeout: 3_000 });
      expect([wall.calls.length, rig.records.map(lineOf)]).toEqual([1, ['1 t0 failed status_429 platform']]);
    },
  );
});

describe('a client that waits', () => {
  const patient = { openAfterMs: 20, keepAliveMs: 20 };

  test('gets comments as heartbeats before the first content', async () => {
    const mayGo = Promise.withResolvers<void>();
    const wall = await wallThat({ type: 'answer', beforeFirstContent: { until: mayGo.promise } });
    const rig = await rigOf([{ baseUrl: wall.baseUrl }], patient);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    const opened = await answer;
    expect([opened.status, opened.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    for (let n = 0; n < 3; n++) expect(await opened.nextEvent()).toMatchObject({ type: 'comment' });
    mayGo.resolve();
    const finished = await opened.finished;
    connection.close();
    expect([textOf(finished), dataOf(finished).at(-1), finished.ending]).toEqual([
      wallText,
      '[DONE]',
      'last-chunk',
    ]);
  });

  test('gets heartbeats between events, never inside an event', async () => {
    const mayGo = Promise.withResolvers<void>();
    const wall = await wallThat({
      type: 'stall',
      after: { bytes: 700 },
      for: { until: mayGo.promise },
      followedBy: 'go-on',
    });
    const rig = await rigOf([{ baseUrl: wall.baseUrl }], patient);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    const opened = await answer;
    await firstContent(opened);
    let comments = 0;
    while (comments < 2) if ((await opened.nextEvent())?.type === 'comment') comments++;
    mayGo.resolve();
    const finished = await opened.finished;
    connection.close();
    expect([textOf(finished), finished.ending]).toEqual([wallText, 'last-chunk']);
  });

  test("gets the headers for anything that a provider may leave out before the first content, and no provider's name", async () => {
    const mayFail = Promise.withResolvers<void>();
    const first = await wallThat({ type: 'status', status: 503, beforeHeaders: { until: mayFail.promise } });
    const second = await wallThat({ type: 'answer' });
    const spoken = (name: 'openai-chat' | 'anthropic-messages') => ({
      dialects: [name],
      providerEntry: { dialects: [name] },
    });
    const rig = await rigOf(
      [
        { ...spoken('openai-chat'), baseUrl: first.baseUrl },
        { ...spoken('anthropic-messages'), baseUrl: second.baseUrl },
      ],
      patient,
    );
    const { connection, answer } = await askOpen(rig, { isStream: true, more: { seed: 7 } });
    const { headers, finished } = await answer;
    mayFail.resolve();
    expect(textOf(await finished)).toBe(wallText);
    connection.close();
    expect(headers).toMatchObject({ 'x-penstock-attempts': '1', 'x-penstock-dropped': 'seed' });
    expect(headers).not.toHaveProperty('x-penstock-provider');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_503 platform', '2 t1 answered tenant']);
  });

  test('gets the answer of the next provider, although the stream was opened early', async () => {
    const mayFail = Promise.withResolvers<void>();
    const first = await wallThat({ type: 'status', status: 503, beforeHeaders: { until: mayFail.promise } });
    const second = await wallThat({ type: 'answer' });
    const rig = await rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }], patient);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    const opened = await answer;
    expect([opened.status, opened.headers['x-penstock-attempts']]).toEqual([200, '1']);
    mayFail.resolve();
    const finished = await opened.finished;
    connection.close();
    expect([textOf(finished), dataOf(finished).at(-1), finished.ending]).toEqual([
      wallText,
      '[DONE]',
      'last-chunk',
    ]);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_503 platform', '2 t1 answered tenant']);
  });

  test('gets an error in the stream when no provider can answer, although the stream was opened early', async () => {
    const mayFail = Promise.withResolvers<void>();
    const wall = await wallThat({ type: 'status', status: 501, beforeHeaders: { until: mayFail.promise } });
    const rig = await rigOf([{ baseUrl: wall.baseUrl }], patient);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    const opened = await answer;
    mayFail.resolve();
    const finished = await opened.finished;
    connection.close();
    expect([errorOf(finished)?.code, finished.ending]).toEqual(['upstream_error', 'fin-early']);
    expect(dataOf(finished)).toHaveLength(1);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_501 platform']);
  });
});

async function inFlight({ gateway }: Rig): Promise<number> {
  const text = await gateway.metrics.registry.metrics();
  return Number(/^penstock_requests_in_flight(?:\{.*\})? (\d+)$/m.exec(text)?.[1]);
}

/** A value that has stood still for five looks in a row: what is stuck in a kernel buffer gives no event. */
async function settled(read: () => number): Promise<void> {
  let still = 0;
  let last = read();
  await vi.waitFor(
    () => {
      still = read() === last ? still + 1 : 0;
      last = read();
      expect(still).toBeGreaterThanOrEqual(5);
    },
    { interval: 30, timeout: 10_000 },
  );
}
