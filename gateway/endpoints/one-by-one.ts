// What if a client sends its next request before it has its answer? It waits its turn: whoever gets no answer any more, because the
// connection ended or closes behind the one before it, has not been served either, and no upstream was paid for it.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Each that waits takes up memory before anybody asks who sent it. Programs that send one after the other without looking have not been
 * seen for long; a connection that brings more than this is closed.
 */
const waitingMax = 4;

interface Line {
  latest: ServerResponse;
  waiting: number;
}

export function oneByOne(begin: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>();
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const line = lines.get(socket);
    if (line === undefined || line.latest.writableFinished) {
      lines.set(socket, { latest: response, waiting: 0 });
      begin(request, response);
      return;
    }
    if (line.waiting === waitingMax) {
      socket.destroy();
      return;
    }
    const before = line.latest;
    line.latest = response;
    line.waiting++;
    before.once('close', () => {
      line.waiting--;
      if (!socket.destroyed && before.shouldKeepAlive) begin(request, response);
    });
  };
}
