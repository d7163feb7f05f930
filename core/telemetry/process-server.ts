// What do Kubernetes and Prometheus ask every process? Liveness, readiness and metrics, on a separate port.

import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

interface ProcessParts {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  /** A fault that only a restart can fix, in words. Left out, or undefined: an answer alone proves that the event loop runs. */
  stuck?(): string | undefined;
  /** The missing precondition of service, in words; undefined: ready. */
  missing(): string | undefined | Promise<string | undefined>;
  /** Further pages, by their paths. */
  readonly pages?: Readonly<Record<string, (request: IncomingMessage) => ProcessPage>>;
}

interface ProcessPage {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/**
 * `/metrics`; `/livez`, also by its older name `/healthz`: 200 or 500; `/readyz`: 200 or 503. The body names the fault.
 * The caller starts to listen.
 */
export function buildProcessServer({ registry, stuck, missing, pages = {} }: ProcessParts): Server {
  const all: Readonly<Record<string, (request: IncomingMessage) => ProcessPage | Promise<ProcessPage>>> = {
    '/metrics': () =>
      registry.metrics().then(
        (text) => ({ status: 200, type: registry.contentType, body: text }),
        () => textPage(500, 'the metrics could not be read'),
      ),
    '/livez': () => state(500, stuck?.()),
    '/healthz': () => state(500, stuck?.()),
    '/readyz': async () => state(503, await missing()),
    ...pages,
  };
  const paths = Object.keys(all);
  const known = `only ${paths.slice(0, -1).join(', ')} and ${paths.at(-1)} are here`;
  return createServer(async (request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    const page = Object.hasOwn(all, path) ? all[path] : undefined;
    const { status, type, body } = page === undefined ? textPage(404, known) : await page(request);
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
    response.end(body);
  });
}

/** @returns its address. @throws where the port is taken. */
export function listenAt(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const bound = server.address() as AddressInfo;
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`);
    });
  });
}

/** Requests in flight are cut off. */
export function stopServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function state(badStatus: number, fault: string | undefined): ProcessPage {
  return fault === undefined ? textPage(200, 'ok') : textPage(badStatus, fault);
}

function textPage(status: number, text: string): ProcessPage {
  return { status, type: 'text/plain', body: `${text}\n` };
}

/** Linux has this file with IPv6 alone. */
const ipv6File = '/proc/net/if_inet6';

/** Where a server listens for callers from everywhere: `::` takes IPv4 too, and a kernel without IPv6 has none. */
export function anyAddress(platform: string = process.platform, hasFile = existsSync): string {
  return platform !== 'linux' || hasFile(ipv6File) ? '::' : '0.0.0.0';
}
