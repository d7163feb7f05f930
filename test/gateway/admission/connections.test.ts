// Whose connections are counted together? Those over the wire: test/gateway/endpoints/overload.test.ts.

import { Server, Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { guardConnections } from '../../../gateway/admission/connections.ts';

const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Whether each of these is admitted, where one address may have two. */
function letIn(...addresses: readonly string[]): readonly boolean[] {
  const server = new Server();
  const bounds = { connectionsMax: 100, connectionsPerAddressMax: 2, proxies: [] };
  guardConnections(server, bounds, () => {});
  return addresses.map((address) => {
    const socket = new Socket();
    sockets.push(socket);
    Object.defineProperty(socket, 'remoteAddress', { value: address });
    server.emit('connection', socket);
    return !socket.destroyed;
  });
}

test('IPv6 connections are counted by /64 network', () => {
  expect(letIn('2001:db8::1', '2001:db8::2', '2001:db8:0:0:9::3', '2001:db8:0:1::1')).toEqual([
    true,
    true,
    false,
    true,
  ]);
});

test('IPv4 connections are counted by address, also in IPv6 notation', () => {
  expect(letIn('192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.1')).toEqual([true, true, true, false]);
  expect(letIn('::ffff:192.0.2.1', '::ffff:192.0.2.1', '::ffff:192.0.2.2')).toEqual([true, true, true]);
});
