// TLS with real certificates and real handshakes. A bad certificate must end in tls_failed, and the server must not have
// received one byte of HTTP.

import { once } from 'node:events';
import { TLSSocket } from 'node:tls';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import type { GuardedConnectorOptions } from '../../../core/egress/connect.ts';
import { badCertificates } from './bad-certificates.ts';
import { makeCertificate } from './certificates.ts';
import { connectTo, failureOf, loopbackOpen, makeConnector } from './connect-to.ts';
import { type Listening, listenTcp, listenTls } from './listen.ts';

const ca = makeCertificate({ name: 'test authority', isCa: true });
const otherCa = makeCertificate({ name: 'other authority', isCa: true });
const good = makeCertificate({
  name: 'api.example',
  dnsNames: ['api.example'],
  ipv4: ['127.0.0.1'],
  issuer: ca,
});

const past = (days: number) => new Date(Date.now() - days * 86_400_000);
const servers: Listening[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(...options: Parameters<typeof listenTls>): Promise<Listening> {
  const server = await listenTls(...options);
  servers.push(server);
  return server;
}

function makeTlsConnector(options: Partial<GuardedConnectorOptions> = {}) {
  return makeConnector({
    allow: loopbackOpen,
    resolve: async () => ['127.0.0.1'],
    tls: { ca: ca.cert },
    ...options,
  });
}

async function connectSecurely(
  connector: ReturnType<typeof makeTlsConnector>,
  origin: string,
): Promise<TLSSocket> {
  const socket = await connectTo(connector, origin);
  if (socket instanceof TLSSocket) return socket;
  throw new Error('not a TLS socket');
}

describe('a certificate that does not prove the name', () => {
  test.each(badCertificates(ca))(
    '$what: tls_failed and not a byte of HTTP',
    async ({ certificate, systemCode, sentence }) => {
      const { cert, key } = makeCertificate(certificate);
      const server = await serve({ cert, key });
      const agent = new Agent({ connect: makeTlsConnector() });
      const failure = await request(`https://api.example:${server.port}/`, { dispatcher: agent }).catch(
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ name: 'EgressError', code: 'tls_failed', cause: { code: systemCode } });
      expect(String(failure)).toMatch(sentence);
      expect(String(failure)).toContain(`api.example:${server.port}`);
      await agent.close();
      expect(server.connections).toBe(1);
      expect(server.receivedBytes).toBe(0);
    },
  );

  test('an address that the certificate does not name: tls_failed', async () => {
    const { cert, key } = makeCertificate({ name: 'api.example', dnsNames: ['api.example'], issuer: ca });
    const server = await serve({ cert, key });
    const error = await failureOf(connectTo(makeTlsConnector(), `https://127.0.0.1:${server.port}`));
    expect(error).toMatchObject({ code: 'tls_failed', cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
    expect(server.receivedBytes).toBe(0);
  });

  test('an environment that switches verification off changes nothing', async () => {
    const { cert, key } = makeCertificate({ name: 'api.example', dnsNames: ['api.example'] });
    const server = await serve({ cert, key });
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      const error = await failureOf(connectTo(makeTlsConnector(), `https://api.example:${server.port}`));
      expect(error.code).toBe('tls_failed');
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });
});

describe('a handshake that does not complete', () => {
  test('a server that is silent: connect_timeout', async () => {
    const server = await listenTcp();
    servers.push(server);
    const connector = makeTlsConnector({ connectTimeoutMs: 100 });
    const error = await failureOf(connectTo(connector, `https://api.example:${server.port}`));
    expect(error.code).toBe('connect_timeout');
    expect(error.message).toContain('TLS handshake');
    expect(server.connections).toBe(1);
  });

  test('a server that answers in plain text: tls_failed, and no second try without TLS', async () => {
    const server = await listenTcp('127.0.0.1', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    servers.push(server);
    const error = await failureOf(connectTo(makeTlsConnector(), `https://api.example:${server.port}`));
    expect(error.code).toBe('tls_failed');
    expect(server.connections).toBe(1);
  });

  test('a server that hangs up in the handshake: tls_failed', async () => {
    const server = await listenTcp('127.0.0.1', (socket) => socket.destroy());
    servers.push(server);
    const error = await failureOf(connectTo(makeTlsConnector(), `https://api.example:${server.port}`));
    expect(error.code).toBe('tls_failed');
  });

  test('a server that speaks only HTTP/2: tls_failed', async () => {
    const server = await serve({ cert: good.cert, key: good.key, ALPNProtocols: ['h2'] });
    const error = await failureOf(connectTo(makeTlsConnector(), `https://api.example:${server.port}`));
    expect(error.code).toBe('tls_failed');
    expect(server.receivedBytes).toBe(0);
  });

  test('a bad certificate is not tried again at the next address', async () => {
    const { cert, key } = makeCertificate({ name: 'other.example', dnsNames: ['other.example'], issuer: ca });
    const server = await serve({ cert, key });
    const connector = makeTlsConnector({ resolve: async () => ['127.0.0.1', '127.0.0.1'] });
    expect((await failureOf(connectTo(connector, `https://api.example:${server.port}`))).code).toBe(
      'tls_failed',
    );
    expect(server.connections).toBe(1);
  });
});

describe('a verified connection', () => {
  test('asks for the name by SNI, takes HTTP/1.1 where HTTP/2 is offered too, and carries a request', async () => {
    const server = await serve(
      { cert: good.cert, key: good.key, ALPNProtocols: ['h2', 'http/1.1'] },
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'),
    );
    const agent = new Agent({ connect: makeTlsConnector() });
    const answer = await request(`https://API.example.:${server.port}/`, { dispatcher: agent });
    expect(await answer.body.text()).toBe('ok');
    await agent.close();
    expect(server.handshakes).toEqual([{ servername: 'api.example', protocol: 'http/1.1' }]);
  });

  test('a Host header of the request does not select the certificate', async () => {
    const server = await serve({ cert: good.cert, key: good.key }, (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'),
    );
    const agent = new Agent({ connect: makeTlsConnector() });
    const url = `https://api.example:${server.port}/`;
    const answer = await request(url, { dispatcher: agent, headers: { host: 'other.example' } });
    await answer.body.dump();
    await agent.close();
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['api.example']);
  });

  test('to an address sends no SNI and checks the address', async () => {
    const server = await serve({ cert: good.cert, key: good.key }, (socket) => socket.write('pong'));
    const socket = await connectSecurely(makeTlsConnector(), `https://127.1:${server.port}`);
    expect(socket.authorized).toBe(true);
    await ping(socket);
    expect(server.handshakes).toMatchObject([{ servername: false }]);
  });

  test('sends its client certificate', async () => {
    const client = makeCertificate({ name: 'penstock', issuer: ca });
    const mutual = { ca: ca.cert, requestCert: true, rejectUnauthorized: true };
    const server = await serve({ cert: good.cert, key: good.key, ...mutual }, (socket) =>
      socket.write('pong'),
    );
    const tls = { ca: [otherCa.cert, ca.cert], cert: client.cert, key: client.key };
    await ping(await connectSecurely(makeTlsConnector({ tls }), `https://api.example:${server.port}`));
    expect(server.handshakes).toHaveLength(1);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('resumes its session the next time (%s)', async (version) => {
    const server = await serve({ cert: good.cert, key: good.key, maxVersion: version });
    const connector = makeTlsConnector();
    const origin = `https://api.example:${server.port}`;
    const first = await connectSecurely(connector, origin);
    expect(first.isSessionReused()).toBe(false);
    // TLS 1.3 sends its ticket after the handshake, TLS 1.2 within it.
    if (version === 'TLSv1.3') await once(first, 'session');
    first.destroy();
    const second = await connectSecurely(connector, origin);
    expect(second.isSessionReused()).toBe(true);
    second.destroy();
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a session from a refused handshake is not resumed, for resuming skips the name check (%s)',
    async (version) => {
      const { cert, key } = makeCertificate({
        name: 'other.example',
        dnsNames: ['other.example'],
        issuer: ca,
      });
      const server = await serve({ cert, key, maxVersion: version });
      const connector = makeTlsConnector();
      const origin = `https://api.example:${server.port}`;
      for (let round = 0; round < 3; round += 1) {
        expect((await failureOf(connectTo(connector, origin))).code).toBe('tls_failed');
      }
      expect(server.receivedBytes).toBe(0);
    },
  );

  test('a session of one name is not resumed for another name', async () => {
    const server = await serve({ cert: good.cert, key: good.key });
    const connector = makeTlsConnector();
    const first = await connectSecurely(connector, `https://api.example:${server.port}`);
    await once(first, 'session');
    first.destroy();
    const error = await failureOf(connectTo(connector, `https://wrong.example:${server.port}`));
    expect(error).toMatchObject({ code: 'tls_failed', cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
  });
});

describe('TLS settings of a Provider', () => {
  const otherName = makeCertificate({ name: 'other.example', dnsNames: ['other.example'], issuer: ca });

  test('a configured server name is sent and checked, instead of the host', async () => {
    const server = await serve({ cert: otherName.cert, key: otherName.key }, (socket) =>
      socket.write('pong'),
    );
    const tls = { ca: ca.cert, serverName: 'other.example' };
    for (const host of ['api.example', '127.0.0.1']) {
      await ping(await connectSecurely(makeTlsConnector({ tls }), `https://${host}:${server.port}`));
    }
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['other.example', 'other.example']);
    const forHost = await serve({ cert: good.cert, key: good.key });
    const error = await failureOf(
      connectTo(makeTlsConnector({ tls }), `https://api.example:${forHost.port}`),
    );
    expect(error).toMatchObject({ code: 'tls_failed', cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
  });

  test('TLS 1.3 as the oldest version: a TLS 1.2 server is refused, a TLS 1.3 server is not', async () => {
    const tls = { ca: ca.cert, minVersion: 'TLSv1.3' } as const;
    const old = await serve({ cert: good.cert, key: good.key, maxVersion: 'TLSv1.2' });
    const error = await failureOf(connectTo(makeTlsConnector({ tls }), `https://api.example:${old.port}`));
    expect([error.code, error.message]).toEqual(['tls_failed', expect.stringContaining('no TLS version')]);
    const now = await serve({ cert: good.cert, key: good.key });
    const socket = await connectSecurely(makeTlsConnector({ tls }), `https://api.example:${now.port}`);
    expect(socket.getProtocol()).toBe('TLSv1.3');
    socket.destroy();
  });

  test('without a client certificate, a server that requires one is not reached', async () => {
    const mutual = {
      ca: ca.cert,
      requestCert: true,
      rejectUnauthorized: true,
      maxVersion: 'TLSv1.2',
    } as const;
    const server = await serve({ cert: good.cert, key: good.key, ...mutual });
    const error = await failureOf(connectTo(makeTlsConnector(), `https://api.example:${server.port}`));
    expect(error.code).toBe('tls_failed');
  });

  test.each([
    ['self-signed', makeCertificate({ name: 'x.example' })],
    ['for another name', otherName],
    ['expired', makeCertificate({ name: 'api.example', issuer: ca, notBefore: past(9), notAfter: past(2) })],
  ])('without verification, a certificate that is %s is accepted', async (_what, { cert, key }) => {
    const server = await serve({ cert, key }, (socket) => socket.write('pong'));
    const tls = { insecureSkipVerify: true } as const;
    await ping(await connectSecurely(makeTlsConnector({ tls }), `https://api.example:${server.port}`));
    // Of that, nothing is left for those who verify.
    const error = await failureOf(connectTo(makeTlsConnector(), `https://api.example:${server.port}`));
    expect(error.code).toBe('tls_failed');
  });
});

/** One byte there and an answer back: only then is the handshake known to have ended on both sides. */
async function ping(socket: TLSSocket): Promise<void> {
  socket.write('p');
  await once(socket, 'data');
  socket.destroy();
}
