// Does the end of a broken answer reach a client that reads slowly? What comes behind it must not be lost on the way, and what the
// client has sent at the same time must not throw it away: a connection that is closed with unread bytes is reset (RFC 9112, section 9.6).

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClientStream } from '../../../gateway/stream/client-stream.ts';
import { TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { openRaw, type RawConnection, writeRequest } from '../../support/raw-client.ts';

const frame = 'data: {"error":{}}\n\n';
const event = `data: ${'x'.repeat(64 * 1024)}\n\n`;
/** More than any two kernels hold between them. */
const events = 128;

/** The answer to the first request; one behind it waits for its turn. */
let response: ServerResponse;
let connection: RawConnection;
let timers: TimerQueue;
const server = createServer();

beforeEach(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on no port');
  connection = await openRaw({ port: address.port });
  const begun = nextRequest();
  await connection.send(writeRequest({ path: '/' }));
  response = await begun;
});

afterEach(async () => {
  connection.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

function nextRequest(): Promise<ServerResponse> {
  return new Promise((resolve) => server.once('request', (_, answer) => resolve(answer)));
}

function openStream(clock: FakeClock, onStall = (): void => {}): ClientStream {
  timers = new TimerQueue(clock);
  const stream = new ClientStream(response, {
    clock,
    timers,
    openAfterMs: 1_000,
    keepAliveMs: 1_000,
    keepAlive: ': keep-alive\n\n',
    writeStallMs: () => 1_000,
    head: () => ['content-type', 'text/event-stream'],
    onStall,
  });
  response.once('close', () => {
    stream.stop();
    timers.close();
  });
  return stream;
}

test.each<readonly [string, Uint8Array | undefined]>([
  ['reads slowly', undefined],
  ['reads slowly, and has sent its next request already', writeRequest({ path: '/', body: event.repeat(8) })],
])('a client that %s gets all events, and the error frame', async (_, next) => {
  const stream = openStream(makeFakeClock());
  connection.pause();
  for (let n = 0; n < events; n++) stream.write(event);
  if (next !== undefined) {
    const isHeard = nextRequest();
    connection.socket.write(next);
    await isHeard;
  }
  stream.breakOff(frame);

  const { socket } = response;
  await turn();
  expect(socket?.writableLength, 'what the kernels do not take').toBeGreaterThan(event.length);
  // As little as it takes until the last byte has left the process: the connection ends with its kernels full.
  while ((socket?.writableLength ?? 0) > 0) {
    connection.resume();
    await once(connection.socket, 'data');
    connection.pause();
    await turn();
  }
  connection.resume();
  const { ending, text } = await (await connection.answer()).finished;
  expect([ending, text.length]).toEqual(['fin-early', events * event.length + frame.length]);
  expect(text.endsWith(frame)).toBe(true);
});

test('a whole answer has a limited time to be read, however steadily its client reads a little', async () => {
  const clock = makeFakeClock();
  let isGivenUp = false;
  const stream = openStream(clock, () => {
    isGivenUp = true;
  });
  connection.pause();
  stream.giveUpAfter(2_000);
  stream.write(Buffer.alloc(64 * 1024 * 1024, 0x20));
  await turn();
  for (const isOver of [false, false, true]) {
    // Less, and the kernel would not ask for more.
    const next = connection.socket.bytesRead + 4 * 1024 * 1024;
    connection.resume();
    while (connection.socket.bytesRead < next) await once(connection.socket, 'data');
    connection.pause();
    await turn();
    clock.advance(750);
    expect([response.destroyed, isGivenUp]).toEqual([isOver, isOver]);
  }
  if (!response.closed) await once(response, 'close');
  expect([clock.pending(), timers.size]).toEqual([[], 0]);
});

test('a whole answer that is read in time is complete, and leaves no timer', async () => {
  const clock = makeFakeClock();
  const stream = openStream(clock);
  stream.giveUpAfter(2_000);
  stream.end(event);
  expect((await (await connection.answer()).finished).text).toBe(event);
  if (!response.closed) await once(response, 'close');
  expect([clock.pending(), timers.size]).toEqual([[], 0]);
});

// One event of a held answer may be a mebibyte, and goes out in one write: before, a client had to take all of it in the time in which
// it has to take anything.
test.each<readonly [string, (stream: ClientStream) => void]>([
  ['goes on', () => {}],
  ['has ended', (stream) => stream.end('')],
  ['was broken off', (stream) => stream.breakOff(frame)],
])(
  'a client of a stream that %s is waited for while it reads something, and disconnected when it does not',
  async (how, andThen) => {
    const clock = makeFakeClock();
    let stalls = 0;
    const stream = openStream(clock, () => {
      stalls++;
    });
    connection.pause();
    expect(stream.write(Buffer.alloc(64 * 1024 * 1024, 0x20))).toBe(false);
    andThen(stream);
    await turn();
    for (let looks = 0; looks < 5; looks++) {
      // Less, and the kernel would not ask for more.
      const next = connection.socket.bytesRead + 4 * 1024 * 1024;
      connection.resume();
      while (connection.socket.bytesRead < next) await once(connection.socket, 'data');
      connection.pause();
      await turn();
      clock.advance(750);
      expect(response.destroyed).toBe(false);
    }
    clock.advance(1_250);
    expect([response.destroyed, stalls]).toEqual([true, how === 'goes on' ? 1 : 0]);
    if (!response.closed) await once(response, 'close');
    expect([clock.pending(), timers.size]).toEqual([[], 0]);
  },
);
