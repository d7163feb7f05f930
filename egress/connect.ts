// How does one guarded connection come about? Read the host, resolve once, judge everything, connect to a judged address,
// judge the peer, verify TLS. It has the shape of undici's connector and knows nothing of undici.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  type AddressRules,
  type AllowedAddress,
  type Denied,
  judgeAddress,
  judgeAnswers,
  judgeHost,
  type NameToResolve,
} from './address-rules.ts';
import { type Deadline, startDeadline, withinSignal } from './deadline.ts';
import { type Dial, dialByTcp, dialFirst } from './dial.ts';
import { EgressError, systemCode } from './egress-error.ts';
import { createResolver, type Resolve, resolveBySystem } from './resolve.ts';
import { createSecure, type TlsTrust } from './secure.ts';

export { EgressError, type EgressErrorCode } from './egress-error.ts';

export interface GuardedConnectorOptions {
  readonly rules: AddressRules;
  /** The namespace on whose behalf the connection is made: the Provider's own. */
  readonly namespace: string;
  /** One timer over DNS, TCP and TLS. Default 3,000. */
  readonly connectTimeoutMs?: number;
  readonly tls?: TlsTrust;
  /** All addresses of a name. Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Opens a TCP connection. Default: node:net. */
  readonly dial?: Dial;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs?: () => number;
}

/** What undici hands to a connector. */
export interface ConnectTarget {
  readonly hostname: string;
  readonly host?: string | undefined;
  readonly protocol: string;
  /** Empty: the protocol's own. */
  readonly port: string;
  /** Not read: undici derives it from a Host header, and a header must not choose whose certificate is accepted. */
  readonly servername?: string | null | undefined;
  readonly localAddress?: string | null | undefined;
  readonly httpSocket?: Socket | undefined;
}

export type ConnectCallback = (...args: [null, Socket | TLSSocket] | [Error, null]) => void;

/** Calls back exactly once: with a connected (and for https verified) socket, or with an `EgressError`. */
export type GuardedConnector = (target: ConnectTarget, callback: ConnectCallback) => void;

const connectTimeoutDefaultMs = 3000;

export function createGuardedConnector(options: GuardedConnectorOptions): GuardedConnector {
  const { rules, namespace, connectTimeoutMs = connectTimeoutDefaultMs, dial = dialByTcp } = options;
  const nowMs = options.nowMs ?? (() => performance.now());
  const secure = createSecure(options.tls);
  const resolve = createResolver({
    resolve: options.resolve ?? resolveBySystem,
    nowMs,
    // A third for an old answer's sake leaves two thirds for TCP and TLS.
    patienceMs: connectTimeoutMs / 3,
  });

  async function connect(target: ConnectTarget): Promise<Socket | TLSSocket> {
    const { endpoint, port, isTls } = readEndpoint(target);
    const host = judgeHost(rules, namespace, target.hostname);
    if (host.kind === 'denied') throw refuse(endpoint, host);
    const deadline = startDeadline(connectTimeoutMs, nowMs);
    try {
      const addresses = host.kind === 'name' ? await findAddresses(endpoint, host, deadline) : [host];
      const localAddress = target.localAddress ?? undefined;
      const { socket, address } = await dialFirst(
        endpoint,
        addresses,
        { port, localAddress },
        dial,
        deadline,
      );
      checkPeer(endpoint, socket, address);
      if (!isTls) return socket;
      const identity = host.kind === 'name' ? host.name : host.address;
      return await secure(socket, { host: identity, endpoint }, deadline.signal);
    } finally {
      deadline.clear();
    }
  }

  async function findAddresses(
    endpoint: string,
    host: NameToResolve,
    deadline: Deadline,
  ): Promise<readonly AllowedAddress[]> {
    const answer = withinSignal(
      resolve(host.name),
      deadline.signal,
      () => new EgressError('connect_timeout', endpoint, 'the resolver did not answer in time.'),
    );
    const addresses = await answer.catch((error: unknown) => {
      if (error instanceof EgressError) throw error;
      const fact = `its name cannot be resolved (${systemCode(error) ?? 'no answer'}); check the name and DNS.`;
      throw new EgressError('dns_failed', endpoint, fact, { cause: error });
    });
    const verdict = judgeAnswers(rules, namespace, host, addresses);
    if (verdict.kind === 'denied') throw refuse(endpoint, verdict);
    return verdict.addresses;
  }

  // The kernel's word on where we are. A wrapped or redirected dial, or one that follows a name again, ends here.
  function checkPeer(endpoint: string, socket: Socket, dialled: AllowedAddress): void {
    const peer = socket.remoteAddress;
    if (peer === undefined) {
      socket.destroy();
      throw new EgressError('connect_failed', endpoint, `${dialled.address} closed the connection at once.`);
    }
    const verdict = judgeAddress(rules, namespace, peer);
    if (verdict.kind !== 'denied' && verdict.address === dialled.address) return;
    socket.destroy();
    throw verdict.kind === 'denied'
      ? refuse(endpoint, verdict)
      : new EgressError('connect_failed', endpoint, `dialled ${dialled.address} and reached ${peer}.`);
  }

  return (target, callback) => {
    connect(target).then(
      (socket) => {
        // It may have died since it connected, and its last error event with it.
        if (socket.destroyed) {
          const { endpoint } = readEndpoint(target);
          callback(new EgressError('connect_failed', endpoint, 'the connection was closed at once.'), null);
        } else callback(null, socket);
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

function readEndpoint(target: ConnectTarget): { endpoint: string; port: number; isTls: boolean } {
  const isTls = target.protocol === 'https:';
  const port = target.port === '' ? (isTls ? 443 : 80) : Number(target.port);
  const isBareIpv6 = target.hostname.includes(':') && !target.hostname.startsWith('[');
  const endpoint = `${isBareIpv6 ? `[${target.hostname}]` : target.hostname}:${port}`;
  if (!isTls && target.protocol !== 'http:') {
    throw new EgressError('connect_failed', endpoint, `${target.protocol} is not spoken; use https:.`);
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new EgressError(
      'connect_failed',
      endpoint,
      'its port is not between 1 and 65535; correct the URL.',
    );
  }
  if (target.httpSocket !== undefined) {
    throw new EgressError(
      'connect_failed',
      endpoint,
      'a socket opened elsewhere cannot be judged; no proxies.',
    );
  }
  return { endpoint, port, isTls };
}

function refuse(endpoint: string, denied: Denied): EgressError {
  return new EgressError('egress_denied', endpoint, `not allowed. ${denied.sentence}`, {
    reason: denied.reason,
  });
}
