// A failure as an HTTP answer, in the shape that the caller's route family expects.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorShape, encodeErrorBody, GatewayError } from '../errors.ts';

/** Anthropic clients are known by their path, or by a header only they send. */
export function errorShapeOf({ url = '', headers }: IncomingMessage): ErrorShape {
  return url.startsWith('/v1/messages') || 'anthropic-version' in headers ? 'messages' : 'openai';
}

export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  requestId: string,
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
  response.end(body);
}
