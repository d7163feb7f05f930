// What do Kubernetes, Prometheus and people in trouble ask the operator? Health, metrics and what each gateway runs, on a port of
// their own. Health depends neither on who leads nor on whether the API server answers at this moment.

import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';
import { type DebugTable, renderDebugTable } from './debug-table.ts';

export interface HealthParts {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  /** Whether everything that the operator watches has been read once. */
  isSynced(): boolean;
  /** How long the longest run of any queue has been under way. */
  longestRunMs(): number;
  debugTable(): DebugTable;
}

/** A worker that takes longer hangs; the process is of no use until it is restarted. */
const runMsMax = 5 * 60_000;

export function buildHealthServer({ registry, isSynced, longestRunMs, debugTable }: HealthParts): Server {
  return createServer((request, response) => {
    const respond = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(body);
    };
    const [path, query] = (request.url ?? '').split('?');
    switch (path) {
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
      case '/debug/table':
        switch (formatOf(query, request.headers.accept)) {
          case 'json':
            respond(200, 'application/json', `${JSON.stringify(debugTable(), undefined, 2)}\n`);
            return;
          case 'text':
            respond(200, 'text/plain; charset=utf-8', renderDebugTable(debugTable()));
            return;
          default:
            respond(400, 'text/plain', 'format is json or text\n');
        }
        return;
      default:
        respond(404, 'text/plain', 'only /metrics, /healthz, /readyz and /debug/table are here\n');
    }
  });
}

/** As the query says, else as the head says; `curl` alone asks for anything, and gets data. */
function formatOf(query: string | undefined, accept: string | undefined): string {
  const asked = new URLSearchParams(query).get('format');
  if (asked !== null) return asked;
  return accept?.startsWith('text/') === true ? 'text' : 'json';
}
