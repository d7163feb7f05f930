// Where is a connection neither taken nor refused? A port whose queue is full: the system drops what else knocks there, as a
// firewall does that says nothing.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

export interface FullPort {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  close(): Promise<void>;
}

/** A listener that is never asked to accept: its thread sleeps from the moment it listens. */
const sleeper = `
const { createServer } = require('node:net');
const { parentPort } = require('node:worker_threads');
const server = createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;

/** A connection of this machine to itself is there long before, or never. */
const patienceMs = 300;

export async function fullPort(): Promise<FullPort> {
  const worker = new Worker(sleeper, { eval: true });
  const [port]: number[] = await once(worker, 'message');
  if (port === undefined) throw new Error('the listener reported no port');
  const sockets: Socket[] = [];
  for (let isFull = false; !isFull; ) {
    if (sockets.length > 16) throw new Error('the queue of the listener does not fill');
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    sockets.push(socket);
    isFull = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(true), patienceMs);
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(false);
      });
    });
  }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await worker.terminate();
    },
  };
}
