// Where does nobody listen? A port that refuses connections, and that no other test is given at the same time.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

export interface ClosedPort {
  port: number;
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** Gives the port back. */
  close(): Promise<void>;
}

/**
 * A port that was free a moment ago may be taken by another test file. This one is taken for good: it is the local
 * port of an outgoing connection, so nobody else is given it, and a connection to it is refused. It is bound by an address:
 * a port that the system only lends may be shared once more to the very connection that goes to it, which then meets itself.
 */
export async function closedPort(): Promise<ClosedPort> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: listening } = server.address() as AddressInfo;
  const holder = connect({ port: listening, host: '127.0.0.1', localAddress: '127.0.0.1' });
  const [[accepted]] = await Promise.all([once(server, 'connection'), once(holder, 'connect')]);
  const port = holder.localPort;
  if (port === undefined) throw new Error('The connection that holds a closed port has no local port');
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const isClosed = once(server, 'close');
      holder.destroy();
      accepted.destroy();
      server.close();
      await isClosed;
    },
  };
}
