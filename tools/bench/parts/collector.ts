// Which process receives the gateways' OTLP, and scrapes them? The runner, which is idle during a load.

import { createServer } from 'node:http';
import { get } from '../get.ts';
import { collectEveryMs } from './parts.ts';

export type Collector = {
  /** Base of the addresses to send to; each gateway has its own. */
  urlFor(name: string): string;
  /** Exports taken so far. */
  taken(name: string, signal: 'metrics' | 'traces'): number;
  /** From now on, until the end. */
  scrape(metricsPort: number): void;
  close(): void;
};

export async function startCollector(): Promise<Collector> {
  const counts = new Map<string, number>();
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? '';
    incoming.resume();
    incoming.once('end', () => {
      counts.set(path, (counts.get(path) ?? 0) + 1);
      // An empty message: all of it was taken.
      response.setHeader('content-type', 'application/x-protobuf').end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const pathOf = (name: string) => `/${encodeURIComponent(name)}`;
  const timers: NodeJS.Timeout[] = [];
  return {
    urlFor: (name) => `http://127.0.0.1:${port}${pathOf(name)}`,
    taken: (name, signal) => counts.get(`${pathOf(name)}/v1/${signal}`) ?? 0,
    scrape(metricsPort) {
      // A gateway that cannot be scraped has ended; its load reports that better.
      timers.push(setInterval(() => void readMetrics(metricsPort).catch(() => undefined), collectEveryMs));
    },
    close() {
      for (const timer of timers) clearInterval(timer);
      server.closeAllConnections();
      server.close();
    },
  };
}

export function readMetrics(port: number): Promise<string> {
  return get(port, '/metrics');
}
