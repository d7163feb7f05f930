// The two things every connector test says: who may go where, and connect now.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type AllowEntry, parseAddressRules } from '../../../core/egress/address-rules.ts';
import {
  createGuardedConnector,
  EgressError,
  type GuardedConnector,
  type GuardedConnectorOptions,
} from '../../../core/egress/connect.ts';

export const loopbackOpen: readonly AllowEntry[] = [{ cidr: '127.0.0.0/8', namespaces: ['team-a'] }];

/** A connector for namespace team-a; says only what differs. */
export function makeConnector(
  options: Partial<GuardedConnectorOptions> & { allow?: readonly AllowEntry[] } = {},
): GuardedConnector {
  const { allow = [], ...rest } = options;
  return createGuardedConnector({ rules: parseAddressRules(allow), namespace: 'team-a', ...rest });
}

/** `https://api.example:8443` -> the socket, or the connector's own error as rejection. */
export function connectTo(
  connector: GuardedConnector,
  origin: string,
  unwanted?: AbortSignal,
): Promise<Socket | TLSSocket> {
  const [, protocol = '', hostname = '', port = ''] = /^(\w+:)\/\/(.*?)(?::(\d+))?$/.exec(origin) ?? [];
  return new Promise((resolve, reject) => {
    connector({ hostname, protocol, port, unwanted }, (error, socket) => {
      if (socket === null) reject(error);
      else resolve(socket);
    });
  });
}

/** The error of a connection that must not come about. */
export async function failureOf(attempt: Promise<Socket | TLSSocket>): Promise<EgressError> {
  const outcome = await attempt.then(
    (socket) => {
      socket.destroy();
      return new Error('it connected');
    },
    (error: unknown) => error,
  );
  if (outcome instanceof EgressError) return outcome;
  throw new Error(`expected an EgressError, got ${String(outcome)}`, { cause: outcome });
}
