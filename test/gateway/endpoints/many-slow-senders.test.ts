// Many senders that began at once are too slow at once. Telling them all in one moment would hold up everybody else.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { Refusals } from '../../../gateway/admission/refusals.ts';
import { watchClientErrors } from '../../../gateway/endpoints/client-errors.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';

test('so many are told in one moment, the others in the next', async () => {
  const clock = { ...makeFakeClock(), wallMs: () => 0 };
  const errors = watchClientErrors(
    clock,
    () => 'req_1',
    new Refusals(clock, { momentMs: 10, perMoment: 20 }),
  );
  const server = createServer({ headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 });
  const tooSlow = new Set<Socket>();
  server.on('clientError', (error, socket: Socket) => {
    tooSlow.add(socket);
    errors.onClientError(error, socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answers = Array.from({ length: 50 }, () => {
    const sender = connect(port, '127.0.0.1');
    sender.write('POST / HTTP/1.1\r\n');
    return text(sender);
  });
  await until(async () => tooSlow.size === 50);
  expect([...tooSlow].filter(({ writableEnded }) => writableEnded)).toHaveLength(20);
  clock.advance(20);
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  server.close();
});

test('what comes whole while its sender waits to be told is served, and the next request is watched anew', async () => {
  const clock = { ...makeFakeClock(), wallMs: () => 0 };
  const errors = watchClientErrors(clock, () => 'req_1', new Refusals(clock, { momentMs: 10, perMoment: 1 }));
  const timeouts = { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 10 };
  const server = createServer(timeouts, (_, response) => response.end('served'));
  server.on('request', errors.onRequest);
  let tooSlow = 0;
  server.on('clientError', (error, socket: Socket) => {
    tooSlow++;
    errors.onClientError(error, socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const first = connect(port, '127.0.0.1');
  first.write('GET / HTTP/1.1\r\n');
  expect(await text(first)).toMatch(/^HTTP\/1\.1 408 /);
  const second = connect(port, '127.0.0.1');
  let heard = '';
  second.on('data', (bytes) => {
    heard += bytes;
  });
  second.write('GET / HTTP/1.1\r\n');
  await until(async () => tooSlow === 2);
  second.write('host: a\r\n\r\n');
  await until(async () => heard.endsWith('served'));
  clock.advance(10);
  second.write('GET / HTTP/1.1\r\n');
  await until(async () => tooSlow === 3);
  clock.advance(10);
  await once(second, 'end');
  expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 408']);
  server.close();
});
