// What does a client of HTTP/1.0 get, such as an old proxy, or `ab`? It knows no chunks: an answer without a length ends with its
// connection (RFC 9112, sections 6.3 and 9.3).

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ask, type Endpoint, endsWell, requestOf, textOf, wallText } from '../../flow/ask.ts';
import { openRaw, type RawConnection } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { portOf } from './ask.ts';

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-chat'] }]));
});

beforeEach(() => wall.script({ type: 'answer' }));

afterAll(async () => {
  await rig.close();
  await wall.close();
});

const endpoints: readonly Endpoint[] = ['chat', 'completions', 'messages', 'responses'];

/** One request of HTTP/1.0, on a connection that is this test's own. */
async function say(
  {
    isStream,
    endpoint,
    headers = {},
  }: { isStream: boolean; endpoint: Endpoint; headers?: Record<string, string> },
  connection?: RawConnection,
) {
  const open = connection ?? (await openRaw({ port: portOf(rig) }));
  onTestFinished(() => open.close());
  const { path, headers: own, body } = requestOf({ endpoint, isStream });
  const bytes = JSON.stringify(body);
  const lines = Object.entries({
    ...own,
    ...headers,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(bytes)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  await open.send(`POST ${path} HTTP/1.0\r\n${lines.join('')}\r\n${bytes}`);
  const answer = await open.answer();
  return { connection: open, answer, seen: { ...answer, ...(await answer.finished) } };
}

describe.each(endpoints)('%s', (endpoint) => {
  test('a stream has no chunks and no length, and ends with its connection', async () => {
    const { connection, seen } = await say({ endpoint, isStream: true });
    expect(seen.status).toBe(200);
    expect(seen.headers).not.toHaveProperty('transfer-encoding');
    expect(seen.headers).not.toHaveProperty('content-length');
    expect(seen.headers.connection).toBe('close');
    expect([seen.ending, endsWell(seen), textOf(seen)]).toEqual(['close-delimited', true, wallText]);
    expect(await connection.closed).toBe('fin');
  });

  test('a stream to a client that asks to keep the connection ends with the connection, too', async () => {
    const { connection, seen } = await say({
      endpoint,
      isStream: true,
      headers: { connection: 'keep-alive' },
    });
    expect(seen.headers).not.toHaveProperty('transfer-encoding');
    expect(seen.headers.connection).toBe('close');
    expect([seen.ending, endsWell(seen)]).toEqual(['close-delimited', true]);
    expect(await connection.closed).toBe('fin');
  });

  test('a plain answer has its length, and ends the connection', async () => {
    const { connection, seen } = await say({ endpoint, isStream: false });
    expect([seen.status, seen.headers.connection, seen.ending]).toEqual([200, 'close', 'length-complete']);
    expect(textOf(seen)).toBe(wallText);
    expect(await connection.closed).toBe('fin');
  });

  test('a client that asks to keep the connection may send its next request over it', async () => {
    const headers = { connection: 'keep-alive' };
    const { connection, seen } = await say({ endpoint, isStream: false, headers });
    expect([seen.headers.connection, seen.ending]).toEqual(['keep-alive', 'length-complete']);
    const { seen: next } = await say({ endpoint, isStream: false, headers }, connection);
    expect([next.status, textOf(next)]).toEqual([200, wallText]);
  });

  // The end of the connection is the end of the body: nothing of the framing can say that something is missing.
  test('a stream that breaks off ends with an error frame, and without its end marker', async () => {
    wall.script({ type: 'reset', after: { contentEvents: 3 } });
    const { connection, seen } = await say({ endpoint, isStream: true });
    expect(seen.status).toBe(200);
    expect(seen.headers).not.toHaveProperty('transfer-encoding');
    expect(endsWell(seen)).toBe(false);
    expect(seen.events.at(-1)?.data).toContain('"upstream_error"');
    await connection.closed;
  });

  test('an error has its length', async () => {
    wall.script({ type: 'status', status: 400, error: { message: 'too hot' } });
    const { connection, seen } = await say({ endpoint, isStream: true });
    expect([seen.status, seen.ending]).toEqual([400, 'length-complete']);
    expect(seen.headers.connection).toBe('close');
    expect(await connection.closed).toBe('fin');
  });
});

test('a client of HTTP/1.1 at the same time has its chunks', async () => {
  const seen = await ask(rig, { isStream: true });
  expect([seen.headers['transfer-encoding'], seen.ending]).toEqual(['chunked', 'last-chunk']);
});
