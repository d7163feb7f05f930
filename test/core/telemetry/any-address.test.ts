// Does a server that listens for everybody answer over IPv6 and IPv4, also where there is no IPv6?

import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyAddress } from '../../../core/telemetry/process-server.ts';
import { matchAddresses } from '../../../gateway/admission/connections.ts';

const server = createServer((request, response) => response.end(request.socket.remoteAddress));
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, anyAddress(), resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const seenFrom = (host: string) =>
  new Promise<string>((resolve, reject) => {
    get({ host, port, agent: false }, (answer) => {
      answer.setEncoding('utf8').once('data', resolve);
    }).once('error', reject);
  });

test('callers with IPv4 and with IPv6 are answered', async () => {
  expect(await seenFrom('::1')).toBe('::1');
  expect(await seenFrom('127.0.0.1')).toBe('::ffff:127.0.0.1');
});

test('a proxy is recognised by its IPv4 address there too', () => {
  const isProxy = matchAddresses(['10.0.0.0/8', '192.0.2.7']);
  expect(['::ffff:10.1.2.3', '::ffff:192.0.2.7', '::ffff:11.1.2.3'].map(isProxy)).toEqual([
    true,
    true,
    false,
  ]);
});

test('a kernel without IPv6 listens on IPv4 alone', () => {
  expect(anyAddress('linux', () => false)).toBe('0.0.0.0');
  expect(anyAddress('linux', () => true)).toBe('::');
  expect(anyAddress('darwin', () => false)).toBe('::');
});
