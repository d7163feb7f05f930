// How do our processes know each other over TLS? Under which names, and where what they need for it lies.

/** In the certificate of every gateway, whatever address its pod has. `.internal` is no name of the Internet. */
export const GATEWAY_SERVER_NAME = 'gateway.penstock.internal';

/** Name of the container port at which a gateway answers operator and ledger over TLS. */
export const INTERNAL_TLS_PORT = 'internal-tls';

/** Host names of its Service, which the whole cluster calls; the first is the name in addresses. */
export function ledgerServerNames(instance: string, namespace: string): readonly [string, ...string[]] {
  const name = `${instance}-ledger`;
  const inNamespace = `${name}.${namespace}`;
  // The last is for `kubectl port-forward`.
  return [`${inNamespace}.svc`, `${inNamespace}.svc.cluster.local`, inNamespace, name, 'localhost'];
}

/** Secret with the authority: its certificate and key, the bundle of those that are trusted, and what gateways show. */
export function authoritySecretName(instance: string): string {
  return `${instance}-internal-ca`;
}

/** Secret with what the ledger shows. */
export function ledgerSecretName(instance: string): string {
  return `${instance}-ledger-tls`;
}

/** Data keys of these Secrets and, of what a gateway needs, of the pointer. All of it is PEM. */
export const TLS_DATA = {
  /** Certificates of the authorities that are trusted. */
  trusted: 'ca.crt',
  certificate: 'tls.crt',
  key: 'tls.key',
} as const;

/** A certificate and its key. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The certificates that the pointer hands to its readers. */
export interface InternalTls extends KeyPair {
  readonly trusted: string;
}

/** @param text gives the value under a data key. Undefined if a part is missing. */
export function readKeyPair(
  text: (name: string) => string | undefined,
  names: KeyPair = TLS_DATA,
): KeyPair | undefined {
  const certificate = text(names.certificate);
  const key = text(names.key);
  return certificate && key ? { certificate, key } : undefined;
}

/** @param text gives the value under a data key. Undefined if a part is missing. */
export function readInternalTls(text: (name: string) => string | undefined): InternalTls | undefined {
  const pair = readKeyPair(text);
  const trusted = text(TLS_DATA.trusted);
  return pair && trusted ? { ...pair, trusted } : undefined;
}

/** How a call is made: the authorities that are trusted, and the name in the certificate if it is not that of the address. */
interface Trust {
  readonly trusted: string;
  readonly serverName?: string;
}

/** The pod of a gateway, as its own object declares it. */
interface GatewayPlace {
  readonly ip: string;
  /** For plain HTTP. */
  readonly port: number;
  /** Undefined: the pod is of a release that has no TLS. */
  readonly tlsPort?: number | undefined;
}

export interface GatewayWay {
  readonly to: { readonly host: string; readonly port: number; readonly path: string };
  readonly trust?: Trust;
}

/**
 * In plain HTTP only to a pod that declares no TLS, or while the pointer brings no certificates to gateways: never because a handshake
 * failed.
 */
export function wayToGateway(place: GatewayPlace, path: string, trusted: string | undefined): GatewayWay {
  const { ip: host, port, tlsPort } = place;
  // guard: internal-tls
  if (tlsPort === undefined || trusted === undefined) return { to: { host, port, path } };
  return { to: { host, port: tlsPort, path }, trust: { trusted, serverName: GATEWAY_SERVER_NAME } };
}

export interface LedgerPlace {
  /** `http://host:port` */
  readonly address: string;
  /** `https://host:port`; undefined: the installation has no TLS inside the cluster. */
  readonly tlsAddress?: string | undefined;
  /** The authorities that the pointer names; read at each call. */
  trusted?(): string | undefined;
}

/** In plain HTTP only where the installation has no TLS, or while the pointer, written by an earlier operator, brings no certificates. */
export function wayToLedger(place: LedgerPlace, path: string): { readonly to: URL; readonly trust?: Trust } {
  const trusted = place.trusted?.();
  if (place.tlsAddress === undefined || trusted === undefined) return { to: new URL(path, place.address) };
  return { to: new URL(path, place.tlsAddress), trust: { trusted } };
}
