// Everything between "allowed" and "connected": DNS, several addresses, one timer.

import { getEventListeners, once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { dialByTcp } from '../../../core/egress/dial.ts';
import { connectTo, failureOf, loopbackOpen, makeConnector } from './connect-to.ts';
import { type Listening, listenTcp } from './listen.ts';

let server: Listening;

beforeEach(async () => {
  server = await listenTcp();
});

afterEach(() => server.close());

describe('addresses are tried in order', () => {
  test('a refused address is followed by the next', async () => {
    const connector = makeConnector({ allow: loopbackOpen, resolve: async () => ['127.0.0.2', '127.0.0.1'] });
    // The server listens on 127.0.0.1 alone, so 127.0.0.2 refuses.
    const socket = await connectTo(connector, `http://api.example:${server.port}`);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
  });

  test('a silent address does not use up the time of the next', async () => {
    const silent: Socket[] = [];
    const connector = makeConnector({
      allow: loopbackOpen,
      connectTimeoutMs: 600,
      resolve: async () => ['93.184.216.34', '127.0.0.1'],
      dial: (options) => {
        if (options.host === '127.0.0.1') return dialByTcp(options);
        const socket = new Socket();
        silent.push(socket);
        return socket;
      },
    });
    const socket = await connectTo(connector, `http://api.example:${server.port}`);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    expect(silent.map(({ destroyed }) => destroyed)).toEqual([true]);
    socket.destroy();
  });

  test('the first that connects is used, and the others are not dialled', async () => {
    const hosts: string[] = [];
    const connector = makeConnector({
      allow: loopbackOpen,
      resolve: async () => ['127.0.0.1', '127.0.0.2'],
      dial: (options) => {
        hosts.push(options.host);
        return dialByTcp(options);
      },
    });
    const socket = await connectTo(connector, `http://api.example:${server.port}`);
    expect(hosts).toEqual(['127.0.0.1']);
    socket.destroy();
  });
});

describe('failures carry a code and name the host', () => {
  test('a port without a listener: connect_refused', async () => {
    const port = await closedPort();
    const connector = makeConnector({ allow: loopbackOpen });
    const error = await failureOf(connectTo(connector, `http://127.0.0.1:${port}`));
    expect(error).toMatchObject({ code: 'connect_refused', cause: { code: 'ECONNREFUSED' } });
    expect(error.message).toBe(`127.0.0.1:${port}: connection refused by 127.0.0.1.`);
  });

  test('every address refuses: connect_refused, and the cause holds each', async () => {
    const port = await closedPort();
    const connector = makeConnector({ allow: loopbackOpen, resolve: async () => ['127.0.0.1', '127.0.0.2'] });
    const error = await failureOf(connectTo(connector, `http://api.example:${port}`));
    expect(error.code).toBe('connect_refused');
    expect(error.message).toContain('127.0.0.1, 127.0.0.2');
    expect(error.cause).toBeInstanceOf(AggregateError);
  });

  test('an unanswered SYN: connect_timeout, and the socket is destroyed', async () => {
    const silent = new Socket();
    const connector = makeConnector({ connectTimeoutMs: 50, dial: () => silent });
    const error = await failureOf(connectTo(connector, 'http://93.184.216.34'));
    expect(error.code).toBe('connect_timeout');
    expect(silent.destroyed).toBe(true);
  });

  test('after the timeout no further address is dialled', async () => {
    const hosts: string[] = [];
    const connector = makeConnector({
      connectTimeoutMs: 50,
      resolve: async () => ['93.184.216.34', '93.184.216.35', '93.184.216.36'],
      dial: ({ host }) => {
        hosts.push(host);
        return new Socket();
      },
    });
    const error = await failureOf(connectTo(connector, 'http://api.example'));
    expect(error.code).toBe('connect_timeout');
    expect(hosts).toEqual(['93.184.216.34']);
  });

  test('the network is unreachable: connect_failed with the system code', async () => {
    const connector = makeConnector({
      dial: () => new Socket().destroy(Object.assign(new Error('no route'), { code: 'ENETUNREACH' })),
    });
    const error = await failureOf(connectTo(connector, 'http://93.184.216.34'));
    expect(error.code).toBe('connect_failed');
    expect(error.message).toContain('ENETUNREACH');
  });

  test('a dial that throws: connect_failed', async () => {
    const connector = makeConnector({
      dial: () => {
        throw new TypeError('bad local address');
      },
    });
    expect(await failureOf(connectTo(connector, 'http://93.184.216.34'))).toMatchObject({
      code: 'connect_failed',
    });
  });

  test.each(['ENOTFOUND', 'EAI_AGAIN', 'ESERVFAIL'])('the resolver says %s: dns_failed', async (code) => {
    const connector = makeConnector({
      resolve: () => Promise.reject(Object.assign(new Error('resolver'), { code })),
    });
    const error = await failureOf(connectTo(connector, 'http://api.example'));
    expect(error).toMatchObject({ code: 'dns_failed', endpoint: 'api.example:80', cause: { code } });
    expect(error.message).toContain(code);
  });

  test('an empty answer: dns_failed', async () => {
    const connector = makeConnector({ resolve: async () => [] });
    expect((await failureOf(connectTo(connector, 'http://api.example'))).code).toBe('dns_failed');
  });

  test('the resolver never answers: connect_timeout under the same timer', async () => {
    const connector = makeConnector({ connectTimeoutMs: 50, resolve: () => new Promise(() => {}) });
    const error = await failureOf(connectTo(connector, 'http://api.example'));
    expect(error.code).toBe('connect_timeout');
    expect(error.message).toContain('the resolver did not answer');
  });

  test('a name that cannot exist, asked of the system resolver: dns_failed', async () => {
    const error = await failureOf(connectTo(makeConnector(), 'http://no-such-host.invalid'));
    expect(error.code).toBe('dns_failed');
  });
});

describe('a connection whose caller has gone', () => {
  const connectTimeoutMs = 3_600_000;

  test('is given up while its name is being resolved', async () => {
    const asked = Promise.withResolvers<void>();
    const resolve = () => {
      asked.resolve();
      return new Promise<never>(() => {});
    };
    const unwanted = new AbortController();
    const failure = failureOf(
      connectTo(makeConnector({ connectTimeoutMs, resolve }), 'http://api.example', unwanted.signal),
    );
    await asked.promise;
    unwanted.abort();
    expect((await failure).code).toBe('connect_timeout');
  });

  test('is given up while an address is dialled, and no further one is', async () => {
    const dialled = Promise.withResolvers<void>();
    const sockets: Socket[] = [];
    const connector = makeConnector({
      connectTimeoutMs,
      resolve: async () => ['93.184.216.34', '93.184.216.35'],
      dial: () => {
        const socket = new Socket();
        sockets.push(socket);
        dialled.resolve();
        return socket;
      },
    });
    const unwanted = new AbortController();
    const failure = failureOf(connectTo(connector, 'http://api.example', unwanted.signal));
    await dialled.promise;
    unwanted.abort();
    expect((await failure).code).toBe('connect_timeout');
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  test('is given up while TLS says nothing', async () => {
    const unwanted = new AbortController();
    const silent = await listenTcp('127.0.0.1', () => unwanted.abort());
    const connector = makeConnector({ allow: loopbackOpen, connectTimeoutMs });
    const failure = failureOf(connectTo(connector, `https://127.0.0.1:${silent.port}`, unwanted.signal));
    expect((await failure).code).toBe('connect_timeout');
    await silent.close();
  });

  test('is given up while a proxy is dialled, however long the resolution of its upstream takes', async () => {
    const unwanted = new AbortController();
    const connector = makeConnector({
      connectTimeoutMs,
      proxy: { protocol: 'http', hostname: '93.184.216.34', port: 3128 },
      resolve: () => new Promise(() => {}),
      dial: () => {
        queueMicrotask(() => unwanted.abort());
        return new Socket();
      },
    });
    const failure = failureOf(connectTo(connector, 'http://api.example', unwanted.signal));
    expect((await failure).code).toBe('connect_timeout');
  });

  test('leaves no listener on the signal once it is open', async () => {
    const { signal } = new AbortController();
    const connector = makeConnector({ allow: loopbackOpen });
    const socket = await connectTo(connector, `http://127.0.0.1:${server.port}`, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    socket.destroy();
  });
});

describe('the last good answer', () => {
  // Not 0: an answer must be as old as it is, not as old as the process.
  const startMs = 5_000_000;

  function makeFlaky(allowLoopback = true) {
    const state = {
      nowMs: startMs,
      answer: async (): Promise<readonly string[]> => ['127.0.0.1'],
      queries: 0,
    };
    const connector = makeConnector({
      allow: allowLoopback ? loopbackOpen : [],
      nowMs: () => state.nowMs,
      resolve: () => {
        state.queries += 1;
        return state.answer();
      },
    });
    return { state, connector };
  }

  const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'EAI_AGAIN' }));

  test.each([
    [0, 'connected'],
    [3_600_000, 'connected'],
    [3_600_001, 'dns_failed'],
  ])('with the resolver down, %i ms after it: %s', async (laterMs, expected) => {
    const { state, connector } = makeFlaky();
    const origin = `http://api.example:${server.port}`;
    (await connectTo(connector, origin)).destroy();
    state.answer = down;
    state.nowMs = startMs + laterMs;
    const outcome = await connectTo(connector, origin).then(
      (socket) => {
        socket.destroy();
        return 'connected';
      },
      (error: { code: string }) => error.code,
    );
    expect(outcome).toBe(expected);
    expect(state.queries).toBe(2);
  });

  test('serves for a minute after the first failure, whatever else is looked up', async () => {
    const { state, connector } = makeFlaky();
    const origin = `http://api.example:${server.port}`;
    (await connectTo(connector, origin)).destroy();
    state.answer = down;
    state.nowMs = startMs + 40_000;
    (await connectTo(connector, origin)).destroy();
    state.nowMs = startMs + 100_000;
    (await connectTo(connector, origin)).destroy();
    state.nowMs = startMs + 100_001;
    expect((await failureOf(connectTo(connector, origin))).code).toBe('dns_failed');
  });

  test('is used for its own name only', async () => {
    const { state, connector } = makeFlaky();
    (await connectTo(connector, `http://api.example:${server.port}`)).destroy();
    state.answer = down;
    expect((await failureOf(connectTo(connector, `http://other.example:${server.port}`))).code).toBe(
      'dns_failed',
    );
  });

  test('is checked again: a refused answer does not become valid with age', async () => {
    const { state, connector } = makeFlaky(false);
    const origin = `http://api.example:${server.port}`;
    expect((await failureOf(connectTo(connector, origin))).code).toBe('egress_denied');
    state.answer = down;
    expect((await failureOf(connectTo(connector, origin))).code).toBe('egress_denied');
    expect(server.connections).toBe(0);
  });

  test('does not hide a new answer that is refused', async () => {
    const { state, connector } = makeFlaky();
    const origin = `http://api.example:${server.port}`;
    (await connectTo(connector, origin)).destroy();
    state.answer = async () => ['169.254.169.254'];
    expect(await failureOf(connectTo(connector, origin))).toMatchObject({ reason: 'metadata' });
  });

  test('is used while a resolver does not answer', async () => {
    let isHung = false;
    const connector = makeConnector({
      allow: loopbackOpen,
      connectTimeoutMs: 300,
      resolve: () => (isHung ? new Promise(() => {}) : Promise.resolve(['127.0.0.1'])),
    });
    const origin = `http://api.example:${server.port}`;
    (await connectTo(connector, origin)).destroy();
    isHung = true;
    const sockets = await Promise.all([1, 2, 3].map(() => connectTo(connector, origin)));
    for (const socket of sockets) socket.destroy();
    expect(sockets).toHaveLength(3);
  });

  test('connections that start together ask once', async () => {
    const { state, connector } = makeFlaky();
    const sockets = await Promise.all(
      [1, 2, 3].map(() => connectTo(connector, `http://api.example:${server.port}`)),
    );
    for (const socket of sockets) socket.destroy();
    expect(state.queries).toBe(1);
  });
});

/** A port that was free a moment ago, and that nobody gets at random. */
async function closedPort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
