// Every scripted fault is seen to happen, on a plain socket, in each dialect where it means something.

import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Call, Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';
import { shapes } from './shapes.ts';
import type { Dialect } from './support.ts';
import { dialects, paths, post, rawCall, rawSocket, readUntil, request } from './support.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterEach(() => {
  simulator.reset();
});

afterAll(async () => {
  await simulator.close();
});

const content: Record<Dialect, RegExp> = {
  chat: /"delta":\{"content":"[^"]/g,
  completions: /"text":"[^"]/g,
  messages: /"type":"text_delta"/g,
  responses: /"type":"response\.output_text\.delta"/g,
};

const terminal: Record<Dialect, RegExp> = {
  chat: /"finish_reason":"|\[DONE\]/,
  completions: /"finish_reason":"|\[DONE\]/,
  messages: /"stop_reason":"|message_stop/,
  responses: /response\.(completed|incomplete|failed)/,
};

const tokensIn = (dialect: Dialect, text: string) => text.match(content[dialect])?.length ?? 0;
const finalChunk = '\r\n0\r\n\r\n';

async function raw(dialect: Dialect, fault: string, isStream: boolean) {
  const body = request(dialect, { model: `sim-small+fault=${fault}`, ...(isStream ? { stream: true } : {}) });
  const result = await rawCall(simulator.port, paths[dialect], body);
  const call = await simulator.nextCall();
  return { ...result, call, bodyText: result.text.slice(result.text.indexOf('\r\n\r\n') + 4) };
}

describe.each(dialects)('in a stream of %s', (dialect) => {
  it('reset-after:5 sends five tokens and resets', async () => {
    const { text, ending, call } = await raw(dialect, 'reset-after:5', true);
    expect([tokensIn(dialect, text), ending]).toEqual([5, 'reset']);
    expect(text).not.toMatch(terminal[dialect]);
    expectEnding(call, 'reset-after', 5);
  });

  it('fin-after:5 sends five tokens and half-closes without the final chunk', async () => {
    const { text, ending, call } = await raw(dialect, 'fin-after:5', true);
    expect([tokensIn(dialect, text), ending, text.endsWith(finalChunk)]).toEqual([5, 'fin', false]);
    expect(text).not.toMatch(terminal[dialect]);
    expectEnding(call, 'fin-after', 5);
  });

  it('cut-after:5 sends five tokens and ends the body cleanly, without the terminal marker', async () => {
    const { text, ending, call } = await raw(dialect, 'cut-after:5', true);
    expect([tokensIn(dialect, text), ending, text.endsWith(finalChunk)]).toEqual([5, 'fin', true]);
    expect(text).not.toMatch(terminal[dialect]);
    expectEnding(call, 'cut-after', 5);
  });

  it('cut-after:0 sends no content, and cut-after more than there is sends all of it and no end', async () => {
    const nothing = await raw(dialect, 'cut-after:0', true);
    expect([tokensIn(dialect, nothing.text), nothing.call.tokens.output]).toEqual([0, 0]);
    const all = await raw(dialect, 'cut-after:1000', true);
    expect(tokensIn(dialect, all.text)).toBe(all.call.tokens.output);
    expect(all.call.tokens.output).toBeGreaterThan(10);
    expect(all.text).not.toMatch(terminal[dialect]);
  });

  it('stall-after:5 sends five tokens and then nothing until the client leaves', async () => {
    const body = request(dialect, { model: 'sim-small+fault=stall-after:5', stream: true });
    const socket = rawSocket(simulator.port, paths[dialect], body);
    await readUntil(socket, (text) => tokensIn(dialect, text) === 5);
    const { call } = await leave(socket);
    expect([call.ending, call.fault, call.tokens.output, call.isUsageSent]).toEqual([
      'client-gone',
      'stall-after',
      5,
      false,
    ]);
  });

  it('error-after:5 sends five tokens and an error, and ends without the terminal marker of success', async () => {
    const { text, ending, call } = await raw(dialect, 'error-after:5+status=529+message=Full', true);
    expect([tokensIn(dialect, text), ending, text.endsWith(finalChunk)]).toEqual([5, 'fin', true]);
    expect(text).toContain('"message":"Full"');
    expect(text).not.toMatch(/"finish_reason":"|\[DONE\]|message_stop|response\.completed/);
    if (dialect === 'messages') expect(text).toContain('event: error\ndata: {"type":"error"');
    if (dialect === 'responses') expect(text).toMatch(/event: error\n[\s\S]*event: response\.failed\n/);
    expectEnding(call, 'error-after', 5);
  });

  it('error-first sends an error in the very first event', async () => {
    const { bodyText, text, call } = await raw(dialect, 'error-first', true);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const first = bodyText.slice(0, bodyText.indexOf('\n\n'));
    expect(first).toContain('"error":{');
    expectEnding(call, 'error-first', 0);
  });

  it('no-done leaves out the very last event only', async () => {
    const { text, ending, call } = await raw(dialect, 'no-done', true);
    expect([ending, text.endsWith(finalChunk)]).toEqual(['fin', true]);
    expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed/);
    if (dialect !== 'responses') expect(text).toMatch(terminal[dialect]);
    expectEnding(call, 'no-done', tokensIn(dialect, text));
  });

  it('garbage-at:2 makes the second event something that is not JSON', async () => {
    const { bodyText, call } = await raw(dialect, 'garbage-at:2', true);
    const data = [...bodyText.matchAll(/^data: (.*)$/gm)].map(([, line = '']) => line);
    expect(() => JSON.parse(data[0] ?? '')).not.toThrow();
    expect(() => JSON.parse(data[1] ?? '')).toThrow();
    expect(() => JSON.parse(data[2] ?? '')).not.toThrow();
    expect(call.ending).toBe('garbage-at');
  });

  it('truncated breaks off inside the event of the last token', async () => {
    const { bodyText, call } = await raw(dialect, 'truncated', true);
    const last = [...bodyText.matchAll(/^data: (.*)$/gm)].at(-1)?.[1] ?? '';
    expect(() => JSON.parse(last)).toThrow();
    expect(call.ending).toBe('truncated');
  });

  it('huge-event:100000 sends one event of that size before the first token', async () => {
    const { bodyText, call } = await raw(dialect, 'huge-event:100000', true);
    expect(bodyText).toMatch(/data: \{"huge":"x{99000,}/);
    expect(call.ending).toBe('huge-event');
  });
});

describe.each(dialects)('in a plain answer of %s', (dialect) => {
  it.each(['cut-after:5', 'truncated'])('%s ends the body in the middle, cleanly', async (fault) => {
    const { bodyText, text, ending, call } = await raw(dialect, fault, false);
    expect(announced(text)).toBe(Buffer.byteLength(bodyText));
    expect(() => JSON.parse(bodyText)).toThrow();
    expect([ending, call.ending]).toEqual(['fin', fault.split(':')[0]]);
    expect(call.isUsageSent).toBe(false);
  });

  it.each(['fin-after:5', 'reset-after:5'])(
    '%s ends the connection in the middle of the body',
    async (fault) => {
      const { bodyText, text, ending, call } = await raw(dialect, fault, false);
      expect(announced(text)).toBeGreaterThan(Buffer.byteLength(bodyText));
      expect([ending, call.ending]).toEqual([fault.startsWith('fin') ? 'fin' : 'reset', fault.split(':')[0]]);
    },
  );

  it('stall-after:5 stops in the middle of the body', async () => {
    const socket = rawSocket(
      simulator.port,
      paths[dialect],
      request(dialect, { model: 'sim-small+fault=stall-after:5' }),
    );
    const text = await readUntil(socket, (piece) => piece.includes('{"id"'));
    expect(announced(text)).toBeGreaterThan(text.length - text.indexOf('{"id"'));
    const { call } = await leave(socket);
    expect([call.ending, call.fault]).toEqual(['client-gone', 'stall-after']);
  });

  it('garbage-at:1 answers something that is not JSON', async () => {
    const { bodyText, text } = await raw(dialect, 'garbage-at:1', false);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(() => JSON.parse(bodyText)).toThrow();
  });

  it.each(['error-first', 'error-after:3'])('%s comes as a status', async (fault) => {
    const { text, bodyText, call } = await raw(dialect, `${fault}+status=503`, false);
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    shapes[dialect].error.parse(JSON.parse(bodyText));
    expect(call.ending).toBe(fault.split(':')[0]);
  });
});

describe.each(dialects)('plain or streamed, in %s', (dialect) => {
  const statuses = [400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503, 529];
  it.each(statuses)('error-%i answers that status with the error body of the dialect', async (status) => {
    for (const stream of [true, false]) {
      const body = request(dialect, { model: `sim-small+fault=error-${status}`, stream });
      const response = await post(simulator.url, paths[dialect], body);
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
      shapes[dialect].error.parse(await response.json());
      const call = await simulator.nextCall();
      expectEnding(call, `error-${status}`, 0);
      expect([call.status, call.tokens.input]).toEqual([status, 0]);
    }
  });

  it('error-429 says when to come back, and in the words of the script', async () => {
    const model = 'sim-small+fault=error-429+retry-after=7+message=Wait%20a%20bit+type=requests+code=slow';
    const response = await post(simulator.url, paths[dialect], request(dialect, { model }));
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.json()).toMatchObject({
      error: { message: 'Wait a bit', type: 'requests', code: 'slow' },
    });
  });

  it('reset-before-headers resets and says nothing', async () => {
    const { text, ending, call } = await raw(dialect, 'reset-before-headers', true);
    expect([text, ending]).toEqual(['', 'reset']);
    expect([call.ending, call.status]).toEqual(['reset-before-headers', null]);
  });

  it('hang says nothing until the client leaves', async () => {
    const socket = rawSocket(
      simulator.port,
      paths[dialect],
      request(dialect, { model: 'sim-small+fault=hang' }),
    );
    await simulator.nextArrival();
    const { call, unread } = await leave(socket);
    expect([call.ending, call.fault, call.status, unread]).toEqual(['client-gone', 'hang', null, 0]);
  });

  it('hang-after-headers sends the headers only', async () => {
    const body = request(dialect, { model: 'sim-small+fault=hang-after-headers', stream: true });
    const socket = rawSocket(simulator.port, paths[dialect], body);
    const text = await readUntil(socket, (piece) => piece.includes('\r\n\r\n'));
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*text\/event-stream[\s\S]*\r\n\r\n$/);
    const { call } = await leave(socket);
    expect([call.ending, call.fault, call.status]).toEqual(['client-gone', 'hang-after-headers', 200]);
  });

  it('html answers a page, empty answers nothing, redirect points elsewhere; all as a provider behind a proxy would', async () => {
    const html = await raw(dialect, 'html', true);
    expect(html.text).toMatch(/^HTTP\/1\.1 200 [\s\S]*text\/html[\s\S]*<html>/);
    const empty = await raw(dialect, 'empty', true);
    expect([empty.text.startsWith('HTTP/1.1 200 '), empty.bodyText]).toEqual([true, '']);
    const redirect = await raw(dialect, 'redirect', false);
    expect(redirect.text).toMatch(/^HTTP\/1\.1 302 [\s\S]*location: http/);
  });
});

describe('whose turn it is to fail', () => {
  const statusOf = async (model: string, headers = {}) =>
    (await post(simulator.url, paths.chat, request('chat', { model }), headers)).status;

  it('once fails the first call only, times=2 the first two, after=1 spares the first', async () => {
    const statuses = async (model: string) => [
      await statusOf(model),
      await statusOf(model),
      await statusOf(model),
      await statusOf(model),
    ];
    expect(await statuses('a+fault=error-500+once')).toEqual([500, 200, 200, 200]);
    expect(await statuses('b+fault=error-500+times=2')).toEqual([500, 500, 200, 200]);
    expect(await statuses('c+fault=error-500+after=1+times=2')).toEqual([200, 500, 500, 200]);
    expect(await statuses('d+fault=error-500')).toEqual([500, 500, 500, 500]);
  });

  it('the header wins over the model name, and a reset starts again', async () => {
    expect(await statusOf('a+fault=error-500', { 'x-simulator': 'fault=error-503,once' })).toBe(503);
    expect(await statusOf('a+fault=error-500', { 'x-simulator': 'fault=error-503,once' })).toBe(200);
    simulator.reset();
    expect(await statusOf('a+fault=error-500', { 'x-simulator': 'fault=error-503,once' })).toBe(503);
  });

  it('a script holds for its model until it is taken away; a list gives one to each call', async () => {
    simulator.script('a', 'fault=error-500');
    expect([await statusOf('a'), await statusOf('b'), await statusOf('a')]).toEqual([500, 200, 500]);
    simulator.script('a', null);
    expect(await statusOf('a')).toBe(200);
    simulator.script('a', ['fault=error-502', '', 'fault=error-503']);
    expect([await statusOf('a'), await statusOf('a'), await statusOf('a'), await statusOf('a')]).toEqual([
      502, 200, 503, 200,
    ]);
  });

  it('a script can be for every model, or for an endpoint such as the model listing', async () => {
    simulator.script('*', 'fault=error-500');
    expect(await statusOf('anything')).toBe(500);
    simulator.reset();
    simulator.script('/v1/models', 'fault=error-503,once');
    const listing = async () => (await fetch(`${simulator.url}/v1/models`)).status;
    expect([await listing(), await listing(), await statusOf('a')]).toEqual([503, 200, 200]);
  });

  it('a script can be installed over HTTP, for a simulator in another process', async () => {
    const install = (body: unknown) => post(simulator.url, '/_simulator/script', body);
    expect((await install({ target: 'a', directives: 'fault=error-500' })).status).toBe(200);
    expect(await statusOf('a')).toBe(500);
    expect((await install({ target: 'a', directives: 'fault=bang' })).status).toBe(400);
    expect((await install({ directives: 'once' })).status).toBe(400);
    expect((await post(simulator.url, '/_simulator/reset', {})).status).toBe(200);
    expect(await statusOf('a')).toBe(200);
  });

  it('a directive that does not exist is the caller’s mistake', async () => {
    for (const dialect of dialects) {
      const response = await post(
        simulator.url,
        paths[dialect],
        request(dialect, { model: 'sim-small+fualt=hang' }),
      );
      expect(response.status).toBe(400);
      expect(JSON.stringify(await response.json())).toContain("there is no directive 'fualt'");
    }
  });
});

function expectEnding(call: Call, ending: string, outputTokens: number): void {
  expect([call.ending, call.fault, call.tokens.output, call.isUsageSent]).toEqual([
    ending,
    ending,
    outputTokens,
    false,
  ]);
}

function announced(text: string): number {
  return Number(/content-length: (\d+)/i.exec(text)?.[1]);
}

async function leave(socket: ReturnType<typeof rawSocket>): Promise<{ call: Call; unread: number }> {
  const unread = socket.readableLength;
  socket.destroy();
  await once(socket, 'close');
  return { call: await simulator.nextCall(), unread };
}
