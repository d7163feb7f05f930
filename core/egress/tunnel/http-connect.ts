// How is a tunnel asked for over HTTP? CONNECT (RFC 9110 §9.3.6), for https and http upstreams alike. Pure.

import { isIPv6 } from 'node:net';
import {
  type Handshake,
  type HandshakeStep,
  type ProxyCredentials,
  spokeTooSoon,
  type TunnelTarget,
} from './handshake.ts';

/** A proxy that says more before the tunnel is no proxy for us. */
const headBytesMax = 16 * 1024;

export function startHttpConnect(
  { host, port }: TunnelTarget,
  credentials: ProxyCredentials | undefined,
): Handshake {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (credentials !== undefined) {
    const { username, password } = credentials;
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
  }
  let head = Buffer.alloc(0);
  return {
    opening: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`),
    take(chunk) {
      head = Buffer.concat([head, chunk]);
      return readHead(head);
    },
  };
}

function readHead(bytes: Buffer): HandshakeStep {
  // One byte is one character, so an index in the text is one in the bytes.
  const text = bytes.toString('latin1');
  const end = /\r?\n\r?\n/.exec(text);
  const statusLine = /^HTTP\/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r?\n/.exec(text);
  const isOther = !'HTTP/1.'.startsWith(text.slice(0, 7)) || (statusLine === null && text.includes('\n'));
  if (isOther) {
    return {
      type: 'refused',
      fact: 'it does not answer as an HTTP proxy does; check the scheme of its URL.',
    };
  }
  if (end === null) {
    return bytes.length > headBytesMax
      ? { type: 'refused', fact: `its answer has more than ${headBytesMax} bytes of headers.` }
      : { type: 'more' };
  }
  const status = Number(statusLine?.[1]);
  if (status < 200 || status >= 300) return { type: 'refused', fact: factOf(status) };
  // Behind a 2xx there is no body, whatever its headers say (RFC 9110 §9.3.6).
  return end.index + end[0].length === bytes.length ? { type: 'open' } : spokeTooSoon;
}

function factOf(status: number): string {
  switch (status) {
    case 407:
      return 'it rejects the credentials (407); check the Secret with its username and password.';
    case 403:
    case 405:
      return `it does not allow this host or port (${status}); allow it at the proxy.`;
    case 502:
    case 503:
    case 504:
      return `it could not reach the upstream (${status}); check host and port of spec.baseURL.`;
    default:
      return `it refused the tunnel (${status}).`;
  }
}
