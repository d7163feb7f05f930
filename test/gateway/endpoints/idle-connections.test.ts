// Which connections are closed for having nothing to do? Those that have had nothing for as long as was said, and send nothing.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IdleConnections } from '../../../gateway/endpoints/idle-connections.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';

const clock = { ...makeFakeClock(), wallMs: () => 0 };
let idle: IdleConnections;
let server: ReturnType<typeof createServer>;
const accepted: Socket[] = [];

beforeEach(async () => {
  idle = new IdleConnections(clock);
  accepted.length = 0;
  server = createServer((request, response) => {
    idle.onRequest(request.socket, response);
    response.end('served');
  });
  server.on('connection', (socket) => {
    idle.onConnection(socket);
    accepted.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function open(): Promise<{ client: Socket; heard: () => string; ended: Promise<unknown> }> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const count = accepted.length;
  let text = '';
  client.on('data', (bytes) => {
    text += bytes;
  });
  const ended = once(client, 'end');
  await until(async () => accepted.length > count);
  return { client, heard: () => text, ended };
}

const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

test('one that was never used, and one that was, once their time is over', async () => {
  const [never, used] = [await open(), await open()];
  used.client.write(request);
  await until(async () => used.heard().endsWith('served'));
  clock.advance(4_999);
  idle.closeAfter(5_000);
  used.client.write(request);
  await until(async () => used.heard().match(/served/g)?.length === 2);
  clock.advance(1);
  idle.closeAfter(5_000);
  await never.ended;
  clock.advance(4_999);
  idle.closeAfter(5_000);
  await used.ended;
  expect([never.heard(), used.heard().match(/served/g)]).toEqual(['', ['served', 'served']]);
});

test('one whose next request is half here stays, and is served', async () => {
  const { client, heard } = await open();
  clock.advance(5_000);
  client.write(request.slice(0, 20));
  await until(async () => (accepted[0]?.bytesRead ?? 0) > 0);
  idle.closeAfter(5_000);
  expect(accepted[0]?.destroyed).toBe(false);
  client.write(request.slice(20));
  await until(async () => heard().endsWith('served'));
  expect(heard()).toMatch(/^HTTP\/1\.1 200 /);
});

test('one whose next request had come whole before its turn stays until that is served', async () => {
  const mayEnd = Promise.withResolvers<void>();
  let turn = Promise.resolve();
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    turn = turn.then(async () => {
      idle.onRequest(request.socket, response);
      if (request.url === '/slow') await mayEnd.promise;
      const closed = once(response, 'close');
      response.end('served');
      await closed;
    });
  });
  const { client, heard } = await open();
  client.write(request + request.replace('/', '/slow'));
  await until(async () => heard().endsWith('served'));
  await new Promise(setImmediate);
  clock.advance(60_000);
  idle.closeAfter(5_000);
  expect(accepted[0]?.destroyed).toBe(false);
  mayEnd.resolve();
  await until(async () => heard().match(/served/g)?.length === 2);
});
