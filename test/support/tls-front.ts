// TLS in front of a plain upstream of a test: it ends here and goes on as bytes. Its certificates can be changed while
// connections are open, as a server does that renews them.

import { connect } from 'node:net';
import { createServer, type SecureContextOptions, type TlsOptions } from 'node:tls';
import { listenKept } from './listen-kept.ts';

export interface TlsFront {
  readonly port: number;
  /** Serial numbers of the client certificates, connection by connection; empty where none was shown. */
  readonly clients: string[];
  /** From the next handshake on. Open connections stay as they are. */
  renew(options: SecureContextOptions): void;
  close(): Promise<void>;
}

export async function startTlsFront(upstreamPort: number, options: TlsOptions): Promise<TlsFront> {
  const clients: string[] = [];
  const server = createServer(options, (socket) => {
    clients.push(socket.getPeerCertificate().serialNumber ?? '');
    const upstream = connect({ host: '127.0.0.1', port: upstreamPort });
    kept.keep(socket);
    kept.keep(upstream);
    socket.pipe(upstream).pipe(socket);
    upstream.once('close', () => socket.destroy());
    socket.once('close', () => upstream.destroy());
  });
  const kept = await listenKept(server);
  return {
    port: kept.port,
    clients,
    renew: (next) => server.setSecureContext(next),
    close: kept.close,
  };
}
