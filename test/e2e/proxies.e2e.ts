// Do connections go through a proxy that was written by others? pproxy, a package of PyPI, speaks HTTP CONNECT and SOCKS5.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Child, startChild, untilReady } from '../cluster/child.ts';
import { freePort } from '../cluster/free-port.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { connectTo, failureOf, loopbackOpen, makeConnector } from '../core/egress/connect-to.ts';
import { type Listening, listenTls } from '../core/egress/listen.ts';
import { pythonWith } from '../support/python.ts';

const ca = makeCertificate({ name: 'test authority', isCa: true });
const identity = makeCertificate({ name: 'upstream', ipv4: ['127.0.0.1'], issuer: ca });
let folder: string;
let server: Listening;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-proxies-'));
  server = await listenTls({ cert: identity.cert, key: identity.key }, (socket) => socket.write('pong'));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

describe.each(['http', 'socks5'] as const)('a real %s proxy', (protocol) => {
  const credentials = { username: 'team', password: 'pass-w0rd' };
  let proxy: Child;
  let port: number;

  beforeAll(async () => {
    const python = await pythonWith(['pproxy==2.7.9']);
    port = await freePort();
    const log = join(folder, `${protocol}.log`);
    const place = `${protocol}://127.0.0.1:${port}#${credentials.username}:${credentials.password}`;
    // Else it remembers for a month who signed in from an address.
    const noMemory = '--auth=-1';
    proxy = await startChild(python, ['-m', 'pproxy', '-v', noMemory, '-l', place], log);
    await untilReady('pproxy', proxy, log, () => isListening(port));
  });
  afterAll(() => proxy.kill());

  const connectorWith = (password: string) =>
    makeConnector({
      allow: loopbackOpen,
      tls: { ca: ca.cert },
      proxy: { protocol, hostname: '127.0.0.1', port, credentials: { ...credentials, password } },
    });

  test('opens a tunnel to the upstream for TLS', async () => {
    const socket = await connectTo(connectorWith(credentials.password), `https://127.0.0.1:${server.port}`);
    const answer = new Promise<string>((resolve) => {
      socket.once('data', (bytes: Buffer) => resolve(bytes.toString()));
    });
    socket.write('ping');
    expect(await answer).toBe('pong');
    socket.destroy();
    expect(await readFile(join(folder, `${protocol}.log`), 'utf8')).toContain(`127.0.0.1:${server.port}`);
  });

  test('refuses another password, which is reported', async () => {
    const error = await failureOf(connectTo(connectorWith('wrong'), `https://127.0.0.1:${server.port}`));
    expect(error.code).toBe('proxy_failed');
    expect(error.message).not.toContain('wrong');
  });

  test('cannot reach a missing upstream, which is reported', async () => {
    const nobody = await freePort();
    const error = await failureOf(
      connectTo(connectorWith(credentials.password), `https://127.0.0.1:${nobody}`),
    );
    expect(['proxy_failed', 'tls_failed']).toContain(error.code);
  });
});

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
