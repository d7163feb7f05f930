// A failure as an HTTP answer, in the shape that the caller's route family expects.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientPathOf, DIALECTS, dialectNames, type ErrorShape } from '../../core/catalog/dialects.ts';
import type { Clock } from '../../core/clock.ts';
import { answerHeaders } from '../request/answer-headers.ts';
import { encodeErrorBody, GatewayError } from '../request/errors.ts';

/** Clients of another shape are known by their path, or by a header only they send. */
export function errorShapeOf({ url = '', headers }: IncomingMessage): ErrorShape {
  const path = pathOf(url);
  const own = otherShapes.find(
    (one) => path.startsWith(one.path) || one.headers.some((name) => name in headers),
  );
  return own?.shape ?? usualShape;
}

const usualShape = 'openai';

const otherShapes = dialectNames
  .filter((name) => DIALECTS[name].errorShape !== usualShape)
  .map((name) => ({
    shape: DIALECTS[name].errorShape,
    path: clientPathOf(name),
    headers: DIALECTS[name].headers.map(([header]) => header),
  }));

/** As a route is found by it: without the origin of an absolute form, and decoded. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** How long what is left of a request is read and dropped, before its connection is closed. */
export const lingerMs = 10_000;

interface ErrorContext {
  readonly requestId: string;
  /** Of the routing table in use; absent before the first table. */
  readonly generation: number | undefined;
  readonly clock: Clock;
}

/** @returns What was sent; undefined: nothing, since the answer has begun, or the client has gone. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { requestId, generation, clock }: ErrorContext,
): GatewayError | undefined {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return undefined;
  }
  const sent = asAnswer(error);
  const body = encodeErrorBody(sent, errorShapeOf(request), requestId);
  const isInDoubt = isBodyInDoubt(request);
  response.writeHead(sent.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...answerHeaders(requestId, generation),
    ...(isInDoubt ? { connection: 'close' } : {}),
    ...sent.headers,
  });
  const isClosing = !response.shouldKeepAlive || sent.headers.connection === 'close' || isInDoubt;
  if (isClosing && !request.complete) endAfterRequest(request, response, body, clock);
  else response.end(body);
  return sent;
}

function asAnswer(error: unknown): GatewayError {
  if (!(error instanceof GatewayError)) {
    return new GatewayError(
      'internal_error',
      'The gateway failed. Report the request id: the log has the cause.',
    );
  }
  // After a status line the caller need not know why there is no room; the separate code is for streams that break off.
  return error.code === 'server_shutting_down'
    ? new GatewayError('overloaded', error.message, {
        retryAfterSeconds: 1,
        headers: { connection: 'close' },
      })
    : error;
}

/** After a refusal, a client that waits for 100 Continue may send its body or not (RFC 9110, section 10.1.1). */
function isBodyInDoubt(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && !request.complete;
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
