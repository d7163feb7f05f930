// What if a client sends its next request before it has its answer? It waits its turn: whoever gets no answer any more, because the
// connection ended or closes behind the one before it, has not been served either, and no upstream was paid for it.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Each that waits takes up memory before anybody asks who sent it. Programs that send one after the other without looking have not been
 * seen for long; a connection that brings more than this is closed.
 */
const waitingMax = 4;

/** @param isDropped Its body became too large to wait, and was dropped. */
export type Begin = (request: IncomingMessage, response: ServerResponse, isDropped: boolean) => void;

interface Line {
  /** All that have begun to arrive. */
  count: number;
  latest: ServerResponse;
  /** The one in front of the latest; undefined where there was none to wait for. */
  before: ServerResponse | undefined;
  waiting: number;
}

export interface Arriving {
  /** Counted from 1; another one, as soon as it has come whole. */
  readonly number: number;
  /** Undefined as long as its headers are not here. */
  readonly response: ServerResponse | undefined;
  /** The last answer that has to come before one to it. */
  readonly ahead: ServerResponse | undefined;
}

/** The requests of each connection, in the order in which they came. */
export class Lines {
  private readonly lines = new WeakMap<Socket, Line>();

  oneByOne(begin: Begin): RequestListener {
    return (request, response) => {
      const { socket } = request;
      const line = this.lines.get(socket);
      const count = (line?.count ?? 0) + 1;
      if (line === undefined || line.latest.closed) {
        this.lines.set(socket, { count, latest: response, before: undefined, waiting: 0 });
        begin(request, response, false);
        return;
      }
      if (line.waiting === waitingMax) {
        socket.destroy();
        return;
      }
      const before = line.latest;
      line.count = count;
      line.before = before;
      line.latest = response;
      line.waiting++;
      const stopWatching = dropWhenFull(request);
      before.once('close', () => {
        line.waiting--;
        const isDropped = stopWatching();
        if (socket.writable && before.shouldKeepAlive) begin(request, response, isDropped);
      });
    };
  }

  /** What is arriving on a connection now: a request that is not whole, or bytes that are none yet. */
  arriving(socket: Socket): Arriving {
    const { count = 0, latest, before } = this.lines.get(socket) ?? {};
    const isWhole = latest?.req.complete ?? true;
    const ahead = isWhole ? latest : before;
    return {
      number: isWhole ? count + 1 : count,
      response: isWhole ? undefined : latest,
      ahead: ahead?.closed ? undefined : ahead,
    };
  }
}

/**
 * Node stops reading where a body that nobody reads is more than it keeps, and would not see its client leave: the request that is being
 * served would be paid to its end. So the rest is read and dropped.
 *
 * @returns To be called when its turn has come: whether that happened.
 */
function dropWhenFull(request: IncomingMessage): () => boolean {
  const { socket } = request;
  let isDropped = false;
  const onPause = (): void => {
    // It also stops while an answer is not taken.
    if (request.readableLength < request.readableHighWaterMark) return;
    isDropped = true;
    request.resume();
  };
  socket.on('pause', onPause);
  return () => {
    socket.removeListener('pause', onPause);
    return isDropped;
  };
}
