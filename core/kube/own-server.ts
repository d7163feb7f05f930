// How does one of our processes answer the others over TLS? Beside plain HTTP, on a port of its own, with a certificate that comes
// later and is renewed while it serves.

import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { serverPatience } from './server-patience.ts';

export interface TlsServer {
  readonly server: Server;
  /** From the next connection on. Before the first, handshakes fail. */
  show(pair: { readonly certificate: string; readonly key: string }): void;
}

/** @param patienceMs In which a request is to have come, its body too. */
export function buildTlsServer(listener: RequestListener, patienceMs: number): TlsServer {
  const server = createServer({ ...serverPatience(patienceMs), minVersion: 'TLSv1.3' }, listener);
  return {
    server,
    show: ({ certificate, key }) =>
      server.setSecureContext({ cert: certificate, key, minVersion: 'TLSv1.3' }),
  };
}
