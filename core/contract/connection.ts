// How is a connection to this provider opened? Its entry together with its credentials, for gateways that send
// requests and for the operator's health checks.

import type { ProviderEntry } from './routing-table.ts';

/** Secrets in the clear: to be made when a connection is wanted, and not to be kept or shown. */
export interface ConnectionMaterial {
  readonly tls?: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly serverName?: string;
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
    readonly insecureSkipVerify?: true;
  };
  readonly proxy?: {
    readonly protocol: 'http' | 'https' | 'socks5';
    readonly hostname: string;
    readonly port: number;
    readonly credentials?: { readonly username: string; readonly password: string };
  };
}

/** `host:port` by which credentials of a proxy are bound to it. */
export function proxyAuthority({ hostname, port }: NonNullable<ProviderEntry['proxy']>): string {
  return `${hostname}:${port}`;
}

/** @param reveal the value of a credential of this provider. */
export function buildConnection(
  { tls, proxy }: Pick<ProviderEntry, 'tls' | 'proxy'>,
  reveal: (credentialId: string) => string,
): ConnectionMaterial {
  return {
    ...(tls === undefined ? {} : { tls: buildTls(tls, reveal) }),
    ...(proxy === undefined ? {} : { proxy: buildProxy(proxy, reveal) }),
  };
}

function buildTls(
  { clientCertificate, ca, serverName, minVersion, insecureSkipVerify }: NonNullable<ProviderEntry['tls']>,
  reveal: (credentialId: string) => string,
): NonNullable<ConnectionMaterial['tls']> {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(clientCertificate === undefined
      ? {}
      : { cert: clientCertificate.chain, key: reveal(clientCertificate.key) }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(insecureSkipVerify === undefined ? {} : { insecureSkipVerify }),
  };
}

function buildProxy(
  { protocol, hostname, port, username, password }: NonNullable<ProviderEntry['proxy']>,
  reveal: (credentialId: string) => string,
): NonNullable<ConnectionMaterial['proxy']> {
  const isSigned = username !== undefined && password !== undefined;
  return {
    protocol,
    hostname,
    port,
    ...(isSigned ? { credentials: { username: reveal(username), password: reveal(password) } } : {}),
  };
}
