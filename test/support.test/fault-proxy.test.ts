// Each fault of the way is seen at both ends as what it says, at the very byte, and written down as fired.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Direction,
  type FaultProxy,
  type LinkFault,
  type Passage,
  printSchedule,
  seededSchedule,
  startFaultProxy,
} from '../support/fault-proxy.ts';
import { type KeptServer, listenKept } from '../support/listen-kept.ts';
import { rawCall } from '../support/raw-client.ts';
import { startWall } from '../support/wall.ts';
import { chatBody, chatPath } from './ask.ts';

let upstream: KeptServer;
let accepted: Promise<Socket>;
let proxy: FaultProxy;
const own: Socket[] = [];

beforeEach(async () => {
  const server = createServer({ allowHalfOpen: true });
  accepted = once(server, 'connection').then(([socket]) => socket);
  upstream = await listenKept(server);
});

afterEach(async () => {
  for (const socket of own.splice(0)) socket.destroy();
  await proxy.close();
  await upstream.close();
});

/** Two ends of one connection through the proxy, and what became of it there. */
async function joined(fault: LinkFault): Promise<{ client: Socket; server: Socket; passage: Passage }> {
  proxy = await startFaultProxy({ port: upstream.port, schedule: fault });
  const client = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  own.push(client);
  const server = await accepted;
  const [passage] = proxy.passages;
  if (!passage) throw new Error('nothing came through');
  return { client, server, passage };
}

/** All bytes of a socket, and how they ended. */
function read(socket: Socket): Promise<{ bytes: Buffer; ending: 'fin' | 'reset' }> {
  const parts: Buffer[] = [];
  return new Promise((resolve) => {
    socket.on('data', (part: Buffer) => parts.push(part));
    const end = (ending: 'fin' | 'reset') => () => resolve({ bytes: Buffer.concat(parts), ending });
    socket.on('end', end('fin'));
    socket.on('error', end('reset'));
  });
}

/** The two ends in the order of the bytes. */
function along<T>(direction: Direction, client: T, server: T): { from: T; to: T } {
  return direction === 'up' ? { from: client, to: server } : { from: server, to: client };
}

const directions = ['down', 'up'] as const;
const sent = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));

test('without a fault everything goes through in both directions, and so does each FIN alone', async () => {
  const { client, server, passage } = await joined({ type: 'none' });
  const up = read(server);
  client.end(sent);
  expect(await up).toEqual({ bytes: sent, ending: 'fin' });
  const down = read(client);
  server.end(sent);
  expect(await down).toEqual({ bytes: sent, ending: 'fin' });
  await passage.closed;
  expect(passage).toMatchObject({ isFired: false, passed: { up: 1000, down: 1000 } });
});

test('a reset of one side resets the other', async () => {
  const { client, server } = await joined({ type: 'none' });
  const down = read(client);
  server.resetAndDestroy();
  expect(await down).toEqual({ bytes: Buffer.alloc(0), ending: 'reset' });
});

describe.each(directions)('%s', (direction) => {
  test.each([0, 1, 500, 999])('a cut in front of byte %i: so many bytes and a FIN', async (atByte) => {
    const { client, server, passage } = await joined({ type: 'cut', direction, atByte });
    const { from, to } = along(direction, client, server);
    const seen = read(to);
    const gone = read(from);
    from.write(sent);
    expect(await seen).toEqual({ bytes: sent.subarray(0, atByte), ending: 'fin' });
    await gone;
    expect(passage.isFired).toBe(true);
  });

  test('a reset is a reset at both ends', async () => {
    const { client, server, passage } = await joined({ type: 'reset', direction, atByte: 10 });
    const { from, to } = along(direction, client, server);
    const seen = Promise.all([read(to), read(from)]);
    from.write(sent);
    expect((await seen).map(({ ending }) => ending)).toEqual(['reset', 'reset']);
    expect(passage.isFired).toBe(true);
  });

  test('a half-close ends one direction, and the other goes on', async () => {
    const { client, server, passage } = await joined({ type: 'half-close', direction, atByte: 10 });
    const { from, to } = along(direction, client, server);
    const seen = read(to);
    from.write(sent);
    expect(await seen).toEqual({ bytes: sent.subarray(0, 10), ending: 'fin' });
    const back = read(from);
    to.end(sent);
    expect(await back).toEqual({ bytes: sent, ending: 'fin' });
    expect(passage.isFired).toBe(true);
  });

  test('one byte is changed, and all others are not', async () => {
    const { client, server, passage } = await joined({ type: 'corrupt', direction, atByte: 700, mask: 0x80 });
    const { from, to } = along(direction, client, server);
    const seen = read(to);
    from.write(sent.subarray(0, 600));
    from.end(sent.subarray(600));
    const { bytes } = await seen;
    expect(bytes).toHaveLength(1000);
    expect(
      [...bytes].flatMap((byte, at) => (byte === sent[at] ? [] : [[at, byte ^ (sent[at] ?? 0)]])),
    ).toEqual([[700, 0x80]]);
    expect(passage.isFired).toBe(true);
  });

  test('a black hole takes both directions from that byte on, and says nothing', async () => {
    const { client, server, passage } = await joined({ type: 'black-hole', direction, atByte: 10 });
    const { from, to } = along(direction, client, server);
    const first = once(to, 'data');
    from.write(sent);
    expect((await first)[0]).toEqual(sent.subarray(0, 10));
    let isAnswered = false;
    from.on('data', () => {
      isAnswered = true;
    });
    to.write(sent);
    // Another connection has come and gone at the same time.
    proxy.schedule({ type: 'none' });
    const other = connect({ port: proxy.port, host: '127.0.0.1' });
    own.push(other);
    await once(other, 'connect');
    other.resetAndDestroy();
    await proxy.passages[1]?.closed;
    expect([isAnswered, passage.isFired, from.destroyed, to.destroyed]).toEqual([false, true, false, false]);
  });

  test.each([
    ['a delay', { type: 'delay', direction, ms: 30, jitterMs: 5 }, 30],
    // A thousand bytes in slices of a twentieth of a second: four of them, with three pauses in between.
    ['a throttle', { type: 'throttle', direction, bytesPerSecond: 5_000 }, 150],
  ] as const)('%s changes nothing but the time', async (_name, fault, leastMs) => {
    const { client, server, passage } = await joined(fault);
    const { from, to } = along(direction, client, server);
    const startedAt = performance.now();
    const seen = read(to);
    from.end(sent);
    expect(await seen).toEqual({ bytes: sent, ending: 'fin' });
    // Timers may fire a little early by another clock.
    expect(performance.now() - startedAt).toBeGreaterThan(leastMs - 5);
    expect(passage.isFired).toBe(true);
  });
});

test('a fault at a byte that never comes has not fired', async () => {
  const { client, server, passage } = await joined({ type: 'cut', atByte: 2_000 });
  const seen = read(client);
  server.end(sent);
  expect((await seen).bytes).toEqual(sent);
  expect(passage.isFired).toBe(false);
});

test('without a listener, a connection is reset', async () => {
  await upstream.close();
  proxy = await startFaultProxy({ port: upstream.port });
  const client = connect({ port: proxy.port, host: '127.0.0.1' });
  own.push(client);
  expect((await read(client)).ending).toBe('reset');
});

test('in front of the wall, each connection has the fault that its number says', async () => {
  const wall = await startWall();
  proxy = await startFaultProxy({
    port: wall.port,
    schedule: (number) => (number === 2 ? { type: 'cut', atByte: 300 } : { type: 'none' }),
  });
  const endings: string[] = [];
  for (let call = 0; call < 3; call += 1) {
    const seen = await rawCall(proxy, { path: chatPath, body: chatBody({ stream: true }) });
    endings.push(seen.ending);
  }
  expect(endings).toEqual(['last-chunk', 'fin-early', 'last-chunk']);
  expect(proxy.passages.map(({ isFired }) => isFired)).toEqual([false, true, false]);
  await wall.close();
});

describe('a seed', () => {
  const options = {
    types: ['delay', 'throttle', 'cut', 'reset', 'half-close', 'corrupt', 'black-hole', 'none'],
    bytesMax: { down: 900, up: 300 },
  } as const;

  test('gives the same faults again, whatever the order', () => {
    const first = seededSchedule({ seed: 7, ...options });
    const again = seededSchedule({ seed: 7, ...options });
    const backwards = Array.from({ length: 200 }, (_, index) => again(200 - index)).reverse();
    expect(Array.from({ length: 200 }, (_, index) => first(index + 1))).toEqual(backwards);
  });

  test('gives every fault, in both directions and within the bytes; another seed gives others', () => {
    const schedule = seededSchedule({ seed: 7, ...options });
    const faults = Array.from({ length: 2_000 }, (_, index) => schedule(index + 1));
    for (const type of options.types) {
      const ofType = faults.filter((fault) => fault.type === type);
      expect(ofType.length).toBeGreaterThan(150);
      if (type === 'none') continue;
      for (const direction of directions) {
        expect(ofType.some((fault) => 'direction' in fault && fault.direction === direction)).toBe(true);
      }
    }
    const places = faults.flatMap((fault) =>
      'atByte' in fault ? [[fault.direction === 'up' ? 300 : 900, fault.atByte]] : [],
    );
    expect(places.filter(([max = 0, at = 0]) => at < 0 || at >= max)).toEqual([]);
    expect(printSchedule(seededSchedule({ seed: 8, ...options }), 20)).not.toBe(printSchedule(schedule, 20));
  });

  test('can be printed, a line for each connection', () => {
    const lines = printSchedule(seededSchedule({ seed: 7, ...options }), 3).split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['1', '2', '3']);
    expect(lines.join('\n')).toMatch(/^\d+ [a-z-]+( [a-zA-Z]+=\S+)*$/m);
  });
});
