// How is one guarded connection made? Read the host, resolve once, check every address, connect to a checked address,
// check the peer, verify TLS. It has the shape of undici's connector and knows nothing of undici.
//
// With a proxy, the connection goes to the proxy, checked in the same way, and a tunnel leads on. The upstream is checked
// before the proxy learns its name, and TLS goes from end to end through the tunnel.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  type AddressRules,
  type AllowedAddress,
  type Denied,
  type HostVerdict,
  judgeAddress,
  judgeAnswers,
  judgeHost,
  type NameToResolve,
} from './address-rules.ts';
import { type Deadline, startDeadline, withinSignal } from './deadline.ts';
import { type Dial, dialByTcp, dialFirst } from './dial.ts';
import { EgressError, systemCode } from './egress-error.ts';
import { createResolver, type LastAnswers, type Resolve, resolveBySystem } from './resolve.ts';
import { createSecure, type TlsTrust } from './secure.ts';
import type { ProxyCredentials } from './tunnel/handshake.ts';
import { startHttpConnect } from './tunnel/http-connect.ts';
import { openTunnel } from './tunnel/open-tunnel.ts';
import { startSocks5 } from './tunnel/socks5.ts';

export { EgressError, type EgressErrorCode } from './egress-error.ts';

/** What connections are tunnelled through. */
export interface ProxyRoute {
  readonly protocol: 'http' | 'https' | 'socks5';
  readonly hostname: string;
  readonly port: number;
  readonly credentials?: ProxyCredentials;
  /** TLS of an https proxy; the Provider's TLS settings are only for the upstream. Default: the usual roots. */
  readonly tls?: TlsTrust;
}

export interface GuardedConnectorOptions {
  readonly rules: AddressRules;
  /** The namespace on whose behalf the connection is made: the Provider's own. */
  readonly namespace: string;
  /** One timer over DNS, TCP and TLS. Default 3,000. */
  readonly connectTimeoutMs?: number;
  readonly tls?: TlsTrust;
  readonly proxy?: ProxyRoute;
  /** All addresses of a name. Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Last DNS answers. Default: of this connector alone. */
  readonly lastAnswers?: LastAnswers;
  /** Opens a TCP connection. Default: node:net. */
  readonly dial?: Dial;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs?: () => number;
}

/** The arguments that undici passes to a connector, and an option of the client. */
interface ConnectTarget {
  readonly hostname: string;
  readonly host?: string | undefined;
  readonly protocol: string;
  /** Empty: the protocol's own. */
  readonly port: string;
  /** Not read: undici derives it from a Host header, and a header must not choose whose certificate is accepted. */
  readonly servername?: string | null | undefined;
  readonly localAddress?: string | null | undefined;
  readonly httpSocket?: Socket | undefined;
  /** Aborts when the connection is no longer needed: it is given up as after a timeout. */
  readonly unwanted?: AbortSignal | undefined;
}

type ConnectCallback = (...args: [null, Socket | TLSSocket] | [Error, null]) => void;

/** Calls back exactly once: with a connected (and for https verified) socket, or with an `EgressError`. */
export type GuardedConnector = (target: ConnectTarget, callback: ConnectCallback) => void;

const connectTimeoutDefaultMs = 3000;

type ReachableHost = Exclude<HostVerdict, Denied>;

export function createGuardedConnector(options: GuardedConnectorOptions): GuardedConnector {
  const { rules, namespace, connectTimeoutMs = connectTimeoutDefaultMs, dial = dialByTcp } = options;
  const nowMs = options.nowMs ?? (() => performance.now());
  const { proxy } = options;
  const secure = createSecure(options.tls);
  const secureProxy = createSecure(proxy?.tls);
  const resolve = createResolver({
    resolve: options.resolve ?? resolveBySystem,
    nowMs,
    // A quarter for an old answer's sake leaves the rest for TCP and TLS, and is over before the third that a name gets behind a proxy.
    patienceMs: connectTimeoutMs / 4,
    ...(options.lastAnswers && { lastAnswers: options.lastAnswers }),
  });

  async function connect(target: ConnectTarget): Promise<Socket | TLSSocket> {
    const { endpoint, port, isTls } = readEndpoint(target);
    const host = judgeHost(rules, namespace, target.hostname);
    if (host.kind === 'denied') throw refuse(endpoint, host); // guard: egress-url-address
    const deadline = startDeadline(connectTimeoutMs, nowMs, target.unwanted);
    try {
      const localAddress = target.localAddress ?? undefined;
      const socket =
        proxy === undefined
          ? (await dialJudged(endpoint, host, port, localAddress, deadline)).socket
          : await dialThrough(proxy, endpoint, host, port, localAddress, deadline);
      if (!isTls) return socket;
      const identity = host.kind === 'name' ? host.name : host.address;
      return await secure(socket, { host: identity, endpoint }, deadline.signal);
    } finally {
      deadline.clear();
    }
  }

  async function dialJudged(
    endpoint: string,
    host: ReachableHost,
    port: number,
    localAddress: string | undefined,
    deadline: Deadline,
  ): Promise<{ readonly socket: Socket; readonly address: AllowedAddress }> {
    const addresses = host.kind === 'name' ? await findAddresses(endpoint, host, deadline) : [host];
    const dialled = await dialFirst(endpoint, addresses, { port, localAddress }, dial, deadline);
    checkPeer(endpoint, dialled.socket, dialled.address); // guard: egress-peer
    return dialled;
  }

  /** The upstream is checked while the proxy is dialled; nothing is sent to either before both are allowed. */
  async function dialThrough(
    through: ProxyRoute,
    upstream: string,
    host: ReachableHost,
    port: number,
    localAddress: string | undefined,
    deadline: Deadline,
  ): Promise<Socket> {
    const { protocol, hostname, credentials } = through;
    const proxyName = `${hostname}:${through.port}`;
    const endpoint = `${upstream} through proxy ${proxyName}`;
    const proxyHost = judgeHost(rules, namespace, hostname);
    if (proxyHost.kind === 'denied') throw refuse(endpoint, proxyHost);
    const upstreamVerdict = judgeBehindProxy(upstream, host, deadline);
    // Checked below, after dialling.
    upstreamVerdict.catch(() => undefined);
    const { socket, address } = await dialJudged(
      endpoint,
      proxyHost,
      through.port,
      localAddress,
      deadline,
    ).catch(async (error: unknown) => {
      // The refused upstream is the error that a person can act on.
      await upstreamVerdict;
      throw error;
    });
    try {
      const unresolved = await upstreamVerdict;
      // A name that cannot be resolved here cannot be judged here. Only a proxy that the platform has opened by its
      // address is left to judge it: in networks with such a proxy, names of the outside are often known to it alone.
      if (unresolved !== undefined && address.kind !== 'allowlisted') throw unresolved;
    } catch (error) {
      socket.destroy();
      throw error;
    }
    const identity = proxyHost.kind === 'name' ? proxyHost.name : proxyHost.address;
    const wire =
      protocol === 'https'
        ? await secureProxy(socket, { host: identity, endpoint }, deadline.signal)
        : socket;
    const tunnelled = { host: host.kind === 'name' ? host.name : host.address, port };
    const startHandshake = protocol === 'socks5' ? startSocks5 : startHttpConnect;
    await openTunnel(wire, startHandshake(tunnelled, credentials), endpoint, deadline.signal);
    return wire;
  }

  /** Undefined: judged and allowed. Else the name has no answer here, which may be all right behind a proxy. */
  async function judgeBehindProxy(
    endpoint: string,
    host: ReachableHost,
    deadline: Deadline,
  ): Promise<EgressError | undefined> {
    if (host.kind !== 'name') return undefined;
    const patience = startDeadline(deadline.remainingMs() / 3, nowMs, deadline.signal);
    try {
      await findAddresses(endpoint, host, patience);
      return undefined;
    } catch (error) {
      if (error instanceof EgressError && error.code !== 'egress_denied' && !host.isInternal) return error;
      throw error;
    } finally {
      patience.clear();
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
      () => new EgressError('connect_timeout', endpoint, 'the resolver did not answer in time; check DNS.'),
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
        // The socket may have died since it connected, and its last error event with it.
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
    throw new EgressError(
      'connect_failed',
      endpoint,
      `the protocol ${target.protocol} is not supported; use https:.`,
    );
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new EgressError(
      'connect_failed',
      endpoint,
      'its port is not between 1 and 65535; correct the URL.',
    );
  }
  if (target.httpSocket !== undefined) {
    throw new EgressError('connect_failed', endpoint, 'a socket opened elsewhere cannot be judged.');
  }
  return { endpoint, port, isTls };
}

function refuse(endpoint: string, denied: Denied): EgressError {
  return new EgressError('egress_denied', endpoint, `not allowed. ${denied.sentence}`, {
    reason: denied.reason,
  });
}
