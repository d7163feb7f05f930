// How does a request body come in? As the chunks that arrive, counted against the limit, joined never.

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';

export const requestBytesMax = 32 * 1024 * 1024;

/** Small bodies in several chunks are joined: one buffer is cheaper to work with. */
const joinBytesMax = 16 * 1024;

/** @throws {GatewayError} `request_too_large`, or `request_timeout` where it did not arrive whole. */
export function readBody(request: IncomingMessage): Promise<readonly Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const refuse = (error: GatewayError): void => {
      request.removeListener('data', onData);
      // What is read and dropped from here on may take a while; these bytes need not wait for it.
      chunks.length = 0;
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= requestBytesMax) return;
      request.pause();
      refuse(tooLarge());
    };
    const onBroken = (): void => {
      if (!request.complete) {
        refuse(new GatewayError('request_timeout', 'The request body did not arrive whole.'));
      }
    };
    request.on('data', onData);
    request.once('end', () => {
      resolve(bytes <= joinBytesMax && chunks.length > 1 ? [Buffer.concat(chunks)] : chunks);
    });
    request.once('close', onBroken);
    request.once('error', onBroken);
  });
}

/**
 * What the headers say about the body, before any of it is read.
 *
 * @throws {GatewayError} `request_too_large` or `unsupported_media_type`.
 */
export function checkBodyHeaders({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) > requestBytesMax) throw tooLarge();
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
}

function tooLarge(): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request body is larger than ${requestBytesMax / 1024 / 1024} MiB; send less.`,
    // What is left of the body is not read, so the connection cannot be used again.
    { headers: { connection: 'close' } },
  );
}
