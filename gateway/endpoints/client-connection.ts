// What is known of each connection of a client? Which request is served, since when the connection is idle, and how much of an answer its
// client takes. One object for each connection, reached from its socket; one listener for each answer.
//
// Turns: a client may send its next request before the answer to the last. That request waits for its turn: if the connection ends before,
// the request is not served, and no upstream is paid for it.
//
// Idle: Node counts a connection as idle once an answer is written, even before the client has taken the answer, and a connection whose
// stream has just ended like one that was unused for a minute. So a connection that Node would close as idle may be in use.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { takingMsMax } from '../stream/taken-bytes.ts';
import { judgeUnread, type UnreadAnswer } from './unread-answer.ts';

/**
 * Each waiting request takes up memory before its sender is known. Hardly any program pipelines requests today. If a connection
 * brings more, these are answered in their turn, the next one is refused in its turn, and later ones are dropped.
 */
const waitingMax = 4;

/** Why a request that has waited is not served: its body became too large to wait, or more waited before it than may. */
export type NotServed = 'too-large' | 'too-many';

export type Begin = (
  request: IncomingMessage,
  response: ServerResponse,
  notServed: NotServed | undefined,
) => void;

/** Something that ends with the answer of the request whose turn it is. */
export interface Served {
  /** The listener of the answer before it. */
  before?: Served | undefined;
  /** The answer has been taken, or its client has gone. */
  onClosed(): void;
}

interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly begin: Begin;
  readonly isTooMany: boolean;
  stopWatching(): boolean;
}

interface Arriving {
  /** Counted from 1; another one, as soon as it has come whole. */
  readonly number: number;
  /** Undefined as long as its headers are not here. */
  readonly response: ServerResponse | undefined;
  /** The last answer that has to come before one to it. */
  readonly ahead: ServerResponse | undefined;
}

const ownConnection = Symbol('client connection');

declare module 'node:net' {
  interface Socket {
    [ownConnection]?: ClientConnection;
  }
}

export class ClientConnections {
  private readonly clock: Clock;
  private readonly stallMs: number;
  private readonly wholeMs: number;
  private readonly open = new Set<ClientConnection>();
  private isLooking = false;

  /**
   * @param stallMs How long a client may take nothing of an answer that is whole.
   * @param wholeMs How long it may take for all of it, however much it takes at a time.
   */
  constructor(clock: Clock, stallMs: number, wholeMs = takingMsMax) {
    this.clock = clock;
    this.stallMs = stallMs;
    this.wholeMs = wholeMs;
  }

  get size(): number {
    return this.open.size;
  }

  onConnection(socket: Socket): ClientConnection {
    const connection = new ClientConnection(socket, this.clock, this);
    socket[ownConnection] = connection;
    this.open.add(connection);
    socket.once('close', () => this.open.delete(connection));
    return connection;
  }

  /** What listens to `request`. `begin` is called for each request when its turn has come. */
  oneByOne(begin: Begin): RequestListener {
    return (request, response) => {
      const { socket } = request;
      const connection = socket[ownConnection] ?? this.onConnection(socket);
      connection.onRequest(request, response, begin);
    };
  }

  /** Closes those that have had nothing to do for so long; others stay, and so does one that has sent the beginning of a request. */
  closeIdle(ms: number): void {
    const until = this.clock.now() - ms;
    for (const connection of this.open) connection.closeIfIdleSince(until);
  }

  /** Called when an answer begins: from here on it is checked whether clients read their answers. */
  watchAnswers(): void {
    if (this.isLooking) return;
    this.isLooking = true;
    this.clock.setTimer(this.stallMs / 4, () => this.lookAtAnswers());
  }

  private lookAtAnswers(): void {
    const now = this.clock.now();
    this.isLooking = false;
    for (const connection of this.open) {
      if (connection.lookAtAnswer(now, this.stallMs, this.wholeMs)) this.watchAnswers();
    }
  }
}

class ClientConnection {
  private readonly socket: Socket;
  private readonly clock: Clock;
  private readonly all: ClientConnections;
  /** All requests that have begun to arrive. */
  private count = 0;
  private latest: ServerResponse | undefined;
  /** The request before the latest; undefined if there was none to wait for. */
  private before: ServerResponse | undefined;
  /** In the order in which they came. */
  private readonly waiting: Waiting[] = [];
  /** More have come than may wait. */
  private isOver = false;
  private answer: ServerResponse | undefined;
  /** What ends with `answer`: the latest of all that has something to end with it. */
  private served: Served | undefined;
  private unread: UnreadAnswer | undefined;
  /** Undefined: it has something to do. */
  private idleSinceMs: number | undefined;
  /** When it became idle. */
  private bytesRead: number;

  constructor(socket: Socket, clock: Clock, all: ClientConnections) {
    this.socket = socket;
    this.clock = clock;
    this.all = all;
    this.idleSinceMs = clock.now();
    this.bytesRead = socket.bytesRead;
  }

  onRequest(request: IncomingMessage, response: ServerResponse, begin: Begin): void {
    const { latest } = this;
    if (latest === undefined || latest.closed) {
      this.count++;
      this.latest = response;
      this.before = undefined;
      this.isOver = false;
      this.begin(request, response, begin, undefined);
    } else if (this.isOver) {
      // The request is never answered: the connection ends with the answer before it.
      request.resume();
    } else {
      this.count++;
      this.before = latest;
      this.latest = response;
      const isTooMany = this.waiting.length >= waitingMax;
      if (isTooMany) {
        this.isOver = true;
        stopListening(this.socket);
      }
      this.waiting.push({ request, response, begin, isTooMany, stopWatching: dropWhenFull(request) });
    }
  }

  private beginNext(before: ServerResponse): void {
    const next = this.waiting.shift();
    if (!next) return;
    const isTooLarge = next.stopWatching();
    if (!this.socket.writable || !before.shouldKeepAlive) return;
    const why = next.isTooMany ? 'too-many' : isTooLarge ? 'too-large' : undefined;
    this.begin(next.request, next.response, next.begin, why);
  }

  private begin(
    request: IncomingMessage,
    response: ServerResponse,
    begin: Begin,
    notServed: NotServed | undefined,
  ): void {
    this.answer = response;
    this.served = undefined;
    this.unread = undefined;
    this.idleSinceMs = undefined;
    response.on('close', closeAnswer);
    this.all.watchAnswers();
    begin(request, response, notServed);
  }

  /** `served` is notified of the end of the answer, after all earlier listeners; never for an answer that has already ended. */
  hear(answer: ServerResponse, served: Served): void {
    if (answer !== this.answer) return; // guard: late-hearing
    served.before = this.served;
    this.served = served;
  }

  onAnswerClosed(answer: ServerResponse): void {
    if (answer !== this.answer) return; // guard: late-close
    const { served } = this;
    this.answer = undefined;
    this.served = undefined;
    this.unread = undefined;
    this.idleSinceMs = this.clock.now();
    this.bytesRead = this.socket.bytesRead;
    if (served) endServed(served);
    this.beginNext(answer);
  }

  closeIfIdleSince(ms: number): void {
    const { socket, idleSinceMs } = this;
    if (idleSinceMs !== undefined && idleSinceMs <= ms && socket.bytesRead === this.bytesRead)
      socket.destroy();
  }

  /** @returns False: there is no answer to look at. */
  lookAtAnswer(now: number, stallMs: number, wholeMs: number): boolean {
    const { answer } = this;
    if (!answer) return false;
    this.unread = judgeUnread(answer, this.unread, now, stallMs, wholeMs);
    return true;
  }

  /** Data that is arriving: an incomplete request, or bytes before its head. */
  arriving(): Arriving {
    const { count, latest, before } = this;
    const isWhole = latest?.req.complete ?? true;
    const ahead = isWhole ? latest : before;
    return {
      number: isWhole ? count + 1 : count,
      response: isWhole ? undefined : latest,
      ahead: ahead?.closed ? undefined : ahead,
    };
  }
}

/** `onClosed` is called when the answer is closed, if it is not yet. */
export function onAnswerClosed(response: ServerResponse, served: Served): void {
  const connection = response.req.socket[ownConnection];
  if (connection) connection.hear(response, served);
  // Without a connection of the server, as in a drill.
  else response.once('close', () => served.onClosed());
}

function endServed(served: Served): void {
  if (served.before) endServed(served.before);
  served.onClosed();
}

export function arrivingOn(socket: Socket): Arriving {
  return socket[ownConnection]?.arriving() ?? { number: 1, response: undefined, ahead: undefined };
}

function closeAnswer(this: ServerResponse): void {
  this.req.socket[ownConnection]?.onAnswerClosed(this);
}

/**
 * Later bytes are read, so that the client's leaving is noticed, but make no request. Requests in the same piece, of 64 KiB at most, still
 * do.
 */
function stopListening(socket: Socket): void {
  socket.removeAllListeners('data');
  socket.on('data', () => {});
}

/**
 * While a body larger than Node's buffer is not read, Node stops reading the socket and would not notice that the client left: the
 * request in service would be paid to its end. So the rest of the body is read and dropped.
 *
 * @returns Call it when the body is to be read: true if bytes were dropped, so that the body is no longer whole.
 */
function dropWhenFull(request: IncomingMessage): () => boolean {
  const { socket } = request;
  let isDropped = false;
  const onPause = (): void => {
    // Node also pauses while an answer is not taken.
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
