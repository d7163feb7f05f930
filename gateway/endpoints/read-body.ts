// How does a request body come in? As the chunks that arrive, counted against the limit; only small ones are joined.

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';

export const requestBytesMax = 32 * 1024 * 1024;

/** Small bodies in several chunks are joined: one buffer is cheaper to work with. So are small chunks of large ones. */
const joinBytesMax = 16 * 1024;

/** Room for the bytes of one body. */
export interface BodyRoom {
  /** Whether there would be room for a body of so many bytes; nothing is taken. */
  fits(bytes: number): boolean;
  /** False: there is none for a body of so many bytes. What was taken before stays taken. */
  widen(bytes: number): boolean;
}

/**
 * @throws {GatewayError} `request_too_large`, `overloaded` where there is no room for it, or `request_timeout` where it did not
 * arrive whole.
 */
export function readBody(request: IncomingMessage, room: BodyRoom): Promise<readonly Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks = new Chunks();
    let bytes = 0;
    const refuse = (error: GatewayError): void => {
      request.removeListener('data', onData);
      // What is read and dropped from here on may take a while; these bytes need not wait for it.
      chunks.drop();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      chunks.add(chunk);
      bytes += chunk.length;
      const isTooLarge = bytes > requestBytesMax;
      if (!isTooLarge && room.widen(bytes)) return;
      request.pause();
      refuse(isTooLarge ? tooLarge() : noRoom());
    };
    const onBroken = (): void => {
      if (!request.complete) {
        refuse(new GatewayError('request_timeout', 'The request body did not arrive whole.'));
      }
    };
    request.on('data', onData);
    request.once('end', () => {
      const whole = chunks.end();
      resolve(bytes <= joinBytesMax && whole.length > 1 ? [Buffer.concat(whole)] : whole);
    });
    request.once('close', onBroken);
    request.once('error', onBroken);
  });
}

/**
 * Chunks as they came, small ones copied together: each would keep an object of a hundred bytes alive, and what it was read with,
 * for as little as one byte.
 */
class Chunks {
  private whole: Buffer[] = [];
  private small: Buffer | undefined;
  private smallBytes = 0;

  add(chunk: Buffer): void {
    const isFirst = this.whole.length === 0 && this.smallBytes === 0;
    if (isFirst || chunk.length >= joinBytesMax) {
      this.flush();
      this.whole.push(chunk);
      return;
    }
    if (this.smallBytes + chunk.length > joinBytesMax) this.flush();
    this.small ??= Buffer.allocUnsafe(joinBytesMax);
    this.smallBytes += chunk.copy(this.small, this.smallBytes);
  }

  end(): readonly Buffer[] {
    this.flush();
    return this.whole;
  }

  drop(): void {
    this.whole = [];
    this.small = undefined;
    this.smallBytes = 0;
  }

  private flush(): void {
    if (this.small && this.smallBytes > 0)
      this.whole.push(Buffer.from(this.small.subarray(0, this.smallBytes)));
    this.smallBytes = 0;
  }
}

/**
 * What the headers say about the body, before any of it is read.
 *
 * @throws {GatewayError} `request_too_large`, `unsupported_media_type`, or `overloaded` where there is no room for it.
 */
export function checkBodyHeaders({ headers }: IncomingMessage, room: BodyRoom): void {
  const bytes = Number(headers['content-length'] ?? 0);
  if (bytes > requestBytesMax) throw tooLarge();
  const type = headers['content-type'];
  if (type !== undefined && !/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new GatewayError(
      'unsupported_media_type',
      `The content type '${type.slice(0, 100)}' is not supported; send JSON as application/json.`,
    );
  }
  const charset = type && /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1];
  if (charset && !/^utf-?8$/i.test(charset)) {
    throw new GatewayError(
      'unsupported_media_type',
      `The character set '${charset.slice(0, 100)}' is not supported; send JSON in UTF-8.`,
    );
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GatewayError(
      'unsupported_media_type',
      `The content encoding '${encoding.slice(0, 100)}' is not supported; send the body uncompressed.`,
    );
  }
  // Told before it is sent in vain. Nothing is kept for it: what is only announced costs nobody anything.
  if (!room.fits(bytes)) throw noRoom();
}

function tooLarge(): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request body is larger than ${requestBytesMax / 1024 / 1024} MiB; send less.`,
    // What is left of the body is not read, so the connection cannot be used again.
    { headers: { connection: 'close' } },
  );
}

function noRoom(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway has as many request bodies in hand as its memory can hold; send the request again.',
    { retryAfterSeconds: 1, headers: { connection: 'close' } },
  );
}
