// How does a request body come in? As the chunks that arrive, counted against the limit; only small ones are joined.

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../request/errors.ts';
import { noBodyRoom } from '../request/no-body-room.ts';
import { Pieces } from '../stream/pieces.ts';

export const requestBytesMax = 32 * 1024 * 1024;

/** Small bodies in several chunks are joined: one buffer is cheaper to work with. */
const joinBytesMax = 16 * 1024;

/** Room for the bytes of one body. */
interface BodyRoom {
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
    const chunks = new Pieces();
    const refuse = (error: GatewayError): void => {
      request.removeListener('data', onData);
      // What is read and dropped from here on may take a while; these bytes need not wait for it.
      chunks.takeEach();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      chunks.add(chunk);
      const isTooLarge = chunks.length > requestBytesMax; // guard: body-bytes
      if (!isTooLarge && room.widen(chunks.length)) return;
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
      const isSmall = chunks.length > 0 && chunks.length <= joinBytesMax;
      resolve(isSmall ? [chunks.take()] : chunks.takeEach());
    });
    request.once('close', onBroken);
    request.once('error', onBroken);
  });
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

/** Read no further, so its connection cannot be used again. */
function noRoom(): GatewayError {
  return noBodyRoom({ connection: 'close' });
}
