// Is the other end who its name says? TLS over a connected socket: certificate and name verified, HTTP/1.1 only, sessions
// resumed. Only one explicit option switches verification off: no environment variable does, and no other setting. A failed TLS
// handshake never falls back to plain text.

import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { EgressError, systemCode } from './egress-error.ts';

/** What a Provider may say about TLS. */
export interface TlsTrust {
  /** PEM certificates to trust instead of the usual roots. */
  readonly ca?: string | readonly string[];
  /** PEM client certificate and key, for upstreams that ask for one. */
  readonly cert?: string;
  readonly key?: string;
  /** Name to ask for and to verify, if it is not that of the host. */
  readonly serverName?: string;
  /** Default TLS 1.2. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** Neither certificate nor name is verified: any server is trusted, and can read all that is sent. */
  readonly insecureSkipVerify?: true;
}

/** `host` is the name or address to verify, `endpoint` the text for errors and the key for sessions. */
type Secure = (
  socket: Socket,
  to: { readonly host: string; readonly endpoint: string },
  signal: AbortSignal,
) => Promise<TLSSocket>;

// One connector serves few endpoints. Beyond this the oldest session is forgotten: one full handshake more.
const sessionsMax = 256;

export function createSecure(trust: TlsTrust = {}): Secure {
  // Of this trust alone: a session that began unverified, or under another authority, is never resumed under this one.
  const sessions = new Map<string, Buffer>();

  function keepSession(key: string, session: Buffer): void {
    sessions.delete(key);
    sessions.set(key, session);
    const [oldest] = sessions.keys();
    if (sessions.size > sessionsMax && oldest !== undefined) sessions.delete(oldest);
  }

  /** @throws EgressError `tls_failed` or `connect_timeout`; the socket is destroyed then. */
  return (socket, { host, endpoint }, signal) => {
    return new Promise((resolve, reject) => {
      const tlsSocket = connect(buildTlsOptions(trust, socket, host, sessions.get(endpoint)));
      let isVerified = false;
      let unverifiedSession: Buffer | undefined;

      const timeOut = () =>
        fail(new EgressError('connect_timeout', endpoint, 'the TLS handshake did not end in time.'));
      const settle = () => {
        signal.removeEventListener('abort', timeOut);
        tlsSocket.off('close', closed);
      };
      const fail = (error: EgressError) => {
        settle();
        // Dropped so that a session the server no longer likes cannot fail the next handshake too.
        sessions.delete(endpoint);
        tlsSocket.destroy();
        socket.destroy();
        reject(error);
      };
      const failWith = (cause: Error) => {
        if (!isVerified) fail(new EgressError('tls_failed', endpoint, describeTlsFailure(cause), { cause }));
      };
      const closed = () => failWith(new Error('the connection was closed during the handshake'));

      // A resumed session skips the name check, because the session's first handshake made it. So only a session of a
      // verified handshake is kept, and only for the same host and port.
      tlsSocket.on('session', (session: Buffer) => {
        if (isVerified) keepSession(endpoint, session);
        else unverifiedSession = session;
      });
      tlsSocket.once('secureConnect', () => {
        isVerified = true;
        if (unverifiedSession !== undefined) keepSession(endpoint, unverifiedSession);
        settle();
        resolve(tlsSocket);
      });
      // Stays on: between this handshake and the next listener an error has no other taker, and would end the process.
      tlsSocket.on('error', failWith);
      tlsSocket.once('close', closed);
      if (signal.aborted) timeOut();
      else signal.addEventListener('abort', timeOut, { once: true });
    });
  };
}

function buildTlsOptions(
  trust: TlsTrust,
  socket: Socket,
  host: string,
  session: Buffer | undefined,
): ConnectionOptions {
  const name = trust.serverName ?? host;
  return {
    socket,
    // Names the certificate must carry; for an IP literal no SNI is sent (RFC 6066 §3), the address itself is checked.
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    // Said, because the default follows NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: trust.insecureSkipVerify !== true, // guard: upstream-certificate
    minVersion: trust.minVersion ?? 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    ...(session === undefined ? {} : { session }),
    ...(trust.ca === undefined ? {} : { ca: typeof trust.ca === 'string' ? trust.ca : [...trust.ca] }),
    ...(trust.cert === undefined ? {} : { cert: trust.cert }),
    ...(trust.key === undefined ? {} : { key: trust.key }),
  };
}

function describeTlsFailure(cause: Error): string {
  const code = systemCode(cause);
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return 'its TLS certificate has expired; renew it there.';
    case 'CERT_NOT_YET_VALID':
      return 'its TLS certificate is not valid yet; check both clocks.';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'its TLS certificate is for another name; correct the address or the certificate.';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `its TLS certificate is signed by an unknown authority (${code}); add its CA.`;
    case 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION':
    case 'ERR_SSL_UNSUPPORTED_PROTOCOL':
      return `it supports no TLS version that is accepted here (${code}).`;
    default:
      return `the TLS handshake failed (${code ?? cause.message}).`;
  }
}
