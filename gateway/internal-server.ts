// What do Kubernetes and Prometheus ask a gateway? Health and metrics, on a port of their own.

import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

export interface InternalParts {
  readonly registry: Registry;
  /** False until one whole table has been loaded, and with budgets for a while until it is known what was spent; and again while draining. */
  isReady(): boolean;
}

export function buildInternalServer({ registry, isReady }: InternalParts): Server {
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
        respond(200, 'text/plain', 'ok\n');
        return;
      case '/readyz':
        if (isReady()) respond(200, 'text/plain', 'ok\n');
        else respond(503, 'text/plain', 'no routing table yet, or not heard what was spent, or draining\n');
        return;
      default:
        respond(404, 'text/plain', 'only /metrics, /healthz and /readyz are here\n');
    }
  });
}
