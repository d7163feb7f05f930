// How does a server of a test end? On a free port, unless one is wanted, it keeps its sockets in mind, and closes with everything it holds.

import { once } from 'node:events';
import type { Server, Socket } from 'node:net';

export interface KeptServer {
  readonly port: number;
  /** Another socket that is to end with the server, such as one to an upstream. Its errors are of no interest. */
  keep(socket: Socket): void;
  close(): Promise<void>;
}

export async function listenKept(server: Server, host = '127.0.0.1', wanted = 0): Promise<KeptServer> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // A peer that hangs up in the middle is what many tests are about.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  server.on('connection', keep);
  server.listen(wanted, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the system gave no port');
  return {
    port: address.port,
    keep,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
