// How does an answer reach its receiver that comes in many short pieces at once?

import { createServer, type Socket } from 'node:net';
import { Pool } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { send } from '../../../gateway/upstream/send.ts';
import { listenKept } from '../../support/listen-kept.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const chunks = (pieces: string): string =>
  [...pieces].map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');

/** @returns What its receiver was given, in order. */
async function received(answer: (socket: Socket) => void): Promise<string[]> {
  const { port, close } = await listenKept(
    createServer((socket) => socket.once('data', () => answer(socket))),
  );
  closers.push(close);
  const pool = new Pool(`http://127.0.0.1:${port}`);
  closers.push(() => pool.destroy());
  const given: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  send(
    { pool, path: '/', headers: [], body: [Buffer.from('{}')] },
    {
      onHead: () => {},
      onBody: (bytes) => given.push(bytes.toString()),
      onEnd: () => resolve(void given.push('(end)')),
      onBreak: (code) => resolve(void given.push(`(${code})`)),
    },
  );
  await promise;
  return given;
}

test('pieces that one read brings are two: the first of them, and all others', async () => {
  expect(await received((socket) => socket.end(`${head}${chunks('abcdef')}0\r\n\r\n`))).toEqual([
    'a',
    'bcdef',
    '(end)',
  ]);
});

test('what came before a connection broke is given before the break', async () => {
  expect(await received((socket) => socket.end(`${head}${chunks('abc')}5\r\n`))).toEqual([
    'a',
    'bc',
    '(reset)',
  ]);
});
