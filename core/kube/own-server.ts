// How does one of our processes answer the others over TLS? On a separate port beside plain HTTP, with a certificate that may arrive
// after the start and is renewed while the process serves.

import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { serverPatience } from './server-patience.ts';

/** In PEM. */
interface Shown {
  readonly certificate: string;
  readonly key: string;
}

export interface TlsServer {
  readonly server: Server;
  /** From the next connection on. Gives what the pair is to this server; one that is shown already changes nothing. */
  show(pair: Shown): 'first' | 'renewed' | 'same';
  /** Before the first, handshakes fail. */
  hasCertificate(): boolean;
}

/** @param patienceMs In which a request is to have come, its body too. */
export function buildTlsServer(listener: RequestListener, patienceMs: number): TlsServer {
  const server = createServer({ ...serverPatience(patienceMs), minVersion: 'TLSv1.3' }, listener);
  let shown: Shown | undefined;
  return {
    server,
    show({ certificate, key }) {
      if (certificate === shown?.certificate && key === shown.key) return 'same';
      server.setSecureContext({ cert: certificate, key, minVersion: 'TLSv1.3' });
      const isFirst = shown === undefined;
      shown = { certificate, key };
      return isFirst ? 'first' : 'renewed';
    },
    hasCertificate: () => shown !== undefined,
  };
}
