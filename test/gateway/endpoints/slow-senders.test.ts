// A client that takes for ever to send a request is disconnected, with a 408 if one can be sent.

import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { Admission } from '../../../gateway/admission/admission.ts';
import { defaultBounds } from '../../../gateway/admission/bounds.ts';
import { openLoadMeter } from '../../../gateway/admission/load-meter.ts';
import { openFailureLimiter } from '../../../gateway/auth/failure-limiter.ts';
import { ClientConnections } from '../../../gateway/endpoints/client-connection.ts';
import { buildServer } from '../../../gateway/endpoints/server.ts';
import { noLimits } from '../../../gateway/limits/limiter.ts';
import { openMemoryJournal } from '../../../gateway/meter/journal.ts';
import { Metrics } from '../../../gateway/meter/metrics.ts';
import { Health } from '../../../gateway/route/health.ts';
import { RefusedMembers } from '../../../gateway/route/refused-members.ts';
import { AnswerRoom } from '../../../gateway/stream/answer-room.ts';
import { OpenStreams } from '../../../gateway/stream/open-streams.ts';
import { TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { offerTable } from '../../../gateway/table/sources/memory.ts';
import { staticKey } from '../../../gateway/upstream/credential.ts';
import { UpstreamPools } from '../../../gateway/upstream/pools.ts';
import { openRaw, type RawConnection } from '../../support/raw-client.ts';
import { tableOf } from '../rig.ts';
import { bearer, errorOf, get, portOf } from './ask.ts';

const path = '/v1/chat/completions';

/** No upstream is asked in this file: nothing listens there. */
const table = tableOf([{ baseUrl: 'http://127.0.0.1:9/v1' }]);

let app: FastifyInstance;
let url: string;
let failures: unknown[];
const pools = new UpstreamPools();
/** Requests whose headers came whole. */
let requests = 0;
/** Connections as the server has them. */
const sockets: Socket[] = [];

beforeAll(async () => {
  const holder = new TableHolder();
  offerTable(holder, table);
  app = buildServer({
    clock: systemClock,
    random: Math.random,
    health: new Health(() => 0),
    refused: new RefusedMembers(),
    pools,
    credentials: { of: staticKey },
    journal: openMemoryJournal(() => {}),
    metrics: new Metrics({
      tableGeneration: () => 1,
      requestsInFlight: () => 0,
      tableSource: () => 'file',
      tableAgeSeconds: () => undefined,
      breakers: () => [],
      coolingKeys: () => [],
    }),
    streams: new OpenStreams(),
    connections: new ClientConnections(systemClock, 1_000),
    timers: new TimerQueue(systemClock),
    answers: new AnswerRoom(0),
    limits: noLimits,
    holder,
    admission: new Admission({
      clock: systemClock,
      bounds: defaultBounds(),
      bodyBytesMax: Number.POSITIVE_INFINITY,
      meter: openLoadMeter(systemClock),
      onShed() {},
      onAccepting() {},
      onLook() {},
    }),
    failures: openFailureLimiter(0, systemClock.now),
    proxies: [],
    defaults: {
      timeouts: {
        connectMs: 1_000,
        firstEventMs: 1_000,
        lastFirstEventMs: 1_000,
        livenessMs: 1_000,
        progressMs: 1_000,
        totalMs: 1_000,
        clientWriteMs: 1_000,
      },
      openAfterMs: 1_000,
      keepAliveMs: 1_000,
      callsAtOnce: 1,
      showProvider: false,
    },
    isDraining: () => false,
    isOver: () => false,
    onFailure: (error) => failures.push(error),
    patience: { headersMs: 100, requestMs: 200, checkEveryMs: 20 },
  });
  app.server.on('connection', (socket) => sockets.push(socket));
  app.server.on('request', () => requests++);
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});

beforeEach(() => {
  failures = [];
  sockets.length = 0;
});

afterAll(async () => {
  await app.close();
  await pools.close();
});

const head = `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\n`;

/** Cut on the server's side, whatever the client does. */
async function expectGone(): Promise<void> {
  const [socket] = sockets;
  if (!socket) throw new Error('The server saw no connection');
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  expect(failures).toEqual([]);
}

async function expectTimeout(connection: RawConnection): Promise<void> {
  const answer = await connection.answer();
  expect(answer.status).toBe(408);
  expect(answer.headers.connection).toBe('close');
  expect(errorOf(await answer.finished)).toEqual({
    message: 'The request did not arrive in time. Send it faster.',
    type: 'invalid_request_error',
    code: 'request_timeout',
    param: null,
  });
}

describe('a sender that stops', () => {
  test.each([
    ['in the first line', 'POST /v1/ch'],
    ['in the headers', head],
    ['behind the headers', `${head}content-length: 100\r\n\r\n`],
    ['in the body', `${head}content-length: 100\r\n\r\n{"model":`],
    ['in a chunk', `${head}transfer-encoding: chunked\r\n\r\n64\r\n{"model":`],
    ['between chunks', `${head}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`],
  ])('%s', async (_where, bytes) => {
    const connection = await openRaw({ port: portOf({ url }) });
    await connection.send(bytes);
    await expectTimeout(connection);
    await expectGone();
    connection.close();
  });

  // With its side of the connection still open, the rest could make a whole request after all, served to nobody.
  test('and goes on after its 408 is ignored', async () => {
    const connection = await openRaw({ port: portOf({ url }) });
    await connection.send(head);
    await expectTimeout(connection);
    requests = 0;
    connection.socket.write('content-length: 0\r\n\r\n');
    await expectGone();
    expect(requests).toBe(0);
    connection.close();
  });

  test('having sent nothing at all is closed with or without a 408', async () => {
    const connection = await openRaw({ port: portOf({ url }) });
    expect(await connection.closed).not.toBe('self');
    await expectGone();
    connection.close();
  });
});

/** A byte now and then, until the connection is gone. */
async function trickle(connection: RawConnection, bytes: string): Promise<void> {
  const timer = setInterval(() => connection.socket.write(bytes), 10);
  await connection.closed;
  clearInterval(timer);
}

describe('a sender that trickles', () => {
  test.each([
    ['headers', head, 'x-a: b\r\n'],
    ['one header', `${head}x-a: `, 'x'],
    ['a body', `${head}content-length: 100000\r\n\r\n{`, ' '],
    ['chunks', `${head}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
  ])('%s', async (_what, start, bytes) => {
    const connection = await openRaw({ port: portOf({ url }) });
    await connection.send(start);
    await trickle(connection, bytes);
    await expectGone();
    connection.close();
  });

  test('after an answer that was sent already is closed without a second one', async () => {
    const connection = await openRaw({ port: portOf({ url }) });
    await connection.send(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n`);
    const answer = await connection.answer();
    expect(answer.status).toBe(401);
    await trickle(connection, ' ');
    await expect(connection.answer()).rejects.toThrow('before an answer had come');
    await expectGone();
    connection.close();
  });
});

test('while a hundred senders are slow, others are served', async () => {
  const slow = await Promise.all(Array.from({ length: 100 }, () => openRaw({ port: portOf({ url }) })));
  await Promise.all(
    slow.map((connection, at) => connection.send(at % 2 ? head : `${head}content-length: 9\r\n\r\n{`)),
  );
  expect((await get({ url }, '/v1/models', bearer)).status).toBe(200);
  for (const connection of slow) await expectTimeout(connection);
  expect((await get({ url }, '/v1/models', bearer)).status).toBe(200);
  for (const connection of slow) connection.close();
});

test('a client that leaves in the middle of its body leaves no trace', async () => {
  const connection = await openRaw({ port: portOf({ url }) });
  await connection.send(`${head}content-length: 100\r\n\r\n{"model":`);
  connection.abort();
  await expectGone();
});
