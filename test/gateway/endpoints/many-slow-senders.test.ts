// Many senders that began at once are too slow at once. Telling them all in one moment would hold up everybody else.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type RefusalPace, Refusals } from '../../../gateway/admission/refusals.ts';
import { ClientConnections } from '../../../gateway/endpoints/client-connection.ts';
import { watchClientErrors } from '../../../gateway/endpoints/client-errors.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';

/** A server that answers what came whole, and finds senders slow soon. */
async function startServer(pace: RefusalPace, patienceMs: number) {
  const clock = { ...makeFakeClock(), wallMs: () => 0 };
  const connections = new ClientConnections(clock, 60_000);
  const onClientError = watchClientErrors(clock, () => 'req_1', new Refusals(clock, pace), patienceMs);
  let begun = 0;
  const server = createServer(
    { headersTimeout: patienceMs, requestTimeout: patienceMs, connectionsCheckingInterval: 10 },
    connections.oneByOne((request, response) => {
      begun++;
      request.resume().once('end', () => response.end('served'));
    }),
  );
  /** In the order in which they were found so, as often as they were. */
  const tooSlow: Socket[] = [];
  server.on('clientError', (error, socket: Socket) => {
    tooSlow.push(socket);
    onClientError(error, socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { clock, tooSlow, begun: () => begun, open: () => connect(port, '127.0.0.1'), server };
}

test('a limited number of slow senders is answered at a time, and the others after that', async () => {
  const { clock, tooSlow, open, server } = await startServer({ momentMs: 10, perMoment: () => 20 }, 50);
  const answers = Array.from({ length: 50 }, () => {
    const sender = open();
    sender.write('POST / HTTP/1.1\r\n');
    return text(sender);
  });
  await until(async () => tooSlow.length === 50);
  expect(tooSlow.filter(({ writableEnded }) => writableEnded)).toHaveLength(20);
  clock.advance(20);
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  server.close();
});

/** One that is reported, and has the place of the moment; and one that waits to be reported. */
async function startWithOneWaiting() {
  const started = await startServer({ momentMs: 10, perMoment: () => 1 }, 100);
  const { open, tooSlow } = started;
  const first = open();
  first.write('GET / HTTP/1.1\r\n');
  expect(await text(first)).toMatch(/^HTTP\/1\.1 408 /);
  const second = open();
  let heard = '';
  second.on('data', (bytes) => {
    heard += bytes;
  });
  second.write('GET / HTTP/1.1\r\n');
  await until(async () => tooSlow.length === 2);
  return { ...started, second, statuses: () => heard.match(/HTTP\/1\.1 \d+/g) ?? [] };
}

test('a slow sender that disconnects while it waits takes no turn of the others', async () => {
  const { clock, tooSlow, open, second, server } = await startWithOneWaiting();
  const third = open();
  third.write('GET / HTTP/1.1\r\n');
  await until(async () => tooSlow.length === 3);
  const [, waiting] = tooSlow;
  second.destroy();
  await until(async () => waiting?.closed === true);
  clock.advance(10);
  expect(await text(third)).toMatch(/^HTTP\/1\.1 408 /);
  server.close();
});

test('a request that arrives whole while its sender waits for a 408 is served, and the next is watched again', async () => {
  const { clock, tooSlow, second, statuses, server } = await startWithOneWaiting();
  second.write('host: a\r\n\r\n');
  await until(async () => statuses().length === 1);
  clock.advance(10);
  second.write('GET / HTTP/1.1\r\n');
  await until(async () => tooSlow.length === 3);
  clock.advance(10);
  await once(second, 'end');
  expect(statuses()).toEqual(['HTTP/1.1 200', 'HTTP/1.1 408']);
  server.close();
});

test('a request that arrives whole is served, also if the next one has begun', async () => {
  const { clock, begun, second, statuses, server } = await startWithOneWaiting();
  second.write('host: a\r\n\r\nPOST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n1');
  await until(async () => begun() === 2);
  clock.advance(10);
  second.write('2');
  await until(async () => statuses().length === 2);
  expect(statuses()).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  second.destroy();
  server.close();
});
