// The books are exact: they say what was sent, to whom it was sent, and how each call ended.

import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';
import { shapes } from './shapes.ts';
import { dialects, parseEvents, paths, post, rawSocket, readUntil, request } from './support.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({
    keys: {
      'key-bad': { id: 'bad', behaviour: 'rejected' },
      'key-poor': { id: 'poor', behaviour: 'out-of-money' },
      'key-fast': { id: 'fast', behaviour: 'rate-limited', retryAfterS: 9 },
      'key-small': { id: 'small', behaviour: 'forbidden' },
      'key-good': { id: 'good', behaviour: 'accepted' },
    },
  });
});

afterEach(() => {
  simulator.reset();
});

afterAll(async () => {
  await simulator.close();
});

describe('the log', () => {
  it.each(dialects)('holds the usage that was sent, plain and streamed, in %s', async (dialect) => {
    const differs = { model: 'sim-small+cached=2+reasoning=5' };
    const plain = await (await post(simulator.url, paths[dialect], request(dialect, differs))).json();
    const options =
      dialect === 'chat' || dialect === 'completions' ? { stream_options: { include_usage: true } } : {};
    const body = request(dialect, { ...differs, ...options, stream: true });
    const events = parseEvents(await (await post(simulator.url, paths[dialect], body)).text());
    const [first, second] = simulator.calls();
    for (const call of [first, second]) {
      expect(call).toMatchObject({
        endpoint: paths[dialect],
        baseModel: 'sim-small',
        ending: 'complete',
        isUsageSent: true,
      });
      expect(call?.tokens).toMatchObject({ cached: 2, reasoning: 5 });
    }
    expect(first?.tokens).toEqual(second?.tokens);
    const { input = 0, output = 0, cached = 0 } = first?.tokens ?? {};
    const inputSent = dialect === 'messages' ? input - cached : input;
    // The names of the counters differ; their values must be there.
    for (const sent of [plain, usageEvent(events)]) {
      const text = JSON.stringify(sent);
      expect(text).toMatch(new RegExp(`"(prompt|input)_tokens":${inputSent}\\b`));
      expect(text).toMatch(new RegExp(`"(completion|output)_tokens":${output}\\b`));
      expect(text).toMatch(new RegExp(`"(cached_tokens|cache_read_input_tokens)":${cached}\\b`));
    }
    expect(simulator.counts().total).toMatchObject({
      calls: 2,
      tokens: { input: input * 2, output: output * 2 },
    });
  });

  it.each(dialects)('holds what was generated until the client left, in %s', async (dialect) => {
    // The pace is so slow that the third token never comes.
    simulator.script('sim-small', 'first=0,pace=600000');
    const socket = rawSocket(simulator.port, paths[dialect], request(dialect, { stream: true }));
    await readUntil(socket, (text) => text.includes('This'));
    socket.destroy();
    const call = await simulator.nextCall();
    expect(call).toMatchObject({ ending: 'client-gone', isUsageSent: false, tokens: { output: 1 } });
    expect(call.tokens.input).toBeGreaterThan(0);
  });

  it('knows a client that leaves a plain call before anything was generated', async () => {
    const socket = rawSocket(
      simulator.port,
      paths.chat,
      request('chat', { model: 'sim-small+delay=600000' }),
    );
    const arrived = await simulator.nextArrival();
    expect([arrived.ending, simulator.counts().running]).toEqual([null, 1]);
    socket.destroy();
    const call = await simulator.nextCall();
    expect([call.ending, call.status, call.tokens.input, call.tokens.output]).toEqual([
      'client-gone',
      null,
      0,
      0,
    ]);
    expect(simulator.counts().running).toBe(0);
  });

  it('knows a client that leaves in the middle of its own request', async () => {
    const socket = connect(simulator.port, '127.0.0.1');
    const head = 'host: simulator\r\ncontent-type: application/json\r\ncontent-length: 100';
    socket.end(`POST ${paths.chat} HTTP/1.1\r\n${head}\r\n\r\n{"model":`);
    const call = await simulator.nextCall();
    expect([call.ending, call.status, call.body]).toEqual(['client-gone', null, undefined]);
    socket.destroy();
  });

  it('waits before the headers with delay, and before the first token with first', async () => {
    simulator.script('sim-small', 'first=600000');
    for (const dialect of dialects) {
      const socket = rawSocket(simulator.port, paths[dialect], request(dialect, { stream: true }));
      const text = await readUntil(socket, (piece) => piece.includes('\r\n\r\n'));
      expect(text).toMatch(/^HTTP\/1\.1 200 /);
      expect(text).not.toContain('This');
      socket.destroy();
      expect(await simulator.nextCall()).toMatchObject({
        ending: 'client-gone',
        status: 200,
        tokens: { output: 0 },
      });
    }
  });

  it('holds requests with their headers, and of a credential only the digest', async () => {
    const secret = 'secret-credential-0123456789';
    const headers = {
      authorization: `Bearer ${secret}`,
      'x-api-key': secret,
      cookie: secret,
      'x-trace': 'abc',
    };
    const body = request('messages');
    await (await post(simulator.url, `${paths.messages}?beta=true`, body, headers)).text();
    const [call] = simulator.calls();
    expect(call).toMatchObject({ endpoint: '/v1/messages', query: 'beta=true', body, method: 'POST' });
    expect(call?.headers['x-trace']).toBe('abc');
    expect(call?.headers.authorization).toBe(`sha256:${call?.credentialSha256}`);
    expect(call?.keyId).toBe(call?.credentialSha256?.slice(0, 12));
    expect(JSON.stringify([simulator.calls(), simulator.counts()])).not.toContain(secret);
  });

  it('can be read over HTTP', async () => {
    await (await post(simulator.url, paths.chat, request('chat'))).text();
    expect(await (await fetch(`${simulator.url}/_simulator/counts`)).json()).toEqual(simulator.counts());
    expect(await (await fetch(`${simulator.url}/_simulator/calls`)).json()).toEqual(simulator.calls());
  });

  it('keeps as many calls as it was asked to, and counts all of them', async () => {
    const small = await startSimulator({ callsMax: 2 });
    for (let call = 0; call < 6; call += 1) await (await post(small.url, paths.chat, request('chat'))).text();
    expect(small.calls().map(({ sequence }) => sequence)).toEqual([5, 6]);
    expect(small.counts()).toMatchObject({ calls: 6, total: { calls: 6 } });
    await small.close();
  });

  it('hands each call to one waiter, whether it asked before or after', async () => {
    const isLarge = ({ baseModel }: { baseModel: string }) => baseModel === 'sim-large';
    const early = simulator.nextCall(isLarge);
    await (await post(simulator.url, paths.chat, request('chat'))).text();
    await (await post(simulator.url, paths.chat, request('chat', { model: 'sim-large' }))).text();
    expect((await early).sequence).toBe(2);
    expect((await simulator.nextCall()).sequence).toBe(1);
  });

  it('does not count a call from before a reset', async () => {
    const socket = rawSocket(simulator.port, paths.chat, request('chat', { model: 'sim-small+fault=hang' }));
    await simulator.nextArrival();
    simulator.reset();
    socket.destroy();
    await once(socket, 'close');
    await (await post(simulator.url, paths.chat, request('chat'))).text();
    expect(simulator.counts()).toMatchObject({
      calls: 1,
      running: 0,
      total: { calls: 1, byEnding: { complete: 1 } },
    });
  });
});

describe('a scripted key', () => {
  const statusOf = async (dialect: (typeof dialects)[number], key: string) => {
    const response = await post(simulator.url, paths[dialect], request(dialect), {
      authorization: `Bearer ${key}`,
    });
    const body: unknown = await response.json();
    if (!response.ok) shapes[dialect].error.parse(body);
    return { status: response.status, body, retryAfter: response.headers.get('retry-after') };
  };

  it.each(dialects)('is refused in the way of its script, in %s', async (dialect) => {
    expect((await statusOf(dialect, 'key-good')).status).toBe(200);
    expect((await statusOf(dialect, 'key-unknown')).status).toBe(200);
    expect((await statusOf(dialect, 'key-bad')).status).toBe(401);
    expect((await statusOf(dialect, 'key-small')).status).toBe(403);
    expect(await statusOf(dialect, 'key-fast')).toMatchObject({ status: 429, retryAfter: '9' });
    const poor = await statusOf(dialect, 'key-poor');
    if (dialect === 'messages')
      expect(poor).toMatchObject({
        status: 400,
        body: {
          error: { type: 'invalid_request_error', message: expect.stringMatching(/^Your credit balance/) },
        },
      });
    else expect(poor).toMatchObject({ status: 429, body: { error: { code: 'insufficient_quota' } } });
    const { keys } = simulator.counts();
    expect(keys.bad).toMatchObject({ calls: 1, byEnding: { rejected: 1 }, tokens: { input: 0, output: 0 } });
    expect(keys.good).toMatchObject({
      calls: 1,
      byEndpoint: { [paths[dialect]]: 1 },
      byEnding: { complete: 1 },
    });
  });

  it('can change its mind while it is used, until a reset', async () => {
    simulator.setKey('key-good', { id: 'good', behaviour: 'rejected' });
    expect((await statusOf('chat', 'key-good')).status).toBe(401);
    simulator.setKey('key-good', null);
    expect((await statusOf('chat', 'key-good')).status).toBe(200);
    simulator.setKey('key-good', { behaviour: 'rejected' });
    simulator.reset();
    expect((await statusOf('chat', 'key-good')).status).toBe(200);
  });

  it('is refused at the model listing too, where health checks look', async () => {
    const headers = { authorization: 'Bearer key-bad' };
    expect((await fetch(`${simulator.url}/v1/models`, { headers })).status).toBe(401);
  });

  it('is the only one that counts when unknown keys are not welcome', async () => {
    const closed = await startSimulator({
      keys: { 'key-good': { behaviour: 'accepted' } },
      onlyKnownKeys: true,
    });
    const statuses: number[] = [];
    for (const headers of [{ 'x-api-key': 'key-good' }, { 'x-api-key': 'key-other' }, {}]) {
      statuses.push(
        (await post(closed.url, paths.messages, request('messages'), headers as Record<string, string>))
          .status,
      );
    }
    expect(statuses).toEqual([200, 401, 401]);
    await closed.close();
  });
});

describe('a slow reader', () => {
  it('holds the generation back instead of filling the memory', async () => {
    const body = JSON.stringify(request('chat', { model: 'sim-small+tokens=200000', stream: true }));
    const { port } = simulator;
    const outgoing = httpRequest({
      port,
      method: 'POST',
      path: paths.chat,
      headers: { 'content-type': 'application/json' },
    });
    outgoing.on('error', () => undefined);
    outgoing.end(body);
    const [incoming] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
    incoming.pause();
    // Others are answered all the same; at the same time the generation comes to rest, far from its end.
    const generated = () => simulator.calls().find(({ model }) => model.includes('200000'))?.tokens.output;
    let [before, calm] = [generated(), 0];
    while (calm < 20) {
      await (await post(simulator.url, paths.chat, request('chat'))).text();
      calm = generated() === before ? calm + 1 : 0;
      before = generated();
    }
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(200_000);
    outgoing.destroy();
    const call = await simulator.nextCall(({ model }) => model.includes('200000'));
    expect([call.ending, call.tokens.output]).toEqual(['client-gone', before]);
  });
});

describe('closing', () => {
  it('ends the calls that are still running and frees the port', async () => {
    const other = await startSimulator();
    const socket = rawSocket(other.port, paths.chat, request('chat', { model: 'sim-small+fault=hang' }));
    socket.on('error', () => undefined);
    await other.nextArrival();
    const never = other.nextCall(() => false);
    await Promise.all([other.close(), once(socket, 'close')]);
    await expect(never).rejects.toThrow('closed');
    expect(other.calls()[0]?.ending).toBe('shut-down');
    const again = await startSimulator({ port: other.port });
    expect(again.port).toBe(other.port);
    await again.close();
  });
});

function usageEvent(events: ReturnType<typeof parseEvents>): unknown {
  return events.filter(({ data }) => /"(completion|output)_tokens":/.test(JSON.stringify(data))).at(-1)?.data;
}
