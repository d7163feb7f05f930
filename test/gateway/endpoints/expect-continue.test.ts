// A client that asks before it sends its body (RFC 9110, section 10.1.1): reported what its headers are worth, and nothing before.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openRaw, type RawConnection } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, portOf } from './ask.ts';

const path = '/v1/chat/completions';
const body = '{"model":"m","messages":[{"role":"user","content":"x"}]}';
const authorization = `authorization: ${bearer.authorization}`;
const length = `content-length: ${body.length}`;

let wall: Wall;
let rig: Rig;
let connection: RawConnection;

beforeAll(async () => {
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
});

afterEach(() => {
  connection.close();
  expect(rig.failures).toEqual([]);
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

async function announce(...headers: readonly string[]): Promise<void> {
  await announceIn('HTTP/1.1', ...headers);
}

async function announceIn(version: string, ...headers: readonly string[]): Promise<void> {
  connection = await openRaw({ port: portOf(rig) });
  const head = [`POST ${path} ${version}`, 'host: a', 'expect: 100-continue', ...headers];
  await connection.send(`${head.join('\r\n')}\r\n\r\n`);
}

test.each([
  ['without a key', [length], 401, 'invalid_api_key'],
  ['with an unknown key', ['authorization: Bearer psk_nobody', length], 401, 'invalid_api_key'],
  ['of 33 MiB', [authorization, `content-length: ${33 * 1024 * 1024}`], 413, 'request_too_large'],
  ['of another kind', [authorization, length, 'content-type: text/plain'], 415, 'unsupported_media_type'],
])(
  'a request %s is refused without its body, and its connection is closed',
  async (_, headers, status, code) => {
    await announce(...headers);
    const answer = await connection.answer();
    const finished = await answer.finished;
    expect([answer.status, errorOf(finished).code]).toEqual([status, code]);
    expect(answer.informational).toEqual([]);
    expect(answer.headers.connection).toBe('close');
  },
);

test('a valid request is asked for its body, served, and keeps its connection', async () => {
  await announce(authorization, length);
  const answer = connection.answer();
  await connection.send(body);
  const { status, informational, headers, finished } = await answer;
  await finished;
  expect([informational.map((head) => head.status), status]).toEqual([[100], 200]);
  expect(headers.connection).not.toBe('close');
  await connection.send(`GET /v1/models HTTP/1.1\r\nhost: a\r\n${authorization}\r\n\r\n`);
  expect((await connection.answer()).status).toBe(200);
});

test('a client of HTTP/1.0 gets no 100 Continue, which it would read as the answer', async () => {
  await announceIn('HTTP/1.0', authorization, length);
  await connection.send(body);
  const { status, informational } = await connection.answer();
  expect([informational, status]).toEqual([[], 200]);
});
