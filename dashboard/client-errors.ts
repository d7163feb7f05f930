// What does a browser get for a request that cannot be read? Mostly it brings the cookies of its neighbours, and a person sees the answer.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DashboardError, errorAnswer } from './errors.ts';

/** The session of a person in many groups takes half of it; the rest is for other cookies of the same domain. */
export const HEADER_BYTES_MAX = 32 * 1024;

/** In which a browser is to have read the answer. */
const lingerMs = 2_000;

const headersTooLarge = new DashboardError(
  431,
  'headers_too_large',
  `The headers of the request are larger than ${HEADER_BYTES_MAX / 1024} KiB, mostly cookies. Delete the cookies of this domain in your browser, and reload the page.`,
);
const tooSlow = new DashboardError(408, 'invalid_body', 'The request did not arrive in time. Send it again.');
const noRequest = new DashboardError(400, 'invalid_body', 'The HTTP request cannot be read.');

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Too many cookies</title>
<h1>Too many cookies</h1>
<p>Your browser sends more than ${HEADER_BYTES_MAX / 1024} KiB of headers to this address. Most are cookies: of the dashboard, and of other pages of the same domain.</p>
<p>Delete the cookies of this domain in the settings of your browser, then load the page again. A private window works at once.</p>
<p>If it happens again, ask your platform team for a host name that shares no domain with other pages.</p>
</html>
`;

/** What listens to `clientError`. */
export function answerClientErrors(): (error: Error, socket: Socket) => void {
  /** The parser fails again at what comes after. */
  const answered = new WeakSet<Socket>();
  return (error, socket) => {
    if (answered.has(socket)) return;
    const code = 'code' in error ? error.code : undefined;
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    answered.add(socket);
    socket.end(answerTo(code, beginningOf(error)));
    // The rest of it is read and dropped: a reset could overtake the answer.
    socket.resume();
    socket.setTimeout(lingerMs, () => socket.destroy());
  };
}

function answerTo(code: unknown, beginning: string): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return asJson(tooSlow);
  if (code !== 'HPE_HEADER_OVERFLOW') return asJson(noRequest);
  // Where the beginning is not known any more, a person may be looking.
  return /^[A-Z]+ \/api\//.test(beginning) ? asJson(headersTooLarge) : written(431, 'text/html', page);
}

function beginningOf(error: Error): string {
  const packet = 'rawPacket' in error ? error.rawPacket : undefined;
  return Buffer.isBuffer(packet) ? packet.toString('latin1', 0, 100) : '';
}

function asJson(error: DashboardError): string {
  return written(error.status, 'application/json', JSON.stringify(errorAnswer(error)));
}

function written(status: number, type: string, text: string): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${type}; charset=utf-8`,
    `content-length: ${Buffer.byteLength(text)}`,
    "content-security-policy: default-src 'none'; frame-ancestors 'none'",
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
