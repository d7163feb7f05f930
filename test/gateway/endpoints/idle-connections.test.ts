// Which connections are closed for having nothing to do? Those that have had nothing for as long as was said, and send nothing.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClientConnections } from '../../../gateway/endpoints/client-connection.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';

const clock = { ...makeFakeClock(), wallMs: () => 0 };
let connections: ClientConnections;
let server: ReturnType<typeof createServer>;
const accepted: Socket[] = [];

beforeEach(async () => {
  connections = new ClientConnections(clock, 60_000);
  accepted.length = 0;
  server = createServer(connections.oneByOne((_, response) => response.end('served')));
  server.on('connection', (socket) => {
    connections.onConnection(socket);
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

test('unused and used connections are closed after the idle time', async () => {
  const [never, used] = [await open(), await open()];
  used.client.write(request);
  await until(async () => used.heard().endsWith('served'));
  clock.advance(4_999);
  connections.closeIdle(5_000);
  used.client.write(request);
  await until(async () => used.heard().match(/served/g)?.length === 2);
  clock.advance(1);
  connections.closeIdle(5_000);
  await never.ended;
  clock.advance(4_999);
  connections.closeIdle(5_000);
  await used.ended;
  expect([never.heard(), used.heard().match(/served/g)]).toEqual(['', ['served', 'served']]);
});

test('a connection with half of its next request stays open and is served', async () => {
  const { client, heard } = await open();
  clock.advance(5_000);
  client.write(request.slice(0, 20));
  await until(async () => (accepted[0]?.bytesRead ?? 0) > 0);
  connections.closeIdle(5_000);
  expect(accepted[0]?.destroyed).toBe(false);
  client.write(request.slice(20));
  await until(async () => heard().endsWith('served'));
  expect(heard()).toMatch(/^HTTP\/1\.1 200 /);
});

test('a connection with a whole next request in the queue stays open and is served', async () => {
  const mayEnd = Promise.withResolvers<void>();
  server.removeAllListeners('request');
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/slow') await mayEnd.promise;
    response.end('served');
  };
  server.on(
    'request',
    connections.oneByOne((request, response) => void serve(request, response)),
  );
  const { client, heard } = await open();
  client.write(request + request.replace('/', '/slow'));
  await until(async () => heard().endsWith('served'));
  await new Promise(setImmediate);
  clock.advance(60_000);
  connections.closeIdle(5_000);
  expect(accepted[0]?.destroyed).toBe(false);
  mayEnd.resolve();
  await until(async () => heard().match(/served/g)?.length === 2);
});
