// TLS in front of a plain upstream of a test: it ends here and goes on as bytes. Its certificates can be changed while
// connections are open, as a server does that renews them.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createServer, type SecureContextOptions, type TlsOptions } from 'node:tls';

export interface TlsFront {
  readonly port: number;
  /** Serial numbers of the client certificates, connection by connection; empty where none was shown. */
  readonly clients: string[];
  /** From the next handshake on. Open connections stay as they are. */
  renew(options: SecureContextOptions): void;
  close(): Promise<void>;
}

export async function startTlsFront(upstreamPort: number, options: TlsOptions): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const clients: string[] = [];
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer(options, (socket) => {
    clients.push(socket.getPeerCertificate().serialNumber ?? '');
    const upstream = connect({ host: '127.0.0.1', port: upstreamPort });
    keep(socket);
    keep(upstream);
    socket.pipe(upstream).pipe(socket);
    upstream.once('close', () => socket.destroy());
    socket.once('close', () => upstream.destroy());
  });
  server.on('connection', keep);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    clients,
    renew: (next) => server.setSecureContext(next),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
