// A real server for connection tests: counts who came and which bytes arrived, and closes with everything it holds.

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls';

export interface Listening {
  readonly port: number;
  /** TCP connections so far. */
  connections: number;
  /** Bytes of application data so far: after TLS, if there is any. */
  receivedBytes: number;
  /** Server name and protocol of every TLS handshake that ended. */
  readonly handshakes: { servername: unknown; protocol: string | false | null }[];
  close(): Promise<void>;
}

/** Answers nothing, ends nothing. */
export function listenTcp(host = '127.0.0.1', answer?: (socket: Socket) => void): Promise<Listening> {
  return listen(createServer(), 'connection', host, answer);
}

export function listenTls(options: TlsOptions, answer?: (socket: TLSSocket) => void): Promise<Listening> {
  return listen(createTlsServer(options), 'secureConnection', '127.0.0.1', answer);
}

async function listen<S extends Socket>(
  server: Server,
  ready: 'connection' | 'secureConnection',
  host: string,
  answer: ((socket: S) => void) | undefined,
): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  const listening: Listening = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: 0,
    receivedBytes: 0,
    handshakes: [],
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('connection', (socket: Socket) => {
    listening.connections += 1;
    sockets.add(socket);
    // A client that hangs up in the middle is what many of these tests are about.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  server.on(ready, (socket: S) => {
    if (socket instanceof TLSSocket) {
      // On the server's side the name the client asked for; @types/node does not know it there.
      const servername = 'servername' in socket ? socket.servername : null;
      listening.handshakes.push({ servername, protocol: socket.alpnProtocol });
    }
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      listening.receivedBytes += bytes.length;
      answer?.(socket);
    });
  });
  return listening;
}
