// How does a request body come in? As the chunks that arrive, counted against the limit; only small ones are joined.

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../request/errors.ts';
import { noBodyRoom } from '../request/no-body-room.ts';
import type { RequestHead } from '../request/request-head.ts';
import { Pieces } from '../stream/pieces.ts';
import { type Staged, turnEnd } from '../stream/turn-end.ts';

export const requestBytesMax = 32 * 1024 * 1024;

/** Small bodies in several chunks are joined: one buffer is cheaper to work with. */
const joinBytesMax = 16 * 1024;

/** Room for the bytes of one body. */
interface BodyRoom {
  /** Whether there is room for a body of this size; reserves nothing. */
  fits(bytes: number): boolean;
  /** False: there is no room for a body of this size. Earlier reservations stay. */
  widen(bytes: number): boolean;
}

/** Exactly one of the two is called, once. */
interface BodyTaker {
  onBody(chunks: readonly Buffer[]): void;
  /**
   * @param error `request_too_large`, `overloaded` if there is no room for it, or `request_timeout` if it did not arrive whole.
   */
  onNoBody(error: GatewayError): void;
}

const ownReader = Symbol('body reader');

declare module 'node:http' {
  interface IncomingMessage {
    [ownReader]?: BodyReader | undefined;
  }
}

export class BodyReader implements Staged {
  private readonly request: IncomingMessage;
  private readonly room: BodyRoom;
  private readonly taker: BodyTaker;
  private readonly chunks = new Pieces();

  constructor(request: IncomingMessage, room: BodyRoom, taker: BodyTaker) {
    this.request = request;
    this.room = room;
    this.taker = taker;
  }

  start(): void {
    this.request[ownReader] = this;
    this.request.on('data', onData);
    this.request.on('end', onEnd);
  }

  onData(chunk: Buffer): void {
    const { chunks } = this;
    chunks.add(chunk);
    const isTooLarge = chunks.length > requestBytesMax; // guard: body-bytes
    if (!isTooLarge && this.room.widen(chunks.length)) return;
    this.request.pause();
    this.refuse(isTooLarge ? tooLarge() : noRoom());
  }

  onEnd(): void {
    this.stop();
    turnEnd.body(this);
  }

  onTurnEnd(): void {
    const { chunks } = this;
    const isSmall = chunks.length > 0 && chunks.length <= joinBytesMax;
    this.taker.onBody(isSmall ? [chunks.take()] : chunks.takeEach());
  }

  /** To be called when the client has gone. */
  breakOff(): void {
    if (this.request[ownReader] !== this) return;
    this.refuse(
      new GatewayError(
        'request_timeout',
        'The request body is incomplete. Send as many bytes as content-length says.',
      ),
    );
  }

  private refuse(error: GatewayError): void {
    this.stop();
    // The rest of the body is read and dropped, which may take a while; the bytes so far are freed now.
    this.chunks.takeEach();
    this.taker.onNoBody(error);
  }

  private stop(): void {
    this.request[ownReader] = undefined;
    this.request.removeListener('data', onData);
  }
}

function onData(this: IncomingMessage, chunk: Buffer): void {
  this[ownReader]?.onData(chunk);
}

function onEnd(this: IncomingMessage): void {
  this[ownReader]?.onEnd();
}

/**
 * What the headers say about the body, before any of it is read.
 *
 * @throws {GatewayError} `request_too_large`, `unsupported_media_type`, or `overloaded` if there is no room for it.
 */
export function checkBodyHeaders(
  { contentLength, contentType: type, contentEncoding: encoding }: RequestHead,
  room: BodyRoom,
): void {
  const bytes = Number(contentLength ?? 0);
  if (bytes > requestBytesMax) throw tooLarge();
  if (type !== undefined && type !== 'application/json') checkType(type);
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GatewayError(
      'unsupported_media_type',
      `The content encoding '${encoding.slice(0, 100)}' is not supported; send the body uncompressed.`,
    );
  }
  // Refused before the body is sent in vain. Nothing is reserved for a body that is only announced.
  if (!room.fits(bytes)) throw noRoom();
}

function checkType(type: string): void {
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new GatewayError(
      'unsupported_media_type',
      `The content type '${type.slice(0, 100)}' is not supported; send JSON as application/json.`,
    );
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1];
  if (charset && !/^utf-?8$/i.test(charset)) {
    throw new GatewayError(
      'unsupported_media_type',
      `The character set '${charset.slice(0, 100)}' is not supported; send JSON in UTF-8.`,
    );
  }
}

function tooLarge(): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request body is larger than ${requestBytesMax / 1024 / 1024} MiB; send less.`,
    // The rest of the body is not read, so the connection cannot be used again.
    { headers: { connection: 'close' } },
  );
}

/** Read no further, so its connection cannot be used again. */
function noRoom(): GatewayError {
  return noBodyRoom({ connection: 'close' });
}
