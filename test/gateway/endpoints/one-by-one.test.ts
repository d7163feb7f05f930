// What if a client sends its next request before it has its answer? No upstream is asked before its turn, nor paid where that never comes.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRaw, type RawConnection, writeRequest } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, portOf, post } from './ask.ts';

const path = '/v1/chat/completions';
const ask = (content: string): object => ({ model: 'm', messages: [{ role: 'user', content }] });
const request = (content: string): Buffer => writeRequest({ path, headers: bearer, body: ask(content) });

let wall: Wall;
let rig: Rig;
let connection: RawConnection;
let mayAnswer: PromiseWithResolvers<void>;

beforeEach(async () => {
  mayAnswer = Promise.withResolvers();
  wall = await startWall([
    { type: 'answer', beforeHeaders: { until: mayAnswer.promise } },
    { type: 'answer' },
  ]);
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
  connection = await openRaw({ port: portOf(rig) });
  await connection.send(Buffer.concat([request('first'), request('second')]));
  await wall.nextCall();
});

afterEach(async () => {
  connection.close();
  mayAnswer.resolve();
  await rig.close();
  await wall.close();
  expect(rig.failures).toEqual([]);
});

/** What the upstream was asked, by a word of each request. */
function asked(): readonly string[] {
  return wall.calls.map(({ bodyText }) => /first|second|other/.exec(bodyText)?.[0] ?? '?');
}

test('a pipelined request is served after the answer to the request before it', async () => {
  expect((await post(rig, path, ask('other'))).status).toBe(200);
  expect(asked()).toEqual(['first', 'other']);
  mayAnswer.resolve();
  expect([(await connection.answer()).status, (await connection.answer()).status]).toEqual([200, 200]);
  expect(asked()).toEqual(['first', 'other', 'second']);
});

test('a pipelined request is never served if its connection ends first', async () => {
  connection.abort();
  await wall.calls[0]?.clientClosed;
  expect((await post(rig, path, ask('other'))).status).toBe(200);
  expect(asked()).toEqual(['first', 'other']);
});

/** The answers to five requests, and to the sixth. */
async function sixAnswers(): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < 6; count++) {
    const answer = await connection.answer();
    await answer.finished;
    statuses.push(answer.status);
  }
  return statuses;
}

test('of thousands of pipelined requests five are answered, the sixth is refused, and other clients are served', async () => {
  const flood = Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(20_000));
  await connection.send(flood);
  expect((await post(rig, path, ask('other'))).status).toBe(200);
  mayAnswer.resolve();
  expect(await sixAnswers()).toEqual([200, 200, 404, 404, 404, 503]);
  expect(await connection.closed).toBe('fin');
  expect(asked()).toEqual(['first', 'other', 'second']);
});

test.each([
  ['in one piece', (requests: readonly Buffer[]) => [Buffer.concat(requests)]],
  ['one by one', (requests: readonly Buffer[]) => requests],
  [
    'with bodies that come later',
    (requests: readonly Buffer[]) =>
      requests.flatMap((bytes) => [bytes.subarray(0, -10), bytes.subarray(-10)]),
  ],
])(
  'a sixth pipelined request that comes %s gets 503, after the answers to the five before it',
  async (_, pieces) => {
    for (const piece of pieces(Array.from({ length: 6 }, () => request('second'))))
      await connection.send(piece);
    mayAnswer.resolve();
    expect(await sixAnswers()).toEqual([200, 200, 200, 200, 200, 503]);
    expect(asked()).toEqual(['first', 'second', 'second', 'second', 'second']);
  },
);

test('a client that disconnects with more than five pipelined requests is noticed at once, and nothing more is served', async () => {
  await connection.send(Buffer.concat(Array.from({ length: 8 }, () => request('second'))));
  connection.abort();
  await wall.calls[0]?.clientClosed;
  expect(asked()).toEqual(['first']);
});
