// What is left of a call that nobody waits for any more, when its connection is not there yet? Nothing: not its bytes, not its
// connection, and the upstream never sees it.

import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Pool } from 'undici';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { buildTableView } from '../../../gateway/table/view.ts';
import { makeCountingClient } from '../../../gateway/upstream/connection-use.ts';
import { UpstreamPools } from '../../../gateway/upstream/pools.ts';
import { send, type UpstreamCall } from '../../../gateway/upstream/send.ts';
import { makeCertificate } from '../../core/egress/certificates.ts';
import { loopbackOpen, makeConnector } from '../../core/egress/connect-to.ts';
import { listenKept } from '../../support/listen-kept.ts';
import { some } from '../../support/runs.ts';
import { tableOf } from '../rig.ts';

const kibibyte = 1024;
/** Longer than any test: what is released is not released for want of time. */
const connectMs = 3_600_000;
const self = makeCertificate({ name: 'upstream', ipv4: ['127.0.0.1'] });

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Takes connections, and says nothing on them until it is opened: then it speaks TLS and answers. */
async function startGate() {
  const paths: string[] = [];
  const behind = createHttpsServer({ cert: self.cert, key: self.key }, (request, response) => {
    paths.push(request.url ?? '');
    request.resume().once('end', () => response.end('{}'));
  });
  const sockets: Socket[] = [];
  const greetings = new Map<Socket, Buffer>();
  const gate = createServer((socket) => {
    sockets.push(socket);
    // Read, because the end of a connection is seen only behind what came before it.
    socket.on('data', (bytes: Buffer) => greetings.set(socket, bytes));
  });
  const { port, close } = await listenKept(gate);
  closers.push(close);
  return {
    port,
    sockets,
    paths,
    open() {
      for (const [socket, greeting] of greetings) {
        if (socket.destroyed) continue;
        socket.removeAllListeners('data').pause().unshift(greeting);
        behind.emit('connection', socket);
      }
    },
  };
}

function poolTo(port: number): Pool {
  const view = buildTableView(
    tableOf([
      {
        baseUrl: `https://127.0.0.1:${port}/v1`,
        providerEntry: { tls: { ca: self.cert, minVersion: 'TLSv1.2' } },
      },
    ]),
  );
  const provider = view.providers.get('platform/p0');
  if (!provider) throw new Error('the table has no provider');
  const pools = new UpstreamPools();
  closers.push(() => pools.close());
  pools.adopt(view);
  return pools.poolFor(provider, connectMs);
}

interface Sent extends UpstreamCall {
  /** In the order in which it was reported. */
  readonly reported: string[];
  readonly ended: Promise<void>;
}

function sendTo(pool: Pool, path: string, parts: readonly number[] = [1]): Sent {
  const reported: string[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const call = send(
    {
      pool,
      path,
      headers: ['authorization', 'Bearer x'],
      body: parts.map((bytes) => Buffer.alloc(bytes, 'x')),
    },
    {
      onHead: (status) => reported.push(String(status)),
      onBody: () => {},
      onEnd: () => resolve(void reported.push('end')),
      onBreak: (code) => resolve(void reported.push(code)),
    },
  );
  return {
    reported,
    ended,
    get isSent() {
      return call.isSent;
    },
    abort: () => call.abort(),
    pause: () => call.pause(),
    resume: () => call.resume(),
  };
}

/** Of buffers, once garbage is collected. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage: unknown = runInNewContext('gc');
  if (typeof collectGarbage !== 'function') throw new Error('the engine gives no gc');
  // Twice: what a finalizer lets go of in the first is collected in the second.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Calls that together hold 32 MiB, and what becomes of that when they are aborted. */
async function release(send: () => Sent, calls: number, areInFlight: () => Promise<void>): Promise<void> {
  const before = heldBytes();
  const sent = Array.from({ length: calls }, send);
  await areInFlight();
  // The measure measures.
  expect(heldBytes() - before).toBeGreaterThan(30 * kibibyte ** 2);
  for (const call of sent) call.abort();
  await vi.waitFor(() => expect(heldBytes() - before).toBeLessThan(4 * kibibyte ** 2), {
    timeout: 5_000,
    // Each look collects the garbage of all files that this worker has run.
    interval: 250,
  });
  expect(sent.flatMap(({ reported }) => reported)).toEqual([]);
}

describe('a call that is aborted while its connection is opened', () => {
  const shapes: readonly (readonly [string, number, readonly number[]])[] = [
    ['8 of 4 MiB in parts', 8, [1024 * kibibyte, 3 * 1024 * kibibyte]],
    ['8 of 4 MiB in one piece', 8, [4 * 1024 * kibibyte]],
    ['512 of 64 KiB', 512, [32 * kibibyte, 32 * kibibyte]],
  ];
  test.each(some(shapes, 3))(
    'is released, with its bytes and its connection: %s',
    async (_, calls, parts) => {
      const gate = await startGate();
      const pool = poolTo(gate.port);
      await release(
        () => sendTo(pool, '/v1/a', parts),
        calls,
        () => vi.waitFor(() => expect(gate.sockets).toHaveLength(calls), { timeout: 20_000 }),
      );
      await vi.waitFor(() => expect(gate.sockets.filter(({ closed }) => !closed)).toEqual([]));
      expect(pool.stats).toMatchObject({ size: 0, queued: 0 });
    },
  );

  test('aborts no other call', async () => {
    const gate = await startGate();
    const pool = poolTo(gate.port);
    const [left, stays] = [sendTo(pool, '/v1/left'), sendTo(pool, '/v1/stays')];
    await vi.waitFor(() => expect(gate.sockets).toHaveLength(2));
    expect([left.isSent, stays.isSent]).toEqual([false, false]);
    left.abort();
    await vi.waitFor(() => expect(gate.sockets.filter(({ closed }) => closed)).toHaveLength(1));
    gate.open();
    await stays.ended;
    expect([left.isSent, stays.isSent]).toEqual([false, true]);
    expect([left.reported, stays.reported, gate.paths]).toEqual([[], ['200', 'end'], ['/v1/stays']]);
  });

  test('in the turn in which it was sent waits for no connection', async () => {
    const gate = await startGate();
    const pool = poolTo(gate.port);
    // undici begins the connection for one in parts a moment later.
    for (const parts of [[1], [64 * kibibyte, 64 * kibibyte]]) sendTo(pool, '/v1/a', parts).abort();
    await vi.waitFor(() => expect(pool.stats).toMatchObject({ size: 0, pending: 0 }));
    await vi.waitFor(() => expect(gate.sockets.filter(({ closed }) => !closed)).toEqual([]));
  });
});

/** One connection, over which requests go one after another. */
async function startSingle(answer: RequestListener) {
  const server = createHttpServer(answer);
  const { port, close } = await listenKept(server);
  closers.push(close);
  const connect = makeConnector({ allow: loopbackOpen, connectTimeoutMs: connectMs });
  const pool = new Pool(`http://127.0.0.1:${port}`, {
    connect,
    factory: makeCountingClient,
    connections: 1,
    pipelining: 1,
  });
  closers.push(() => pool.destroy());
  let connections = 0;
  server.on('connection', () => connections++);
  return { server, pool, connections: () => connections };
}

test('chunks of one turn are joined from the moment that the receiver allows it', async () => {
  const chunks = [...'abcd'].map((chunk) => `1\r\n${chunk}\r\n`).join('');
  const { pool } = await startSingle((_, { socket }) => {
    socket?.end(
      `HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
  });
  const bodies = (joinsAfter: number): Promise<string[]> =>
    new Promise((resolve, reject) => {
      const given: string[] = [];
      send(
        { pool, path: '/', headers: [], body: [Buffer.from('{}')] },
        {
          get takesJoined() {
            return given.length >= joinsAfter;
          },
          onHead: () => {},
          onBody: (chunk) => given.push(String(chunk)),
          onEnd: () => resolve(given),
          onBreak: reject,
        },
      );
    });
  expect(await bodies(Number.POSITIVE_INFINITY)).toEqual(['a', 'b', 'c', 'd']);
  expect(await bodies(2)).toEqual(['a', 'b', 'cd']);
  expect(await bodies(0)).toEqual(['abcd']);
});

test('a receiver that aborts at the first chunk of a turn gets no further ones', async () => {
  const chunks = [...'abc'].map((chunk) => `1\r\n${chunk}\r\n`).join('');
  const { pool } = await startSingle((_, { socket }) => {
    socket?.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
  });
  const given: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const call = send(
      { pool, path: '/', headers: [], body: [Buffer.from('{}')] },
      {
        onHead: () => {},
        onBody: (chunk) => {
          given.push(String(chunk));
          call.abort();
          setImmediate(resolve);
        },
        onEnd: reject,
        onBreak: reject,
      },
    );
  });
  expect(given).toEqual(['a']);
});

describe('a call that is aborted', () => {
  test('while all connections of its pool are busy ends, and leaves the next free one to others', async () => {
    const paths: string[] = [];
    const mayAnswer = Promise.withResolvers<void>();
    const { server, pool, connections } = await startSingle((request, response) => {
      paths.push(request.url ?? '');
      request.resume();
      void mayAnswer.promise.then(() => response.end('{}'));
    });
    const first = sendTo(pool, '/first');
    await once(server, 'request');
    expect(first.isSent, 'before anything has come back').toBe(true);
    await release(
      () => sendTo(pool, '/left', [1024 * kibibyte, 3 * 1024 * kibibyte]),
      8,
      async () => {
        expect(pool.stats.queued).toBe(8);
      },
    );
    const last = sendTo(pool, '/last');
    mayAnswer.resolve();
    await Promise.all([first.ended, last.ended]);
    expect([first.reported, last.reported]).toEqual([
      ['200', 'end'],
      ['200', 'end'],
    ]);
    expect([paths, connections()]).toEqual([['/first', '/last'], 1]);
  });

  test('before it is written to a kept connection is not sent', async () => {
    const paths: string[] = [];
    const { pool } = await startSingle((request, response) => {
      paths.push(request.url ?? '');
      request.resume();
      response.end('{}');
    });
    await sendTo(pool, '/first').ended;
    await vi.waitFor(() => expect(pool.stats).toMatchObject({ free: 1, size: 0 }));
    // undici looks at such a connection for a moment, so that this one is with it and not sent yet.
    const left = sendTo(pool, '/left');
    expect(left.isSent).toBe(false);
    left.abort();
    const last = sendTo(pool, '/last');
    await last.ended;
    expect([left.reported, last.reported, paths]).toEqual([[], ['200', 'end'], ['/first', '/last']]);
  });
});
