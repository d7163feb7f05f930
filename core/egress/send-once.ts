// Sends one call on its own guarded connection, and reads as much of the answer as is wanted: for health checks and tests of a connection.

import { request } from 'node:http';
import type { AddressRules } from './address-rules.ts';
import { createGuardedConnector, type GuardedConnectorOptions } from './connect.ts';
import { EgressError } from './egress-error.ts';

export interface OneCall {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface OneCallOptions {
  readonly rules: AddressRules;
  /** On whose behalf it is sent. */
  readonly namespace: string;
  readonly connection: Pick<GuardedConnectorOptions, 'tls' | 'proxy'>;
  /** For all of it. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** How much of a body is read, by its status; 0: nothing. */
  bodyBytesMax(status: number): number;
}

/** The result: a status, or no answer at all and why. */
export type OneAnswer =
  /** `body`: as far as it has come. */
  | { readonly type: 'status'; readonly status: number; readonly body?: string }
  /** @param reason a sentence without secrets. */
  | { readonly type: 'none'; readonly reason: string };

/** Never rejects. */
export function sendOnce(call: OneCall, options: OneCallOptions): Promise<OneAnswer> {
  const { timeoutMs, signal } = options;
  const url = new URL(call.url);
  const connect = connectorOf(options);
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
        const bytesMax = options.bodyBytesMax(status);
        if (bytesMax === 0) {
          resolve({ type: 'status', status });
          outgoing.destroy();
          return;
        }
        const pieces: Buffer[] = [];
        let bytes = 0;
        incoming.on('data', (piece: Buffer) => {
          pieces.push(piece);
          bytes += piece.length;
          if (bytes >= bytesMax) outgoing.destroy();
        });
        // A body that breaks off or takes too long: the status has said enough.
        outgoing.off('error', fail).on('error', () => {});
        incoming.on('error', () => {});
        incoming.on('close', () => {
          const body = Buffer.concat(pieces).subarray(0, bytesMax).toString('utf8');
          resolve({ type: 'status', status, body });
        });
      },
    );
    outgoing.on('error', fail);
    outgoing.end(call.body);
  });
}

type ConnectOptions = Pick<OneCallOptions, 'rules' | 'namespace' | 'connection' | 'timeoutMs'>;

/** Only connects, TLS included. @returns why that failed, in a sentence without secrets. Never rejects. */
export function connectOnce(address: string, options: ConnectOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    connectorOf(options)(new URL(address), (error, socket) => {
      socket?.destroy();
      resolve(error?.message);
    });
  });
}

function connectorOf({ rules, namespace, connection, timeoutMs }: ConnectOptions) {
  return createGuardedConnector({ rules, namespace, connectTimeoutMs: timeoutMs, ...connection });
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
