// A real server for connection tests: counts who came and which bytes arrived, and closes with everything it holds.

import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls';
import { listenKept } from '../../support/listen-kept.ts';

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
  const { port, close } = await listenKept(server, host);
  const listening: Listening = {
    port,
    connections: 0,
    receivedBytes: 0,
    handshakes: [],
    close,
  };
  server.on('connection', () => {
    listening.connections += 1;
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
