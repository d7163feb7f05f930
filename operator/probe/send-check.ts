// Sends a health check: one call on its own connection, through the same egress guard as every call of a gateway.

import { request } from 'node:http';
import { buildConnection } from '../../core/contract/connection.ts';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import type { AddressRules } from '../../core/egress/address-rules.ts';
import { createGuardedConnector } from '../../core/egress/connect.ts';
import { EgressError } from '../../core/egress/egress-error.ts';
import type { CheckAnswer, CheckCall, RevealCredential } from './check.ts';

export interface CheckRoute {
  readonly entry: ProviderEntry;
  /** What its namespace may reach. */
  readonly rules: AddressRules;
  readonly reveal: RevealCredential;
}

/** The error of an answer is at its beginning, and says in a few hundred bytes what it has to say. */
const bodyBytesMax = 16 * 1024;

/** Never rejects. Of the answer's body only the beginning is read, and only where it may say what is refused. */
export type SendCheck = (
  call: CheckCall,
  route: CheckRoute,
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<CheckAnswer>;

export const sendCheck: SendCheck = (call, { entry, rules, reveal }, timeoutMs, signal) => {
  const url = new URL(call.url);
  const connect = createGuardedConnector({
    rules,
    namespace: entry.id.slice(0, entry.id.indexOf('/')),
    connectTimeoutMs: timeoutMs,
    ...buildConnection(entry, (id) => reveal(id) ?? ''),
  });
  const late = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve) => {
    const fail = (error: Error): void => {
      const reason = late.aborted
        ? `${call.method} ${call.url} was not answered within ${timeoutMs} ms`
        : error instanceof EgressError
          ? error.message
          : `${call.method} ${call.url}: the connection broke (${codeOf(error)})`;
      resolve({ type: 'none', reason });
    };
    const outgoing = request(
      {
        method: call.method,
        host: url.hostname,
        path: url.pathname + url.search,
        headers: { ...call.headers, host: url.host, connection: 'close' },
        signal: AbortSignal.any([signal, late]),
        createConnection(_options, done) {
          connect(url, (error, socket) => {
            if (socket !== null) return done(null, socket);
            // A request without a connection tells of no error.
            fail(error);
            outgoing.destroy();
          });
          return undefined;
        },
      },
      (incoming) => {
        const status = incoming.statusCode ?? 0;
        if (status < 400 || status >= 500) {
          resolve({ type: 'status', status });
          outgoing.destroy();
          return;
        }
        const pieces: Buffer[] = [];
        let bytes = 0;
        incoming.on('data', (piece: Buffer) => {
          pieces.push(piece);
          bytes += piece.length;
          if (bytes >= bodyBytesMax) outgoing.destroy();
        });
        // A body that breaks off or takes too long: the status has said enough.
        outgoing.off('error', fail).on('error', () => {});
        incoming.on('error', () => {});
        incoming.on('close', () => {
          const body = Buffer.concat(pieces).subarray(0, bodyBytesMax).toString('utf8');
          resolve({ type: 'status', status, body });
        });
      },
    );
    outgoing.on('error', fail);
    outgoing.end(call.body);
  });
};

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
