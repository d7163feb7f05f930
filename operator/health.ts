// What do Kubernetes and Prometheus ask the operator? Health and metrics, on a port of their own. Neither
// answer depends on who leads, nor on whether the API server answers at this moment.

import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

export interface HealthParts {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  /** Whether everything that the operator watches has been read once. */
  isSynced(): boolean;
  /** How long the longest run of any queue has been under way. */
  longestRunMs(): number;
}

/** A worker that takes longer hangs; the process is of no use until it is restarted. */
const runMsMax = 5 * 60_000;

export function buildHealthServer({ registry, isSynced, longestRunMs }: HealthParts): Server {
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
      case '/healthz': {
        // That there is an answer says that the event loop is alive.
        const runMs = longestRunMs();
        if (runMs <= runMsMax) respond(200, 'text/plain', 'ok\n');
        else respond(500, 'text/plain', `a worker has been stuck for ${Math.round(runMs / 1000)} s\n`);
        return;
      }
      case '/readyz':
        if (isSynced()) respond(200, 'text/plain', 'ok\n');
        else respond(503, 'text/plain', 'the cluster has not been read yet\n');
        return;
      default:
        respond(404, 'text/plain', 'only /metrics, /healthz and /readyz are here\n');
    }
  });
}
