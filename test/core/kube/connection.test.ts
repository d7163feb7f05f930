// Calls to an API server over a connection that misbehaves.

import { afterEach, describe, expect, test } from 'vitest';
import { type KubeClient, KubeError, type KubeRequest } from '../../../core/kube/client.ts';
import { type ConnectionOptions, openConnection } from '../../../core/kube/connection.ts';
import {
  type Answer,
  endless,
  type FaultServer,
  json,
  refusal,
  refusedUrl,
  reset,
  silence,
  startFaultServer,
  watch,
} from './fault-server.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(answers: readonly Answer[], options: Omit<ConnectionOptions, 'server'> = {}) {
  const server: FaultServer = await startFaultServer(...answers);
  ends.push(() => server.close());
  return { server, client: open({ server: server.url, ...options }) };
}

function open(options: ConnectionOptions): KubeClient {
  const client = openConnection(options);
  ends.push(() => client.close());
  return client;
}

const get: KubeRequest = { method: 'GET', path: '/api/v1/secrets' };

async function errorOf(promise: Promise<unknown>): Promise<KubeError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof KubeError)) throw new Error(`no KubeError but ${error}`);
  return error;
}

describe('an answer', () => {
  test('of success is parsed JSON, or undefined without a body', async () => {
    const { client, server } = await start([json({ a: 1 }), (response) => response.writeHead(204).end()]);
    const query = { limit: 5, watch: false, absent: undefined, labelSelector: 'a=b,c' };
    expect(await client.call({ ...get, query })).toEqual({ a: 1 });
    expect(await client.call(get)).toBeUndefined();
    expect(server.asked[0]).toBe('GET /api/v1/secrets?limit=5&watch=false&labelSelector=a%3Db%2Cc');
  });

  test('of a server below a path is requested there', async () => {
    const { server } = await start([json({})]);
    await open({ server: `${server.url}/clusters/one/` }).call(get);
    expect(server.asked).toEqual(['GET /clusters/one/api/v1/secrets']);
  });

  test('of refusal names method, path, status, reason and the message of the server', async () => {
    const { client } = await start([refusal(403, 'Forbidden')]);
    expect(await errorOf(client.call({ ...get, method: 'DELETE' }))).toMatchObject({
      status: 403,
      reason: 'Forbidden',
      message: 'DELETE /api/v1/secrets: 403: refused: Forbidden',
    });
  });

  test('of refusal has the time to wait, by header or by the Status object', async () => {
    const inBody = {
      kind: 'Status',
      code: 429,
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 3 },
    };
    const { client } = await start([
      refusal(429, 'TooManyRequests', { 'retry-after': '7' }),
      json(inBody, 429),
    ]);
    expect(await errorOf(client.call(get))).toMatchObject({ status: 429, retryAfterMs: 7_000 });
    expect(await errorOf(client.call(get))).toMatchObject({ status: 429, retryAfterMs: 3_000 });
  });

  test('of refusal that is no Status object is reported by its status alone', async () => {
    const page: Answer = (response) => response.writeHead(502).end('<html>secret-page</html>');
    const { client } = await start([page]);
    const error = await errorOf(client.call(get));
    expect(error).toMatchObject({ status: 502, reason: 'BadGateway' });
    expect(error.message).not.toContain('secret-page');
  });

  test('that is not JSON is an error that does not quote it', async () => {
    const { client } = await start([(response) => response.end('{"data": hunter2')]);
    const error = await errorOf(client.call(get));
    expect(error).toMatchObject({ status: 200, reason: 'Garbled' });
    expect(`${error.stack}${error.cause}`).not.toContain('hunter2');
  });

  test('that is too long closes its connection', async () => {
    const { answer, hungUp } = endless('x');
    const { client } = await start([answer], { bodyBytesMax: 200_000 });
    expect(await errorOf(client.call(get))).toMatchObject({ reason: 'BodyTooLarge' });
    await hungUp;
  });

  test('that breaks off is an error, not half an answer', async () => {
    const half: Answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"a":1}', () => response.socket?.resetAndDestroy());
    };
    const { client } = await start([half]);
    expect(await errorOf(client.call(get))).toMatchObject({ status: 0, reason: 'Unreachable' });
  });
});

describe('a call', () => {
  test('without an answer ends at its timeout', async () => {
    const { client } = await start([silence]);
    expect(await errorOf(client.call({ ...get, timeoutMs: 50 }))).toMatchObject({
      status: 0,
      reason: 'Timeout',
      message: 'GET /api/v1/secrets: no answer in 50 ms',
    });
  });

  test('ends at its timeout also if the body hangs, or the credentials hang', async () => {
    const { client, server } = await start([watch('{')]);
    expect(await errorOf(client.call({ ...get, timeoutMs: 50 }))).toMatchObject({ reason: 'Timeout' });
    const authenticator = { credentials: () => new Promise<never>(() => {}), refused() {} };
    const hanging = open({ server: server.url, authenticator });
    expect(await errorOf(hanging.call({ ...get, timeoutMs: 50 }))).toMatchObject({ reason: 'Timeout' });
  });

  test('to an address without a listener fails with that reason', async () => {
    const error = await errorOf(open({ server: await refusedUrl() }).call(get));
    expect(error).toMatchObject({ status: 0, reason: 'Unreachable' });
    expect(error.message).toMatch(/^GET \/api\/v1\/secrets: connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
  });

  test('ends when its caller cancels it, before and during the call', async () => {
    const { client, server } = await start([silence]);
    expect(await errorOf(client.call({ ...get, signal: AbortSignal.abort() }))).toMatchObject({
      reason: 'Aborted',
    });
    const control = new AbortController();
    const calling = errorOf(client.call({ ...get, signal: control.signal }));
    await server.askedTimes(1);
    control.abort();
    expect(await calling).toMatchObject({ reason: 'Aborted' });
  });

  test('ends when the client is closed, and none begins afterwards', async () => {
    const { client, server } = await start([silence]);
    const calling = errorOf(client.call(get));
    await server.askedTimes(1);
    client.close();
    expect(await calling).toMatchObject({ reason: 'Closed' });
    expect(await errorOf(client.call(get))).toMatchObject({ reason: 'Closed' });
  });

  test('that reads is repeated once if its kept connection was just closed', async () => {
    const { client, server } = await start([json({ n: 1 }), reset, json({ n: 2 })]);
    await client.call(get);
    expect(await client.call(get)).toEqual({ n: 2 });
    expect(server.asked).toHaveLength(3);
  });

  test('that writes is not repeated: the server may have done it', async () => {
    const { client, server } = await start([json({ n: 1 }), reset, json({ n: 2 })]);
    await client.call(get);
    expect(await errorOf(client.call({ ...get, method: 'POST', body: {} }))).toMatchObject({
      reason: 'Unreachable',
    });
    expect(server.asked).toHaveLength(2);
  });

  test('is not repeated on a fresh connection, nor twice', async () => {
    const fresh = await start([reset]);
    expect(await errorOf(fresh.client.call(get))).toMatchObject({ reason: 'Unreachable' });
    expect(fresh.server.asked).toHaveLength(1);
    const kept = await start([json({}), reset]);
    await kept.client.call(get);
    await errorOf(kept.client.call(get));
    expect(kept.server.asked).toHaveLength(3);
  });
});

describe('connections', () => {
  test('are kept: five hundred calls in a row use one', async () => {
    const { client, server } = await start([json({})]);
    for (let count = 0; count < 500; count += 1) await client.call(get);
    expect(server.connections()).toBe(1);
  });

  test('stay within their limit, and watches take none away from calls', async () => {
    const isWatch = (url: string | undefined) => url?.includes('watch') === true;
    const { client, server } = await start(
      [
        (response, request) =>
          isWatch(request.url) ? watch('')(response, request) : json({})(response, request),
      ],
      { callsMax: 3 },
    );
    const streams = await Promise.all(
      Array.from({ length: 20 }, () => client.stream({ ...get, query: { watch: true } })),
    );
    await Promise.all(Array.from({ length: 50 }, () => client.call(get)));
    expect(server.connections()).toBe(23);
    for (const stream of streams) stream.close();
  });

  test('one that hangs makes idle ones suspect: the next call opens a new one', async () => {
    const both = Promise.withResolvers<void>();
    const held: (() => void)[] = [];
    const together: Answer = (response, request) => {
      held.push(() => json({})(response, request));
      if (held.length === 2) both.resolve();
    };
    const { client, server } = await start([together, together, silence, json({})]);
    const calls = [client.call(get), client.call(get)];
    await both.promise;
    for (const go of held) go();
    await Promise.all(calls);
    expect(server.connections()).toBe(2);
    await errorOf(client.call({ ...get, timeoutMs: 50 }));
    await client.call(get);
    expect(server.connections()).toBe(3);
  });
});

describe('a stream', () => {
  test('has no time limit once its head has come, and ends when it is closed', async () => {
    const { client } = await start([
      watch('first', (response) => setTimeout(() => response.write('second'), 120)),
    ]);
    const stream = await client.stream({ ...get, timeoutMs: 60 });
    let text = '';
    for await (const piece of stream.body) {
      text += piece.toString();
      if (text === 'firstsecond') stream.close();
      if (text === 'firstsecond') break;
    }
    expect(text).toBe('firstsecond');
  });

  test('that is refused is an error', async () => {
    const { client } = await start([refusal(410, 'Expired')]);
    expect(await errorOf(client.stream(get))).toMatchObject({ status: 410, reason: 'Expired' });
  });
});

describe('credentials', () => {
  const token = 'tok-4f1e9c';
  const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });

  test('that are refused are read again, once, and the call is repeated', async () => {
    let current = 'old';
    const seen: (string | undefined)[] = [];
    const gate: Answer = (response, request) => {
      seen.push(request.headers.authorization);
      const isNew = request.headers.authorization === 'Bearer new';
      (isNew ? json({ ok: true }) : refusal(401, 'Unauthorized'))(response, request);
    };
    const authenticator = {
      credentials: async () => bearer(current),
      refused() {
        current = 'new';
      },
    };
    const { client } = await start([gate], { authenticator });
    expect(await client.call({ ...get, method: 'POST', body: {} })).toEqual({ ok: true });
    expect(seen).toEqual(['Bearer old', 'Bearer new']);
  });

  test('are not sent with a call in another user’s name: that user’s are sent, once, and the answer is returned unchanged', async () => {
    const seen: (string | undefined)[] = [];
    const gate: Answer = (response, request) => {
      seen.push(request.headers.authorization);
      refusal(401, 'Unauthorized')(response, request);
    };
    const server = await startFaultServer(gate);
    ends.push(() => server.close());
    const authenticator = {
      credentials: async () => bearer('own'),
      refused: () => expect.fail('these were not refused'),
    };
    const client = openConnection({ server: server.url, authenticator });
    ends.push(() => client.close());
    expect(await client.ask({ ...get, bearer: 'theirs' })).toEqual({
      status: 401,
      body: expect.objectContaining({ kind: 'Status', reason: 'Unauthorized' }),
    });
    expect((await errorOf(client.call({ ...get, bearer: 'theirs' }))).status).toBe(401);
    await expect(client.stream({ ...get, bearer: 'theirs' })).rejects.toMatchObject({ status: 401 });
    expect(seen).toEqual(Array.from({ length: 3 }, () => 'Bearer theirs'));
    const echo: Answer = (response, request) =>
      json({ kind: 'Status', message: `who is ${request.headers.authorization}?` }, 403)(response, request);
    const other = await start([echo]);
    expect((await errorOf(other.client.call({ ...get, bearer: 'theirs' }))).message).not.toContain('theirs');
  });

  test('are never in an error, not even if the server repeats them', async () => {
    const echo: Answer = (response, request) =>
      json({ kind: 'Status', message: `who is ${request.headers.authorization}?` }, 401)(response, request);
    const authenticator = { credentials: async () => bearer(token), refused() {} };
    const { client, server } = await start([echo], { authenticator });
    const error = await errorOf(client.call(get));
    expect(server.asked).toHaveLength(2);
    expect(error.message).toBe('GET /api/v1/secrets: 401: who is Bearer [redacted]?');
    const unreachable = open({ server: await refusedUrl(), authenticator });
    const illegal = open({
      server: server.url,
      authenticator: { credentials: async () => bearer(`${token}\n`), refused() {} },
    });
    for (const thrown of [error, await errorOf(unreachable.call(get)), await errorOf(illegal.call(get))]) {
      expect(`${thrown.stack} ${JSON.stringify(thrown)} ${thrown.cause}`).not.toContain(token);
    }
  });

  test('that cannot be read are reported as such', async () => {
    const authenticator = { credentials: () => Promise.reject(new Error('no file')), refused() {} };
    const { client } = await start([json({})], { authenticator });
    expect(await errorOf(client.call(get))).toMatchObject({
      reason: 'NoCredentials',
      message: 'GET /api/v1/secrets: no credentials for the API server: no file',
    });
  });
});
