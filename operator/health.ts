// The port for Kubernetes, Prometheus and troubleshooting: health, metrics, and the table of each gateway. Health depends neither on
// leadership nor on the API server.

import type { Server } from 'node:http';
import type { Registry } from 'prom-client';
import { buildProcessServer } from '../core/telemetry/process-server.ts';
import { type DebugTable, renderDebugTable } from './debug-table.ts';

export interface HealthParts {
  readonly registry: Pick<Registry, 'metrics' | 'contentType'>;
  /** Whether everything that the operator watches has been read once. */
  isSynced(): boolean;
  /** How long the longest run of any queue has been running. */
  longestRunMs(): number;
  debugTable(): DebugTable;
}

/** A worker that takes longer hangs; the process is of no use until it is restarted. */
const runMsMax = 5 * 60_000;

export function buildHealthServer({ registry, isSynced, longestRunMs, debugTable }: HealthParts): Server {
  return buildProcessServer({
    registry,
    stuck() {
      const runMs = longestRunMs();
      return runMs <= runMsMax ? undefined : `a worker has been stuck for ${Math.round(runMs / 1000)} s`;
    },
    missing: () => (isSynced() ? undefined : 'the cluster has not been read yet'),
    pages: {
      '/debug/table': ({ url, headers }) => {
        switch (formatOf(url?.split('?')[1], headers.accept)) {
          case 'json':
            return {
              status: 200,
              type: 'application/json',
              body: `${JSON.stringify(debugTable(), undefined, 2)}\n`,
            };
          case 'text':
            return {
              status: 200,
              type: 'text/plain; charset=utf-8',
              body: renderDebugTable(debugTable()),
            };
          default:
            return { status: 400, type: 'text/plain', body: 'format is json or text\n' };
        }
      },
    },
  });
}

/** The query decides, else the Accept header; plain `curl` accepts anything, and gets JSON. */
function formatOf(query: string | undefined, accept: string | undefined): string {
  const asked = new URLSearchParams(query).get('format');
  if (asked !== null) return asked;
  return accept?.startsWith('text/') === true ? 'text' : 'json';
}
