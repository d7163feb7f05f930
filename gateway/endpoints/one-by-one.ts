// What if a client sends its next request before it has its answer? It waits its turn: whoever gets no answer any more, because the
// connection ended or closes behind the one before it, has not been served either, and no upstream was paid for it.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export function oneByOne(begin: RequestListener): RequestListener {
  const latest = new WeakMap<Socket, ServerResponse>();
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const before = latest.get(socket);
    latest.set(socket, response);
    if (before === undefined || before.writableFinished) begin(request, response);
    else {
      before.once('close', () => {
        if (!socket.destroyed && before.shouldKeepAlive) begin(request, response);
      });
    }
  };
}
