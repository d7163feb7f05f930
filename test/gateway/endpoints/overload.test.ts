// What does a client see when there is too much to do, and what when it sends its next request too early?

import { spawnSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import type { GatewayOptions } from '../../../gateway/process/options.ts';
import { openRaw, type RawConnection, rawCall, writeRequest } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { keyEntry, type Rig, type RigTarget, startRig, tableOf, testKey } from '../rig.ts';
import { bearer, errorOf, get, messagesErrorOf, portOf, post } from './ask.ts';

const path = '/v1/chat/completions';
const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };

let wall: Wall;
let rig: Rig;
let mayAnswer: PromiseWithResolvers<void>;
const connections: RawConnection[] = [];

async function start(
  bounds: NonNullable<GatewayOptions['bounds']>,
  options: Partial<GatewayOptions> = {},
  target: Partial<RigTarget> = {},
): Promise<void> {
  mayAnswer = Promise.withResolvers();
  wall = await startWall({ type: 'answer', beforeHeaders: { until: mayAnswer.promise } });
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, ...target }]), { ...options, bounds });
}

afterEach(async () => {
  mayAnswer.resolve();
  for (const connection of connections.splice(0)) connection.close();
  await rig.close();
  await wall.close();
  expect(rig.failures).toEqual([]);
});

async function open(): Promise<RawConnection> {
  const connection = await openRaw({ port: portOf(rig) });
  connections.push(connection);
  return connection;
}

async function metric(name: string): Promise<number | undefined> {
  const text = await rig.gateway.metrics.registry.metrics();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

describe('requests above the limit', () => {
  test('get 503 in the shape of their route, may be retried, and keep their connection', async () => {
    await start({ inFlightMax: 1 });
    const running = post(rig, path, body);
    await wall.nextCall();
    const connection = await open();
    for (const [route, read] of [
      [path, errorOf],
      ['/v1/messages', (answer: { json: unknown }) => messagesErrorOf(answer).error],
    ] as const) {
      await connection.send(writeRequest({ path: route, headers: bearer, body }));
      const refused = await connection.answer();
      expect(refused.status).toBe(503);
      expect(refused.headers).toMatchObject({ 'retry-after': '1', connection: 'keep-alive' });
      expect(refused.headers).not.toHaveProperty('x-should-retry');
      expect(refused.headers['x-request-id']).toMatch(/^req_/);
      expect(read(await refused.finished)).toMatchObject({
        message: 'The gateway is overloaded. Send the request again.',
        code: 'overloaded',
      });
    }
    mayAnswer.resolve();
    expect((await running).status).toBe(200);
    await connection.send(writeRequest({ path, headers: bearer, body }));
    expect((await connection.answer()).status).toBe(200);
    expect(await metric('penstock_shed_total{reason="in_flight"}')).toBe(2);
    expect(wall.calls).toHaveLength(2);
  });

  test('are admitted again after running ones end or their clients disconnect', async () => {
    await start({ inFlightMax: 3 });
    const leaving = await Promise.all([open(), open(), open()]);
    for (const connection of leaving) {
      await connection.send(writeRequest({ path, headers: bearer, body }));
      await wall.nextCall();
    }
    expect((await post(rig, path, body)).status).toBe(503);
    for (const connection of leaving) connection.abort();
    await Promise.all(wall.calls.map(({ clientClosed }) => clientClosed));
    mayAnswer.resolve();
    for (let round = 0; round < 5; round++) expect((await post(rig, path, body)).status).toBe(200);
  });
});

test('one key whose requests hang leaves places to others', async () => {
  const other = `psk_${'o'.repeat(49)}`;
  await start({ inFlightMax: 8 });
  rig.offer({ keys: [keyEntry(testKey, 'team/key'), keyEntry(other, 'team/other')] });
  const hanging = Array.from({ length: 7 }, () => post(rig, path, body));
  for (const _ of hanging) await wall.nextCall();
  expect((await post(rig, path, body)).status).toBe(503);
  const served = post(rig, path, body, { authorization: `Bearer ${other}` });
  await wall.nextCall();
  mayAnswer.resolve();
  expect((await served).status).toBe(200);
  expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual(hanging.map(() => 200));
  expect((await post(rig, path, body)).status).toBe(200);
});

test('a client that is still sending, or only gets an error, takes up no place', async () => {
  await start({ inFlightMax: 1 });
  const unfinished = 'content-length: 1000\r\n\r\n{';
  for (const head of [
    `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\n`,
    `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer psk_nobody\r\n`,
    'POST /nowhere HTTP/1.1\r\nhost: a\r\n',
  ]) {
    const connection = await open();
    await connection.send(head + unfinished);
  }
  await expect.poll(() => metric('penstock_request_body_bytes')).toBe(1);
  const running = post(rig, path, body);
  await Promise.race([wall.nextCall(), running]);
  expect((await post(rig, path, body)).status, 'one at work is one').toBe(503);
  mayAnswer.resolve();
  expect((await running).status).toBe(200);
});

describe('bodies above the limit', () => {
  const otherKey = `psk_${'o'.repeat(49)}`;
  const other = { authorization: `Bearer ${otherKey}` };
  const announcing = ({ authorization }: typeof bearer, bytes: number): string =>
    `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\ncontent-length: ${bytes}\r\n\r\n{`;

  async function startWithTwoKeys(target: Partial<RigTarget> = {}): Promise<void> {
    await start({ bodyBytesMax: 400_000 }, {}, target);
    rig.offer({ keys: [keyEntry(testKey, 'team/key'), keyEntry(otherKey, 'team/other')] });
  }

  test('get 503 before they are read, or when they grow too large; smaller ones are served', async () => {
    await startWithTwoKeys();
    const running = post(rig, path, { ...body, x: 'x'.repeat(290_000) });
    await wall.nextCall();
    expect(await metric('penstock_request_body_bytes')).toBeGreaterThan(290_000);
    const announced = await open();
    await announced.send(announcing(other, 80_000));
    const refused = await announced.answer();
    expect([refused.status, refused.headers['retry-after'], refused.headers.connection]).toEqual([
      503,
      '1',
      'close',
    ]);
    expect(errorOf(await refused.finished).message).toMatch(/no memory left for request bodies/);
    const unknown = await rawCall(
      { port: portOf(rig) },
      {
        path,
        method: 'POST',
        headers: { ...other, 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
        body: `13880\r\n${' '.repeat(80_000)}\r\n0\r\n\r\n`,
      },
    );
    expect(unknown.status).toBe(503);
    expect((await post(rig, path, body)).status, 'of the caller that has more than half').toBe(503);
    expect(await metric('penstock_shed_total{reason="body_bytes"}')).toBe(3);
    const small = post(rig, path, body, other);
    await wall.nextCall();
    mayAnswer.resolve();
    expect([(await running).status, (await small).status]).toEqual([200, 200]);
    expect(await metric('penstock_request_body_bytes')).toBe(0);
  });

  const messages: Partial<RigTarget> = { dialects: ['anthropic-messages'] };
  const completion = (change: object) => post(rig, '/v1/completions', { model: 'm', ...change });

  test('are kept once for many calls, so that others find room', async () => {
    await startWithTwoKeys(messages);
    const running = completion({ prompt: 'x'.repeat(30_000), n: 12 });
    for (let call = 0; call < 5; call++) await wall.nextCall();
    const taken = await metric('penstock_request_body_bytes');
    expect(taken).toBeGreaterThan(60_000);
    expect(taken).toBeLessThan(62_000);
    const small = post(rig, path, body, other);
    mayAnswer.resolve();
    expect([(await running).status, (await small).status]).toEqual([200, 200]);
    expect(await metric('penstock_request_body_bytes')).toBe(0);
  });

  test('take turns if their calls differ: one key has half of the room', async () => {
    await startWithTwoKeys(messages);
    const running = completion({ prompt: 'x'.repeat(45_000), n: 8, seed: 1 });
    for (let call = 0; call < 3; call++) await wall.nextCall();
    const small = post(rig, path, body, other);
    await wall.nextCall();
    expect(wall.calls).toHaveLength(4);
    expect(await metric('penstock_request_body_bytes')).toBeLessThan(200_000);
    mayAnswer.resolve();
    expect([(await running).status, (await small).status, wall.calls.length]).toEqual([200, 200, 9]);
    expect(await metric('penstock_shed_total{reason="body_bytes"}')).toBe(0);
  });

  test('get the error if they are translated, too', async () => {
    await startWithTwoKeys(messages);
    const large = { prompt: 'x'.repeat(60_000) };
    const running = completion(large);
    await wall.nextCall();
    const refused = await completion(large);
    expect([refused.status, refused.headers['retry-after'], wall.calls.length]).toEqual([503, '1', 1]);
    expect(errorOf(refused)).toMatchObject({ code: 'overloaded' });
    expect(await metric('penstock_shed_total{reason="body_bytes"}')).toBe(1);
    mayAnswer.resolve();
    expect([(await running).status, (await completion(large)).status]).toEqual([200, 200]);
  });

  test('that are only announced take no room', async () => {
    await startWithTwoKeys();
    for (let idle = 0; idle < 20; idle++) await (await open()).send(announcing(bearer, 150_000));
    await expect.poll(() => metric('penstock_request_body_bytes')).toBe(20);
    const asked = [post(rig, path, { ...body, x: 'x'.repeat(190_000) }), post(rig, path, body, other)];
    for (const _ of asked) await Promise.race([wall.nextCall(), ...asked]);
    mayAnswer.resolve();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  });
});

/** Resolves where the server has let the connection go. */
const gone = async (): Promise<'fin' | 'reset' | 'self'> => (await open()).closed;

async function models(connection: RawConnection): Promise<number> {
  await connection.send(writeRequest({ path: '/v1/models', headers: bearer }));
  const answer = await connection.answer();
  await answer.finished;
  return answer.status;
}

describe('connections above the limit', () => {
  test('in total are closed; open ones go on, and new ones are accepted after they close', async () => {
    await start({ connectionsMax: 2 });
    const [first, second] = [await open(), await open()];
    expect(await gone()).toMatch(/fin|reset/);
    expect([await models(first), await models(second)]).toEqual([200, 200]);
    expect(await metric('penstock_connections_refused_total{reason="total"}')).toBe(1);
    first.close();
    await expect.poll(async () => await models(await open()).catch(() => 0)).toBe(200);
  });

  test('from one address are closed', async () => {
    await start({ connectionsPerAddressMax: 2 });
    const [first, second] = [await open(), await open()];
    expect([await models(first), await models(second)]).toEqual([200, 200]);
    expect(await gone()).toMatch(/fin|reset/);
    const other = await openRaw({ port: portOf(rig), localAddress: '127.0.0.2' });
    connections.push(other);
    expect(await models(other)).toBe(200);
    expect(await metric('penstock_connections_refused_total{reason="address"}')).toBe(1);
    first.close();
    await expect.poll(async () => await models(await open()).catch(() => 0)).toBe(200);
  });

  test('from a proxy are not limited by address', async () => {
    await start({ connectionsPerAddressMax: 1, proxies: ['127.0.0.0/8'] });
    for (const connection of [await open(), await open(), await open()])
      expect(await models(connection)).toBe(200);
  });
});

describe('bad keys from one address', () => {
  const bad = { authorization: `Bearer psk_${'x'.repeat(49)}` };

  test('get 429 if there are too many; a valid key from there is never delayed', async () => {
    await start({ failedKeysPerMinute: 3 });
    for (let n = 0; n < 3; n++) expect((await post(rig, path, body, bad)).status).toBe(401);
    const limited = await post(rig, path, body, bad);
    expect(limited.status).toBe(429);
    expect(limited.headers).toMatchObject({ 'retry-after': '20', 'x-should-retry': 'false' });
    expect(errorOf(limited)).toMatchObject({ type: 'rate_limit_error', code: 'rate_limit_exceeded' });
    expect((await get(rig, '/v1/models', bad)).status).toBe(429);
    expect((await post(rig, path, body, {})).status).toBe(429);
    expect((await get(rig, '/v1/models')).status).toBe(200);
    mayAnswer.resolve();
    for (let n = 0; n < 5; n++) expect((await post(rig, path, body)).status).toBe(200);
    expect(await metric('penstock_authentication_failures_limited_total')).toBe(3);
  });

  test('from a trusted proxy count for the address that it names, and only from a proxy', async () => {
    await start({ failedKeysPerMinute: 1, proxies: ['127.0.0.1'] });
    const from = async (address: string): Promise<number> =>
      (await post(rig, path, body, { ...bad, 'x-forwarded-for': address })).status;
    expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([
      401, 429, 401,
    ]);
    expect(await from('192.0.2.9, 192.0.2.1'), 'what the client put in front is not believed').toBe(429);
    expect([await from('192.0.2.3:4711'), await from('192.0.2.3:4712')], 'a port is none of it').toEqual([
      401, 429,
    ]);
    await rig.close();
    await wall.close();
    await start({ failedKeysPerMinute: 1 });
    expect([await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([401, 429]);
  });
});

/** To the next request that any server in this process begins to serve. */
function nextResponse(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    const channel = 'http.server.request.start';
    const note = (message: unknown): void => {
      if (typeof message !== 'object' || message === null || !('response' in message)) return;
      if (!(message.response instanceof ServerResponse)) return;
      unsubscribe(channel, note);
      resolve(message.response);
    };
    subscribe(channel, note);
  });
}

test.each([
  ['', []],
  [', behind a proxy', ['127.0.0.1']],
])('a bad key on a connection that is reset is counted like any other%s', async (_, proxies) => {
  await start({ failedKeysPerMinute: 3, proxies });
  const headers = { authorization: `Bearer psk_${'x'.repeat(49)}`, 'x-forwarded-for': '192.0.2.1' };
  const bytes = writeRequest({ path, headers, body }).toString('base64');
  const begun = nextResponse();
  // While it runs, nobody here accepts: the connection is there, then its bytes, then its reset.
  const sender = `const socket = require('node:net').connect(${portOf(rig)}, '127.0.0.1', () =>
    socket.write(Buffer.from('${bytes}', 'base64'), () => socket.resetAndDestroy()))`;
  expect(spawnSync(process.execPath, ['-e', sender]).status).toBe(0);
  const response = await begun;
  expect(response.req.socket.remoteAddress).toBeUndefined();
  await expect.poll(() => response.req.socket.destroyed).toBe(true);
  // Nobody reads it; nothing has thrown on the way to it.
  expect([response.statusCode, response.writableEnded]).toEqual([401, true]);
});

describe('a pipelined request', () => {
  const request = writeRequest({ path, headers: bearer, body });

  test('waits for its turn, and is served', async () => {
    await start({});
    const connection = await open();
    await connection.send(Buffer.concat([request, request, request]));
    await wall.nextCall();
    expect((await get(rig, '/v1/models', bearer)).status).toBe(200);
    expect(wall.calls).toHaveLength(1);
    mayAnswer.resolve();
    for (let n = 0; n < 3; n++)
      expect((await (await connection.answer()).finished).ending).toBe('length-complete');
    expect(wall.calls).toHaveLength(3);
  });

  test('is not started for a client that has disconnected, and takes up no place', async () => {
    await start({ inFlightMax: 2 });
    for (let round = 0; round < 3; round++) {
      const connection = await open();
      await connection.send(Buffer.concat([request, request, request]));
      const call = await wall.nextCall();
      connection.abort();
      await call.clientClosed;
    }
    expect(wall.calls).toHaveLength(3);
    mayAnswer.resolve();
    expect((await post(rig, path, body)).status).toBe(200);
  });

  test('is not started after an answer that closes its connection: its client sends it elsewhere', async () => {
    await start({}, { drainAcceptMs: 60_000 });
    const drained = rig.gateway.drain();
    const connection = await open();
    await connection.send(Buffer.concat([request, request]));
    await wall.nextCall();
    mayAnswer.resolve();
    expect((await connection.answer()).headers.connection).toBe('close');
    expect(await connection.closed).toBe('fin');
    expect(wall.calls).toHaveLength(1);
    rig.gateway.hurry();
    await drained;
  });
});
