// A client that does not take its answer is released, however little of it is left; one that is slow is not. The kernel holds what it is
// given for the client, so the answers here are larger than its buffers. Time is the test's.

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClientConnections } from '../../../gateway/endpoints/client-connection.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { openRaw, type RawAnswer, type RawConnection } from '../../support/raw-client.ts';

const answerBytes = 32 * 1024 * 1024;

let clock: FakeClock;
let server: Server;
let connection: RawConnection;
let response: ServerResponse;

beforeEach(() => ask());

async function ask(wholeMs?: number): Promise<void> {
  clock = makeFakeClock();
  const connections = new ClientConnections({ ...clock, wallMs: clock.now }, 60_000, wholeMs);
  const served = Promise.withResolvers<ServerResponse>();
  server = createServer(connections.oneByOne((_, answering) => served.resolve(answering)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  connection = await openRaw({ port: typeof address === 'object' && address ? address.port : 0 });
  await connection.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  response = await served.promise;
}

afterEach(hangUp);

function hangUp(): void {
  connection.close();
  server.close();
}

/** The head has come, and of the body as much as the kernel takes while nobody reads. */
async function endUnread(): Promise<RawAnswer> {
  const head = connection.answer();
  response.writeHead(200, { 'content-length': answerBytes });
  response.end(Buffer.alloc(answerBytes));
  const answer = await head;
  connection.pause();
  await new Promise((resolve) => setImmediate(resolve));
  return answer;
}

async function takeMore(): Promise<void> {
  // Less, and the kernel would not ask for more.
  const next = connection.socket.bytesRead + 4 * 1024 * 1024;
  connection.resume();
  while (connection.socket.bytesRead < next && !response.writableFinished)
    await once(connection.socket, 'data');
  connection.pause();
}

test('a client that reads nothing for a minute is disconnected', async () => {
  await endUnread();
  clock.advance(60_000);
  expect(response.destroyed, 'the first look tells what has been taken so far').toBe(false);
  clock.advance(60_000);
  expect(response.destroyed).toBe(true);
  if (!response.closed) await once(response, 'close');
  clock.advance(15_000);
  expect(clock.pending()).toEqual([]);
});

test('a client that reads a little now and then is disconnected when the time for a whole answer is over', async () => {
  hangUp();
  await ask(90_000);
  await endUnread();
  for (const isLetGo of [false, false, true]) {
    await takeMore();
    clock.advance(45_000);
    expect(response.destroyed).toBe(isLetGo);
  }
});

test('a client that reads a little in each minute is served to the end', async () => {
  const answer = await endUnread();
  let looks = 0;
  for (; !response.writableFinished; looks++) {
    await takeMore();
    clock.advance(45_000);
    expect(response.destroyed).toBe(response.writableFinished);
  }
  expect(looks).toBeGreaterThan(2);
  connection.resume();
  expect((await answer.finished).ending).toBe('length-complete');
});

test('an answer that is still being written is not checked, and no timer is left after all is read', async () => {
  response.writeHead(200);
  response.write('beginning');
  clock.advance(600_000);
  expect(response.destroyed).toBe(false);
  response.end();
  expect((await (await connection.answer()).finished).ending).toBe('last-chunk');
  clock.advance(30_000);
  expect(clock.pending()).toEqual([]);
});
