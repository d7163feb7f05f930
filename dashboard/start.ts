// A whole dashboard out of its parts: it listens, until it is closed.

import type { AddressInfo } from 'node:net';
import type { ServerParts } from './door.ts';
import { buildServer } from './server.ts';

export interface RunningDashboard {
  readonly url: string;
  /** Streams of pages are ended; they reconnect, to the next process. */
  close(): Promise<void>;
}

/** @throws where its port is taken, or no pages were built. */
export async function startDashboard(parts: ServerParts): Promise<RunningDashboard> {
  const { host, port } = parts.settings;
  const app = await buildServer(parts);
  await app.listen({ host, port });
  const bound = app.server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    async close() {
      const closed = app.close();
      app.server.closeAllConnections();
      await closed;
    },
  };
}
