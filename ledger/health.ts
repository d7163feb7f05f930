// What do Kubernetes and Prometheus ask the ledger? Health and metrics, on a port of their own.

import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

export interface HealthParts {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  /** Which gateway pods there are was read once. */
  isSynced(): boolean;
  /** Rejects where the store does not answer. */
  askStore(): Promise<unknown>;
}

export function buildHealthServer({ registry, isSynced, askStore }: HealthParts): Server {
  return createServer((request, response) => {
    const respond = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(body);
    };
    switch (request.url?.split('?')[0]) {
      case '/metrics':
        registry.metrics().then(
          (text) => respond(200, registry.contentType, text),
          () => respond(500, 'text/plain', 'the metrics could not be read\n'),
        );
        return;
      case '/healthz':
        // That there is an answer says that the event loop is alive. A database that is away is not mended by a restart.
        respond(200, 'text/plain', 'ok\n');
        return;
      case '/readyz':
        if (!isSynced()) {
          respond(503, 'text/plain', 'the cluster has not been read yet\n');
          return;
        }
        askStore().then(
          () => respond(200, 'text/plain', 'ok\n'),
          () => respond(503, 'text/plain', 'the store does not answer\n'),
        );
        return;
      default:
        respond(404, 'text/plain', 'only /metrics, /healthz and /readyz are here\n');
    }
  });
}
