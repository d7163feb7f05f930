// Connections through proxies: judged on both ends, TLS from end to end, and no word that betrays a credential.

import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import type { GuardedConnectorOptions, ProxyRoute } from '../../../core/egress/connect.ts';
import { dialByTcp } from '../../../core/egress/dial.ts';
import {
  type ProxyOptions,
  startConnectProxy,
  startSocksProxy,
  type TestProxy,
} from '../../support/proxy.ts';
import { makeCertificate } from './certificates.ts';
import { connectTo, failureOf, makeConnector } from './connect-to.ts';
import { type Listening, listenTcp, listenTls } from './listen.ts';

const ca = makeCertificate({ name: 'test authority', isCa: true });
const upstreamCertificate = makeCertificate({ name: 'api.example', dnsNames: ['api.example'], issuer: ca });
const proxyCertificate = makeCertificate({ name: 'proxy.example', dnsNames: ['proxy.example'], issuer: ca });
const credentials = { username: 'team-a', password: 'pass-w0rd' };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
async function opened<T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const one = await starting;
  open.push(one);
  return one;
}

/** The proxy's own address is opened to the namespace; upstreams have public ones. */
const proxyRange = [{ cidr: '127.0.0.0/8', namespaces: ['team-a'] }];
const publicAddress = '93.184.216.34';
const addresses: Readonly<Record<string, readonly string[]>> = {
  'api.example': [publicAddress],
  'proxy.example': ['127.0.0.1'],
  'rebound.example': ['10.0.0.7'],
  'kubernetes.default.svc': ['10.96.0.1'],
  vault: ['93.184.216.36'],
  'mixed.example': [publicAddress, '169.254.169.254'],
};

function makeProxied(
  proxy: ProxyRoute,
  more: Partial<GuardedConnectorOptions> & { allow?: typeof proxyRange } = {},
) {
  return makeConnector({
    allow: proxyRange,
    tls: { ca: ca.cert },
    proxy,
    resolve: async (name) => {
      const known = addresses[name];
      if (known === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
      return known;
    },
    ...more,
  });
}

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const serveTls = () =>
  opened(
    listenTls({ cert: upstreamCertificate.cert, key: upstreamCertificate.key }, (socket) => socket.write(ok)),
  );
const serveTcp = () => opened(listenTcp('127.0.0.1', (socket) => socket.write(ok)));

async function ask(connector: ReturnType<typeof makeProxied>, origin: string) {
  const agent = new Agent({ connect: connector });
  try {
    const { statusCode, body } = await request(`${origin}/v1`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-secret' },
      body: 'words of a prompt',
      dispatcher: agent,
    });
    return [statusCode, await body.text()];
  } finally {
    await agent.destroy();
  }
}

type Start = (options?: ProxyOptions) => Promise<TestProxy>;
const kinds: [ProxyRoute['protocol'], Start][] = [
  ['http', startConnectProxy],
  ['https', (options) => startConnectProxy({ ...options, tls: proxyCertificate })],
  ['socks5', startSocksProxy],
];

describe.each(kinds)('over an %s proxy', (protocol, start) => {
  const begin = (options?: ProxyOptions) => opened(start(options));
  const routeTo = ({ port }: TestProxy, more: Partial<ProxyRoute> = {}): ProxyRoute => ({
    protocol,
    hostname: 'proxy.example',
    port,
    tls: { ca: ca.cert },
    ...more,
  });

  test('an https upstream is reached by its name, and the proxy sees nothing but TLS', async () => {
    const server = await serveTls();
    const proxy = await begin();
    const connector = makeProxied(routeTo(proxy));
    expect(await ask(connector, `https://api.example:${server.port}`)).toEqual([200, 'ok']);
    expect(proxy.asked).toEqual([`api.example:${server.port}`]);
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['api.example']);
    const seen = Buffer.concat(proxy.sent).toString('latin1');
    expect(seen.length).toBeGreaterThan(100);
    for (const secret of ['sk-secret', 'words of a prompt']) expect(seen).not.toContain(secret);
  });

  test('an http upstream is tunnelled too', async () => {
    const server = await serveTcp();
    const proxy = await begin();
    expect(await ask(makeProxied(routeTo(proxy)), `http://api.example:${server.port}`)).toEqual([200, 'ok']);
    expect(proxy.asked).toEqual([`api.example:${server.port}`]);
  });

  test('credentials are sent, and wrong ones are reported without their text', async () => {
    const server = await serveTls();
    const proxy = await begin({ credentials });
    expect(
      await ask(makeProxied(routeTo(proxy, { credentials })), `https://api.example:${server.port}`),
    ).toEqual([200, 'ok']);
    const wrong = makeProxied(routeTo(proxy, { credentials: { ...credentials, password: 'other-w0rd' } }));
    const error = await failureOf(connectTo(wrong, `https://api.example:${server.port}`));
    expect(error.code).toBe('proxy_failed');
    expect(error.message).toContain(`api.example:${server.port} through proxy proxy.example:${proxy.port}`);
    expect(error.message).toMatch(/rejects the credentials/);
    expect(proxy.signedIn).toEqual(['team-a:pass-w0rd', 'team-a:other-w0rd']);
    expect(`${error.message} ${error.stack}`).not.toMatch(/w0rd|d29yZ|dzByZ/);
    expect(server.connections).toBe(1);
  });

  test('a proxy that opens no tunnel: proxy_failed', async () => {
    const proxy = await begin({ route: () => undefined });
    const error = await failureOf(connectTo(makeProxied(routeTo(proxy)), 'https://api.example'));
    expect(error.code).toBe('proxy_failed');
    expect(error.message).toMatch(/allow it at the proxy/);
  });

  test('a certificate for another name ends the connection: a proxy cannot redirect it', async () => {
    const other = makeCertificate({ name: 'other.example', dnsNames: ['other.example'], issuer: ca });
    const server = await opened(listenTls({ cert: other.cert, key: other.key }));
    const proxy = await begin({ route: () => server.port });
    const error = await failureOf(connectTo(makeProxied(routeTo(proxy)), 'https://api.example'));
    expect(error).toMatchObject({ code: 'tls_failed', cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
    expect(server.receivedBytes).toBe(0);
  });

  test.each([
    ['https://10.0.0.7', 'private'],
    ['https://127.0.0.3', 'loopback'],
    ['http://169.254.169.254', 'metadata'],
    ['http://0xa9fea9fe', 'metadata'],
    ['https://[::ffff:10.0.0.7]', 'embedded-ipv4'],
    ['https://rebound.example', 'private'],
    ['https://mixed.example', 'metadata'],
    ['https://kubernetes.default.svc', 'private'],
    ['https://vault', 'internal-name'],
  ])('%s is checked before the proxy gets its name', async (origin, reason) => {
    const proxy = await begin();
    // Opened for the proxy alone, not for what lies behind it.
    const allow = [{ cidr: '127.0.0.1/32', namespaces: ['team-a'] }];
    const error = await failureOf(connectTo(makeProxied(routeTo(proxy), { allow }), origin));
    expect([error.code, error.reason]).toEqual(['egress_denied', reason]);
    expect(proxy.asked).toEqual([]);
  });

  test("the proxy's own address is checked: without an opened range it is not dialled", async () => {
    const proxy = await begin();
    const connector = makeProxied(routeTo(proxy), { allow: [] });
    const error = await failureOf(connectTo(connector, 'https://api.example'));
    expect([error.code, error.reason]).toEqual(['egress_denied', 'loopback']);
    expect(error.message).toContain('through proxy');
    expect(proxy.asked).toEqual([]);
  });

  test('a name that only the proxy knows is sent there if the platform has opened the proxy', async () => {
    const server = await serveTls();
    const proxy = await begin({ route: () => server.port });
    const resolve = async (name: string) => {
      if (name === 'proxy.example') return ['127.0.0.1'];
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    };
    const socket = await connectTo(makeProxied(routeTo(proxy), { resolve }), 'https://api.example');
    socket.destroy();
    expect(proxy.asked).toEqual(['api.example:443']);
    const internal = await failureOf(
      connectTo(makeProxied(routeTo(proxy), { resolve }), 'https://vault.platform.svc'),
    );
    expect(internal.code).toBe('dns_failed');
    expect(proxy.asked).toHaveLength(1);
  });
});

test('a name that cannot be resolved here is not sent to a public proxy', async () => {
  const proxyAddress = '93.184.216.35';
  const dialled: Socket[] = [];
  const connector = makeProxied(
    { protocol: 'http', hostname: proxyAddress, port: 3128 },
    {
      allow: [],
      dial: () => {
        const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: proxyAddress });
        dialled.push(socket);
        process.nextTick(() => socket.emit('connect'));
        return socket;
      },
    },
  );
  const error = await failureOf(connectTo(connector, 'https://unknown.example'));
  expect([error.code, error.message]).toEqual(['dns_failed', expect.stringContaining('unknown.example:443')]);
  expect(dialled.map(({ destroyed, bytesWritten }) => [destroyed, bytesWritten])).toEqual([[true, 0]]);
});

test('a name that was resolved here before is sent to a public proxy also while the resolver is silent', async () => {
  const server = await serveTls();
  const real = await opened(startConnectProxy({ route: () => server.port }));
  const proxyAddress = '93.184.216.35';
  let isSilent = false;
  const connector = makeProxied(
    { protocol: 'http', hostname: proxyAddress, port: 3128 },
    {
      allow: [],
      connectTimeoutMs: 1_200,
      resolve: () => (isSilent ? new Promise(() => {}) : Promise.resolve([publicAddress])),
      dial: (options) =>
        Object.defineProperty(
          dialByTcp({ ...options, host: '127.0.0.1', port: real.port }),
          'remoteAddress',
          { value: proxyAddress },
        ),
    },
  );
  for (const answers of [true, false]) {
    isSilent = !answers;
    (await connectTo(connector, 'https://api.example')).destroy();
  }
  expect(real.asked).toEqual(['api.example:443', 'api.example:443']);
});

describe('a proxy that misbehaves', () => {
  const proxied = ({ port }: Listening, more: Partial<GuardedConnectorOptions> = {}) =>
    makeProxied({ protocol: 'http', hostname: '127.0.0.1', port }, more);

  test('and is silent: connect_timeout at the common deadline', async () => {
    const silent = await opened(listenTcp());
    const error = await failureOf(
      connectTo(proxied(silent, { connectTimeoutMs: 150 }), 'https://api.example'),
    );
    expect([error.code, error.message]).toEqual([
      'connect_timeout',
      expect.stringContaining('did not open the tunnel in time'),
    ]);
  });

  test('and hangs up: proxy_failed', async () => {
    const rude = await opened(listenTcp('127.0.0.1', (socket) => socket.destroy()));
    const error = await failureOf(connectTo(proxied(rude), 'https://api.example'));
    expect([error.code, error.message]).toEqual(['proxy_failed', expect.stringContaining('closed')]);
  });

  test('and sends bytes before the request to a plain upstream: none of them is read', async () => {
    const liar = await opened(
      listenTcp('127.0.0.1', (socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${ok}`)),
    );
    const error = await failureOf(connectTo(proxied(liar), 'http://api.example'));
    expect([error.code, error.message]).toEqual([
      'proxy_failed',
      expect.stringContaining('before anything was asked'),
    ]);
  });

  test('a certificate of an https proxy that is not trusted: tls_failed, and no credential is sent', async () => {
    const fake = makeCertificate({ name: 'proxy.example', dnsNames: ['proxy.example'] });
    const proxy = await opened(startConnectProxy({ tls: fake }));
    const connector = makeProxied({
      protocol: 'https',
      hostname: 'proxy.example',
      port: proxy.port,
      credentials,
    });
    const error = await failureOf(connectTo(connector, 'https://api.example'));
    expect(error.code).toBe('tls_failed');
    expect(proxy.signedIn).toEqual([]);
  });
});

test('the authority in spec.tls is trusted for the upstream and not for the proxy', async () => {
  const proxy = await opened(startConnectProxy({ tls: proxyCertificate }));
  const connector = makeProxied({ protocol: 'https', hostname: 'proxy.example', port: proxy.port });
  expect((await failureOf(connectTo(connector, 'https://api.example'))).code).toBe('tls_failed');
});

test('a large answer arrives whole through a tunnel in a tunnel', async () => {
  const size = 3_000_000;
  const server = await opened(
    listenTls({ cert: upstreamCertificate.cert, key: upstreamCertificate.key }, (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n${'x'.repeat(size)}`),
    ),
  );
  const proxy = await opened(startConnectProxy({ tls: proxyCertificate }));
  const connector = makeProxied({
    protocol: 'https',
    hostname: 'proxy.example',
    port: proxy.port,
    tls: { ca: ca.cert },
  });
  const [status, text] = await ask(connector, `https://api.example:${server.port}`);
  expect([status, String(text).length]).toEqual([200, size]);
  const socket = await connectTo(connector, `https://api.example:${server.port}`);
  expect(socket).toBeInstanceOf(TLSSocket);
  socket.destroy();
});
