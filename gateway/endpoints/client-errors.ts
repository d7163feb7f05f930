// What is told to a client whose bytes never became a request, or whose request never became whole?

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusals } from '../admission/refusals.ts';
import type { Clock } from '../clock.ts';
import { encodeErrorBody, GatewayError } from '../errors.ts';
import { errorShapeOf, lingerMs } from './send-error.ts';

const slow = 'ERR_HTTP_REQUEST_TIMEOUT';

// Made once: where they are due there may be thousands, and each would keep where it was made.
const headersTooLarge = new GatewayError(
  'headers_too_large',
  'The request headers are larger than 16 KiB; send less.',
);
const tooSlow = new GatewayError('request_timeout', 'The request did not arrive in time; send it faster.');
const noRequest = new GatewayError('invalid_parameter', 'This is not a valid HTTP/1.1 request.');

export interface ClientErrors {
  /** To be called for each request, so that no answer under way is ever mixed with an error. */
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onClientError(error: Error & { readonly code?: string }, socket: Socket): void;
}

/** @param refusals When those are told that took too long: whoever sends slowly on many connections began with all of them at once. */
export function watchClientErrors(
  clock: Clock,
  newRequestId: () => string,
  refusals: Refusals,
): ClientErrors {
  const latest = new WeakMap<Socket, ServerResponse>();
  const told = new WeakSet<Socket>();
  const tell = (socket: Socket, code: string | undefined): void => {
    const response = latest.get(socket);
    const isSlow = code === slow;
    if (!socket.writable || isAnswering(response)) {
      socket.destroy();
      return;
    }
    const shape = response && !response.req.complete ? errorShapeOf(response.req) : 'openai';
    const requestId = newRequestId();
    const refusal = clientError(code);
    const body = encodeErrorBody(refusal, shape, requestId);
    socket.end(
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\ncache-control: no-store\r\n` +
        `x-request-id: ${requestId}\r\nrequest-id: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
      // What a slow sender might still send must not be taken for a whole request after all.
      isSlow ? () => void socket.destroy() : undefined,
    );
    socket.once(
      'close',
      clock.setTimer(lingerMs, () => socket.destroy()),
    );
  };
  return {
    onRequest: (request, response) => void latest.set(request.socket, response),
    onClientError({ code }, socket) {
      // The rest of a refused request is read and dropped: a reset could overtake the answer.
      if (told.has(socket)) return;
      if (code === 'ECONNRESET') {
        socket.destroy();
        return;
      }
      told.add(socket);
      if (code !== slow) {
        tell(socket, code);
        return;
      }
      const begun = latest.get(socket);
      const isBody = begun?.req.complete === false;
      refusals.add(() => {
        const current = latest.get(socket);
        const cameWhole = current?.req.complete === true && (current !== begun || isBody);
        // What came whole while its sender waited to be told is served, and the next one has all its time.
        if (cameWhole) told.delete(socket);
        else tell(socket, code);
      });
    },
  };
}

/** An error may be written between two requests, and in answer to a request that is not whole. */
function isAnswering(response: ServerResponse | undefined): boolean {
  if (!response) return false;
  const isAnswered = response.writableFinished;
  const { complete } = response.req;
  const isBetweenRequests = complete && isAnswered;
  const isBrokenRequest = !complete && !response.headersSent;
  return !isBetweenRequests && !isBrokenRequest;
}

function clientError(code: string | undefined): GatewayError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge;
    case slow:
      return tooSlow;
    default:
      return noRequest;
  }
}
