// What if a client sends its next request before it has its answer? It waits its turn: whoever gets no answer any more, because the
// connection ended or closes behind the one before it, has not been served either, and no upstream was paid for it.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Each that waits takes up memory before anybody asks who sent it. Programs that send one after the other without looking have not been
 * seen for long. Of a connection that brings more, these are answered in their turn, the next one is refused in its own, and what comes
 * after that is dropped.
 */
const waitingMax = 4;

/** Why a request that has waited is not served: its body became too large to wait, or more waited before it than may. */
export type NotServed = 'too-large' | 'too-many';

export type Begin = (
  request: IncomingMessage,
  response: ServerResponse,
  notServed: NotServed | undefined,
) => void;

interface Line {
  /** All that have begun to arrive. */
  count: number;
  latest: ServerResponse;
  /** The one in front of the latest; undefined where there was none to wait for. */
  before: ServerResponse | undefined;
  waiting: number;
  /** More have come than may wait. */
  isOver: boolean;
}

interface Arriving {
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
        this.lines.set(socket, { count, latest: response, before: undefined, waiting: 0, isOver: false });
        begin(request, response, undefined);
        return;
      }
      if (line.isOver) {
        // It is never answered: the connection ends with the answer to the one before it.
        request.resume();
        return;
      }
      const before = line.latest;
      line.count = count;
      line.before = before;
      line.latest = response;
      line.waiting++;
      const isTooMany = line.waiting > waitingMax;
      if (isTooMany) {
        line.isOver = true;
        stopListening(socket);
      }
      const stopWatching = dropWhenFull(request);
      before.once('close', () => {
        line.waiting--;
        const isTooLarge = stopWatching();
        if (!socket.writable || !before.shouldKeepAlive) return;
        begin(request, response, isTooMany ? 'too-many' : isTooLarge ? 'too-large' : undefined);
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
 * What comes from here on is read, so that its sender is seen to leave, and becomes no request. Those that came in the same piece, of 64 KiB at
 * most, still do.
 */
function stopListening(socket: Socket): void {
  socket.removeAllListeners('data');
  socket.on('data', () => {});
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
