// Bytes that are no request, or that two servers could read in two ways: refused in the shape of the specification,
// and the connection closed so that the answer can be read. (RFC 9112, sections 2.2, 3.2, 6.1, 6.3, 9.6, 11.2.)

import { STATUS_CODES } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { smuggledRequests } from '../../security/smuggled.ts';
import { openRaw, type RawConnection, writeRequest } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, get, portOf } from './ask.ts';

const path = '/v1/chat/completions';
const body = '{"model":"m","messages":[{"role":"user","content":"x"}]}';

let wall: Wall;
let rig: Rig;
const opened: RawConnection[] = [];

beforeAll(async () => {
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
});

afterEach(async () => {
  for (const connection of opened.splice(0)) connection.close();
  wall.script({ type: 'answer' });
  expect((await get(rig, '/v1/models', bearer)).status).toBe(200);
  expect(rig.failures).toEqual([]);
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

async function open(): Promise<RawConnection> {
  const connection = await openRaw({ port: portOf(rig) });
  opened.push(connection);
  return connection;
}

const head = `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\ncontent-type: application/json\r\n`;
const framed = (headers: string, content = body): string => `${head}${headers}\r\n\r\n${content}`;
const length = `content-length: ${body.length}`;
const chunked = 'transfer-encoding: chunked';
const inChunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

async function expectRefused(bytes: string | Uint8Array, status: number, code: string) {
  const before = wall.calls.length;
  const connection = await open();
  await connection.send(bytes);
  const answer = await connection.answer();
  const finished = await answer.finished;
  expect(finished.ending).toBe('length-complete');
  expect([answer.status, errorOf(finished).code]).toEqual([status, code]);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json',
    'x-request-id': expect.stringMatching(/^req_/),
    connection: 'close',
  });
  expect(answer.reason).toBe(STATUS_CODES[status]);
  expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
  expect(await connection.closed).toBe('fin');
  expect(wall.calls).toHaveLength(before);
  return errorOf(finished);
}

describe('two lengths for one body', () => {
  const smuggled = smuggledRequests(bearer.authorization);

  test.each(Object.entries(smuggled))('%s', async (_name, bytes) => {
    await expectRefused(bytes, 400, 'invalid_parameter');
  });
});

test.each([
  ['alone', ''],
  ['after a request', `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\n\r\n`],
])('a CONNECT request is refused with a message, %s', async (_name, before) => {
  const connection = await open();
  await connection.send(`${before}CONNECT api.example:443 HTTP/1.1\r\nhost: api.example:443\r\n\r\n`);
  if (before !== '') expect((await connection.answer()).status).toBe(200);
  const answer = await connection.answer();
  expect([answer.status, errorOf(await answer.finished).code]).toEqual([405, 'method_not_allowed']);
  expect(answer.headers.allow).toBe('GET, HEAD, POST');
  expect(await connection.closed).toBe('fin');
});

describe('no HTTP/1.1', () => {
  const strange: Readonly<Record<string, string | Uint8Array>> = {
    'a word': 'HELLO\r\n\r\n',
    'a TLS greeting': Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, ...Array(32).fill(7)]),
    'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'HTTP/3': 'GET / HTTP/3.0\r\nhost: a\r\n\r\n',
    'a version with a word': 'GET /v1/models HTTP/x\r\nhost: a\r\n\r\n',
    'an unknown method': 'SNATCH /v1/models HTTP/1.1\r\nhost: a\r\n\r\n',
    'a method in small letters': 'get /v1/models HTTP/1.1\r\nhost: a\r\n\r\n',
    'a path with a blank': 'GET /v1/mo dels HTTP/1.1\r\nhost: a\r\n\r\n',
    'a path with a NUL': 'GET /v1/models\0 HTTP/1.1\r\nhost: a\r\n\r\n',
    'a path without its slash': 'GET v1/models HTTP/1.1\r\nhost: a\r\n\r\n',
    'HTTP/1.0 with an unknown coding': framed('transfer-encoding: identity').replace('HTTP/1.1', 'HTTP/1.0'),
    'HTTP/2.0 with an unknown coding': framed('transfer-encoding: identity').replace('HTTP/1.1', 'HTTP/2.0'),
    SMTP: 'EHLO a\r\n',
    zeros: Buffer.alloc(64),
  };

  test.each(Object.entries(strange))('%s', async (_name, bytes) => {
    await expectRefused(bytes, 400, 'invalid_parameter');
  });
});

describe('headers over 16 KiB', () => {
  const filler = (bytes: number): string => `x-filler: ${'x'.repeat(bytes)}\r\n`;

  test.each([
    ['one header', `GET /v1/models HTTP/1.1\r\nhost: a\r\n${filler(16 * 1024)}\r\n`],
    ['many headers', `GET /v1/models HTTP/1.1\r\nhost: a\r\n${filler(100).repeat(160)}\r\n`],
    ['a path', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nhost: a\r\n\r\n`],
    // More than the kernel's buffers hold: the rest must be read, or the answer is lost.
    ['megabytes', `GET /v1/models HTTP/1.1\r\nhost: a\r\n${filler(8 * 1024 * 1024)}\r\n`],
  ])('%s', async (_name, bytes) => {
    await expectRefused(bytes, 431, 'headers_too_large');
  });

  test('15 KiB are accepted', async () => {
    expect((await get(rig, '/v1/models', { ...bearer, 'x-filler': 'x'.repeat(15 * 1024) })).status).toBe(200);
  });
});

describe('requests that Node itself refuses, or accepts', () => {
  test('no host', async () => {
    const connection = await open();
    await connection.send('GET /v1/models HTTP/1.1\r\n\r\n');
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(errorOf(await answer.finished)).toEqual({
      message: "The header 'host' is missing; send it once.",
      type: 'invalid_request_error',
      code: 'invalid_parameter',
      param: 'host',
    });
  });

  test('no host in HTTP/1.0, which does not need one', async () => {
    const connection = await open();
    await connection.send('GET /v1/models HTTP/1.0\r\n\r\n');
    expect((await connection.answer()).status).toBe(200);
  });

  test.each(
    ['0.9', '2.0'].flatMap((version) => [
      [version, 'a question', `GET /v1/models HTTP/${version}\r\nhost: a\r\n\r\n`] as const,
      [version, 'a question for nobody', `GET /v1/nowhere HTTP/${version}\r\n\r\n`] as const,
      [
        version,
        'a body',
        framed(`${length}\r\nconnection: keep-alive`).replace('HTTP/1.1', `HTTP/${version}`),
      ] as const,
    ]),
  )('HTTP/%s is refused, whatever it brings: %s', async (version, _, bytes) => {
    expect(await expectRefused(bytes, 400, 'invalid_parameter')).toMatchObject({
      message: `HTTP/${version} is not supported. Send HTTP/1.1.`,
      param: null,
    });
  });

  test('a line of HTTP/0.9, without a version, is refused', async () => {
    await expectRefused('GET /v1/models\r\n\r\n', 400, 'invalid_parameter');
  });

  // HTTP/2 has none either, and comes as these bytes from nobody who means well.
  const withoutChunks = ['0.9', '1.0', '2.0'];
  test.each(
    withoutChunks.flatMap((version) => [
      [version, 'a body in chunks', 'POST', path, inChunks] as const,
      [version, 'none', 'GET', '/v1/models', '0\r\n\r\n'] as const,
      [version, 'a body for nobody', 'POST', '/v1/nowhere', '0\r\n\r\n'] as const,
    ]),
  )('chunks in HTTP/%s, which has none: %s', async (version, _, method, target, content) => {
    const headers = `host: a\r\nconnection: keep-alive\r\nauthorization: ${bearer.authorization}\r\n${chunked}`;
    const reported = await expectRefused(
      `${method} ${target} HTTP/${version}\r\n${headers}\r\n\r\n${content}`,
      400,
      'invalid_parameter',
    );
    expect(reported).toMatchObject({
      message: `HTTP/${version} has no 'transfer-encoding'; send the body with a content-length, or as HTTP/1.1.`,
      param: 'transfer-encoding',
    });
  });

  test('a body with a compressed transfer encoding is not read as plain', async () => {
    const reported = await expectRefused(
      framed('transfer-encoding: gzip, chunked', inChunks),
      400,
      'invalid_parameter',
    );
    expect(reported).toEqual({
      message:
        "The transfer encoding 'gzip, chunked' is not supported; send the body as 'chunked' alone, or with a content-length.",
      type: 'invalid_request_error',
      code: 'invalid_parameter',
      param: 'transfer-encoding',
    });
  });

  test('chunked in capitals is chunked', async () => {
    const connection = await open();
    await connection.send(framed('Transfer-Encoding: Chunked', inChunks));
    expect((await connection.answer()).status).toBe(200);
  });

  test('the whole address as the target', async () => {
    const connection = await open();
    await connection.send('GET http://a/v1/models HTTP/1.1\r\nhost: a\r\n\r\n');
    expect((await connection.answer()).status).toBe(200);
  });

  test.each(['100-continue', 'a miracle'])('Expect: %s', async (expectation) => {
    const connection = await open();
    await connection.send(framed(`expect: ${expectation}\r\n${length}`));
    expect((await connection.answer()).status).toBe(200);
  });

  const upgrade = 'connection: upgrade\r\nupgrade: ';
  test.each([
    ['a WebSocket', `GET /v1/models HTTP/1.1\r\nhost: a\r\n${upgrade}websocket\r\n\r\n`],
    ['a WebSocket, with a body', framed(`${upgrade}websocket\r\n${length}`)],
    ['HTTP/2, with a body', framed(`${upgrade}h2c\r\nhttp2-settings: AAMAAABk\r\n${length}`)],
  ])('an upgrade without an effect is ignored: %s', async (_, bytes) => {
    const connection = await open();
    await connection.send(bytes);
    expect(await connection.answer()).toMatchObject({ status: 200, informational: [] });
    // What follows is HTTP/1.1 as before.
    await connection.send(writeRequest({ path: '/v1/models', headers: bearer }));
    expect((await connection.answer()).status).toBe(200);
  });

  test.each(['/%ZZ', '/v1/models/%', '/v1/models/%c3%28'])(
    'a path that cannot be decoded: %s',
    async (target) => {
      const answer = await get(rig, target, bearer);
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatchObject({
        code: 'invalid_parameter',
        message: expect.stringContaining(target),
      });
    },
  );

  test('a body in chunks, with extensions and trailers', async () => {
    const connection = await open();
    await connection.send(
      framed(
        chunked,
        `1;a=b\r\n{\r\n${(body.length - 1).toString(16)}\r\n${body.slice(1)}\r\n0\r\nx-t: 1\r\n\r\n`,
      ),
    );
    expect((await connection.answer()).status).toBe(200);
  });

  test('two requests in one packet get two answers in order', async () => {
    const connection = await open();
    const first = writeRequest({ path, headers: bearer, body });
    const second = writeRequest({ path: '/v1/models', headers: bearer });
    await connection.send(Buffer.concat([first, second]));
    const answers = [await connection.answer(), await connection.answer()];
    const objects = await Promise.all(answers.map(async ({ finished }) => (await finished).json));
    expect(objects).toMatchObject([{ object: 'chat.completion' }, { object: 'list' }]);
  });
});

test('after a whole answer, bytes that are no request get the usual error', async () => {
  const connection = await open();
  await connection.send(writeRequest({ path, headers: bearer, body }));
  await (await connection.answer()).finished;
  await connection.send('NONSENSE\r\n\r\n');
  expect((await connection.answer()).status).toBe(400);
  expect(await connection.closed).toBe('fin');
});

test('a refused client that never closes its side does not keep its connection', async () => {
  const impatient = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), {
    clock: {
      now: () => performance.now(),
      wallMs: () => Date.now(),
      setTimer: (_ms, fire) => {
        const timer = setTimeout(fire, 0);
        return () => clearTimeout(timer);
      },
    },
  });
  const connection = await openRaw({ port: portOf(impatient) });
  try {
    await connection.send('NONSENSE\r\n\r\n');
    expect((await connection.answer()).status).toBe(400);
    expect(await connection.closed).toBe('fin');
    // A write to a closed connection gets a reset.
    const gone = new Promise<void>((resolve) => connection.socket.once('close', () => resolve()));
    const writing = setInterval(() => connection.socket.write('x'), 10);
    await gone;
    clearInterval(writing);
  } finally {
    connection.close();
    await impatient.close();
  }
});
