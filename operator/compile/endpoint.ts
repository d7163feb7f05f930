// Where is a Provider, exactly? Its address in one spelling, so that it can be compared.

import { PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import type { ProviderSpec } from '../resources/provider.ts';

/** Where the value of a Secret would be sent. */
export interface Destination {
  /** Host name or address literal; IPv6 in brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly scheme: keyof typeof DEFAULT_PORTS;
  /** `host` or `host:port`; the default port of the scheme is left out. */
  readonly authority: string;
  /** By what the value is named in the table. */
  readonly tableHost: string;
  /** True where the type itself leads here. */
  readonly isBuiltIn: boolean;
  /** Why the value is seen there, where that is not plain. */
  readonly seenAs?: string;
}

export interface Endpoint extends Destination {
  /** Absolute address without a trailing slash. */
  readonly baseUrl: string;
  readonly scheme: 'http' | 'https';
}

export interface ProxyEndpoint extends Destination {
  readonly url: string;
}

/** Of the scheme: it may be left out. */
export const DEFAULT_PORTS = { http: 80, https: 443, socks5: 1080 } as const;

/** @throws {TypeError} where the address is no URL: its schema has let something through. */
export function endpointOf(spec: Pick<ProviderSpec, 'type' | 'baseURL'>): Endpoint {
  const builtIn = PROVIDER_TYPES[spec.type].baseUrl;
  const url = new URL(spec.baseURL ?? builtIn ?? '');
  const path = url.pathname === '/' ? '' : url.pathname;
  const scheme = url.protocol === 'http:' ? 'http' : 'https';
  return {
    baseUrl: `${url.protocol}//${url.host}${path}`,
    hostname: url.hostname,
    port: url.port === '' ? DEFAULT_PORTS[scheme] : Number(url.port),
    authority: url.host,
    tableHost: url.host,
    scheme,
    isBuiltIn: builtIn !== undefined && new URL(builtIn).origin === url.origin,
  };
}

/** The members that decide which hosts see a connection; of `tls`, only its presence. */
interface Connected {
  readonly proxy?: { readonly url: string } | undefined;
  readonly tls?:
    | {
        readonly caRef?: unknown;
        readonly serverName?: string | undefined;
        readonly insecureSkipVerify?: boolean;
      }
    | undefined;
}

const PROXY_URL = /^(https?|socks5):\/\/(.+?)(?::([0-9]{1,5}))?$/;

/** Undefined without a proxy. @throws {TypeError} for an invalid address, which the schema should have refused. */
export function proxyOf({ proxy }: Pick<Connected, 'proxy'>): ProxyEndpoint | undefined {
  if (proxy === undefined) return undefined;
  const [, scheme, host, portText] = PROXY_URL.exec(proxy.url) ?? [];
  // Read as an http URL, for of socks5 the parser knows nothing and leaves the host as it is written.
  const { hostname } = new URL(`http://${host}`);
  if (scheme !== 'http' && scheme !== 'https' && scheme !== 'socks5') {
    throw new TypeError('spec.proxy.url has an unknown scheme; write http://, https:// or socks5://');
  }
  const defaultPort = DEFAULT_PORTS[scheme];
  const port = portText === undefined ? defaultPort : Number(portText);
  return {
    url: proxy.url,
    scheme,
    hostname,
    port,
    authority: port === defaultPort ? hostname : `${hostname}:${port}`,
    tableHost: `${hostname}:${port}`,
    isBuiltIn: false,
  };
}

/** Does spec.tls decide which server is taken for the upstream, in place of the public authorities and its name? */
export function choosesServer({ caRef, serverName, insecureSkipVerify }: Connected['tls'] = {}): boolean {
  return caRef !== undefined || serverName !== undefined || insecureSkipVerify === true;
}

/**
 * Hosts that can read requests to the Provider: its own; and its proxy, over plain HTTP or if spec.tls changes how the upstream is
 * verified. The author of the Provider chooses the proxy too, and with an authority or a name of their own the proxy could answer in
 * the upstream's place.
 */
export function readersOf(spec: Connected, endpoint: Endpoint): readonly Destination[] {
  const proxy = proxyOf(spec);
  if (proxy === undefined) return [endpoint];
  const ground =
    endpoint.scheme === 'http'
      ? 'the proxy, which reads what is sent over plain http'
      : choosesServer(spec.tls)
        ? 'the proxy, which could answer in place of the upstream under the rules of spec.tls'
        : undefined;
  return ground === undefined ? [endpoint] : [endpoint, { ...proxy, seenAs: ground }];
}
