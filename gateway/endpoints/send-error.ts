// A failure as an HTTP answer, in the shape that the caller's route family expects.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import { type ErrorShape, encodeErrorBody, GatewayError } from '../errors.ts';

/** Anthropic clients are known by their path, or by a header only they send. */
export function errorShapeOf({ url = '', headers }: IncomingMessage): ErrorShape {
  return url.startsWith('/v1/messages') || 'anthropic-version' in headers ? 'messages' : 'openai';
}

/** How long what is left of a request is read and dropped, before its connection is closed. */
export const lingerMs = 10_000;

export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  requestId: string,
  clock: Clock,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const told =
    error instanceof GatewayError
      ? error
      : new GatewayError(
          'internal_error',
          'The gateway failed; the failure has been logged under this request id.',
        );
  const body = encodeErrorBody(told, errorShapeOf(request), requestId);
  response.writeHead(told.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-request-id': requestId,
    'request-id': requestId,
    ...told.headers,
  });
  const isClosing = !response.shouldKeepAlive || told.headers.connection === 'close';
  if (isClosing && !request.complete) endAfterRequest(request, response, body, clock);
  else response.end(body);
}

/**
 * Closing a connection while bytes are still arriving resets it, and the reset may overtake the
 * answer (RFC 9112, section 9.6). So the rest of the request is read and dropped first.
 */
function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  clock: Clock,
): void {
  response.write(body);
  const cancel = clock.setTimer(lingerMs, () => response.end());
  request.once('end', () => response.end());
  response.once('close', cancel);
  request.resume();
}
