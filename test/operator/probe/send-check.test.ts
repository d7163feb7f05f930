// Does a check reach a real upstream, and only where the guard lets it?

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { ProviderEntry } from '../../../core/contract/routing-table.ts';
import { parseAddressRules } from '../../../core/egress/address-rules.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { sendCheck } from '../../../operator/probe/send-check.ts';
import { makeCertificate } from '../../core/egress/certificates.ts';
import { startConnectProxy } from '../../support/proxy.ts';
import { startTlsFront } from '../../support/tls-front.ts';
import { PLATFORM, provider, secret, snapshot } from '../make.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function entryOf(baseURL: string): ProviderEntry {
  const spec = { type: 'OpenAICompatible', baseURL, apis: ['ChatCompletions'] };
  const host = new URL(baseURL).host;
  const { table } = createCompiler()(
    snapshot({
      providers: [provider(spec)],
      secrets: [secret({ annotations: { 'penstock.dev/allowed-hosts': host } })],
      platform: { ...PLATFORM, egressAllow: [{ cidr: '127.0.0.0/8', namespaces: ['team-a'] }] },
    }),
    0,
  );
  const [entry] = table.providers;
  if (entry === undefined) throw new Error('the Provider is not in the table');
  return entry;
}

const rulesFor = (namespaces: string[]) => parseAddressRules([{ cidr: '127.0.0.0/8', namespaces }]);

function ask(
  base: string,
  { namespaces = ['team-a'], timeoutMs = 10_000, signal = new AbortController().signal } = {},
) {
  const call = { method: 'GET', url: `${base}/v1/models`, headers: { authorization: 'Bearer x' } } as const;
  return sendCheck(
    call,
    { entry: entryOf(`${base}/v1`), rules: rulesFor(namespaces), reveal: () => undefined },
    timeoutMs,
    signal,
  );
}

test('it sends the given request and returns the status', async () => {
  const seen: (string | undefined)[] = [];
  const base = await serve((request, response) => {
    seen.push(request.method, request.url, request.headers.authorization, request.headers.host);
    response.writeHead(418).end('a long story');
  });
  expect(await ask(base)).toEqual({ type: 'status', status: 418, body: 'a long story' });
  expect(seen).toEqual(['GET', '/v1/models', 'Bearer x', new URL(base).host]);
});

test.each([200, 302, 503])('of %i the body is not read', async (status) => {
  const base = await serve((_request, response) => response.writeHead(status).end('a long story'));
  expect(await ask(base)).toEqual({ type: 'status', status });
});

test('of an endless refusal only the start is read', async () => {
  const base = await serve((_request, response) => {
    response.writeHead(400);
    response.write('x'.repeat(1024 * 1024));
  });
  expect(await ask(base)).toEqual({ type: 'status', status: 400, body: 'x'.repeat(16 * 1024) });
});

test('a refusal that breaks off, or hangs, gives its status and the text so far', async () => {
  const broken = await serve((request, response) => {
    response
      .writeHead(400, { 'content-length': '99' })
      .write('the beginning', () => request.socket.destroy());
  });
  expect(await ask(broken)).toEqual({ type: 'status', status: 400, body: 'the beginning' });
  const half = await serve((_request, response) => void response.writeHead(401).write('the beginning'));
  expect(await ask(half, { timeoutMs: 200 })).toEqual({ type: 'status', status: 401, body: 'the beginning' });
});

test('an address that is closed to its namespace is not called', async () => {
  let asked = 0;
  const base = await serve((_request, response) => {
    asked += 1;
    response.end();
  });
  const answer = await ask(base, { namespaces: ['somebody-else'] });
  expect(answer).toMatchObject({ type: 'none', reason: expect.stringContaining('not allowed') });
  expect(asked).toBe(0);
});

test('silence ends at the timeout', async () => {
  const base = await serve(() => {});
  expect(await ask(base, { timeoutMs: 50 })).toEqual({
    type: 'none',
    reason: `GET ${base}/v1/models was not answered within 50 ms`,
  });
});

test('no server', async () => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  expect(await ask(`http://127.0.0.1:${port}`)).toMatchObject({ type: 'none' });
});

test('a connection that breaks', async () => {
  const base = await serve((request) => request.socket.destroy());
  expect(await ask(base)).toMatchObject({
    type: 'none',
    reason: expect.stringContaining('the connection broke'),
  });
});

test('a check uses the settings of its Provider: its authority, and its proxy with the password', async () => {
  const base = await serve((_, response) => response.writeHead(204).end());
  const ca = makeCertificate({ name: 'authority', isCa: true });
  const identity = makeCertificate({ name: 'models', ipv4: ['127.0.0.1'], issuer: ca });
  const front = await startTlsFront(Number(new URL(base).port), identity);
  onTestFinished(() => front.close());
  const proxy = await startConnectProxy({ credentials: { username: 'team', password: 'pass-w0rd' } });
  onTestFinished(() => proxy.close());
  const origin = `https://127.0.0.1:${front.port}`;
  const secrets: Record<string, string> = { user: 'team', pass: 'pass-w0rd' };
  const entry: ProviderEntry = {
    ...entryOf(`${origin}/v1`),
    tls: { ca: ca.cert },
    proxy: { protocol: 'http', hostname: '127.0.0.1', port: proxy.port, username: 'user', password: 'pass' },
  };
  const call = { method: 'GET', url: `${origin}/v1/models`, headers: {} } as const;
  const route = { entry, rules: rulesFor(['team-a']), reveal: (id: string) => secrets[id] };
  const signal = new AbortController().signal;
  expect(await sendCheck(call, route, 10_000, signal)).toEqual({ type: 'status', status: 204 });
  expect(proxy.asked).toEqual([`127.0.0.1:${front.port}`]);
  secrets.pass = 'other';
  expect(await sendCheck(call, route, 10_000, signal)).toMatchObject({
    type: 'none',
    reason: expect.stringContaining('the proxy: it rejects the credentials (407)'),
  });
});
