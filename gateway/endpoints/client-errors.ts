// Which error does a client get whose bytes never became a request, or whose request never became complete?

import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/clock.ts';
import type { Refusals } from '../admission/refusals.ts';
import { encodeErrorBody, GatewayError } from '../request/errors.ts';
import { arrivingOn } from './client-connection.ts';
import { errorShapeOf, lingerMs } from './send-error.ts';

const slow = 'ERR_HTTP_REQUEST_TIMEOUT';
const tunnel = 'PENSTOCK_TUNNEL';

// Made once: where they are due there may be thousands, and each would keep where it was made.
const headersTooLarge = new GatewayError(
  'headers_too_large',
  'The request headers are larger than 16 KiB. Send fewer or shorter ones; in a browser, delete the cookies of this domain.',
);
const tooSlow = new GatewayError('request_timeout', 'The request did not arrive in time. Send it faster.');
const noTunnel = new GatewayError(
  'method_not_allowed',
  'CONNECT is not allowed: this is a gateway to models, not a proxy. Use its address as the base URL of your client.',
  { headers: { allow: 'GET, HEAD, POST' } },
);
const noRequest = new GatewayError('invalid_parameter', 'This is not a valid HTTP/1.1 request.');

/**
 * A listener for `clientError`. The error follows the answers to complete earlier requests on the connection (RFC 9112, section 9.3.2).
 *
 * @param newRequestId Under which the refusal is sent.
 * @param requestMs How long a request may take, from when its client may send it.
 * @param refusals Paces the refusals of slow requests: a client that sends slowly on many connections began with all of them at once.
 */
export function watchClientErrors(
  clock: Clock,
  newRequestId: (refusal: GatewayError) => string,
  refusals: Refusals,
  requestMs: number,
): (error: Error & { readonly code?: string }, socket: Socket) => void {
  /** Connections whose later bytes are ignored. */
  const refused = new WeakSet<Socket>();
  const inTurn = (socket: Socket, act: () => void): void => {
    const { ahead } = arrivingOn(socket);
    if (!ahead) {
      act();
      return;
    }
    // Every answer already has nearly as many listeners as Node takes for a leak.
    ahead.setMaxListeners(ahead.getMaxListeners() + 1);
    ahead.once('close', () => inTurn(socket, act));
  };
  const sendError = (socket: Socket, code: string | undefined): void => {
    const { response } = arrivingOn(socket);
    // An answer that has begun before its request came whole is never mixed with an error.
    if (!socket.writable || response?.headersSent) {
      socket.destroy();
      return;
    }
    const shape = response ? errorShapeOf(response.req) : 'openai';
    const refusal = clientError(code);
    const requestId = newRequestId(refusal);
    const body = encodeErrorBody(refusal, shape, requestId);
    const own = Object.entries(refusal.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\ncache-control: no-store\r\n` +
        `x-request-id: ${requestId}\r\nrequest-id: ${requestId}\r\n${own.join('')}connection: close\r\n\r\n${body}`,
      // After a timeout, late bytes of a slow sender must not complete the request after all.
      code === slow ? () => void socket.destroy() : undefined,
    );
    socket.once(
      'close',
      clock.setTimer(lingerMs, () => socket.destroy()),
    );
  };
  const refuseTooSlow = (socket: Socket): void => {
    const { number, response, ahead } = arrivingOn(socket);
    const refuse = (): void => {
      if (socket.destroyed) return;
      const giveUp = refusals.add(() => {
        // The request became complete while its refusal waited: it is served, and the next one has its full time.
        const cameWhole = arrivingOn(socket).number !== number;
        if (cameWhole || refused.has(socket)) return;
        refused.add(socket);
        sendError(socket, slow);
      });
      // A closed connection must not delay the refusals of others, nor hold memory.
      socket.once('close', giveUp);
    };
    // A client that waits for 100 Continue gets it after the earlier answers; its time starts then.
    const awaitsLeave = ahead !== undefined && response?.req.headers.expect !== undefined;
    const refuseLater = (): void => void socket.once('close', clock.setTimer(requestMs, refuse));
    inTurn(socket, awaitsLeave ? refuseLater : refuse);
  };
  return ({ code }, socket) => {
    // A client that closes its side in the middle of a request does not wait for earlier answers either.
    const hasLeft = code === 'ECONNRESET' || (socket.readableEnded && arrivingOn(socket).ahead);
    if (hasLeft) {
      socket.destroy();
      return;
    }
    // The rest of a refused request is read and dropped: a reset could overtake the answer.
    if (refused.has(socket)) return;
    if (code === slow) {
      refuseTooSlow(socket);
      return;
    }
    refused.add(socket);
    inTurn(socket, () => sendError(socket, code));
  };
}

/** What listens to `connect`, which Node would end without a word. It has let go of the socket, errors and all. */
export function refuseTunnels(
  onClientError: ReturnType<typeof watchClientErrors>,
): (request: IncomingMessage, socket: Duplex) => void {
  return (_request, socket) => {
    socket.on('error', () => socket.destroy());
    socket.resume();
    onClientError(Object.assign(new Error('a tunnel is asked for'), { code: tunnel }), socket as Socket);
  };
}

function clientError(code: string | undefined): GatewayError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge;
    case slow:
      return tooSlow;
    case tunnel:
      return noTunnel;
    default:
      return noRequest;
  }
}
