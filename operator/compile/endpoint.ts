// Where is a Provider, exactly? Its address in one spelling, so that it can be compared.

import type { ProviderSpec } from '../resources/provider.ts';
import { PROVIDER_TYPES } from '../resources/provider-types.ts';

export interface Endpoint {
  /** Absolute address without a trailing slash. */
  readonly baseUrl: string;
  /** Host name or address literal; IPv6 in brackets. */
  readonly hostname: string;
  /** `host` or `host:port`; the default port of the scheme is left out. */
  readonly authority: string;
  readonly scheme: 'http' | 'https';
  /** True where the type itself leads here. */
  readonly isBuiltIn: boolean;
}

/** @throws {TypeError} where the address is no URL: its schema has let something through. */
export function endpointOf(spec: ProviderSpec): Endpoint {
  const builtIn = PROVIDER_TYPES[spec.type].baseUrl;
  const url = new URL(spec.baseURL ?? builtIn ?? '');
  const path = url.pathname === '/' ? '' : url.pathname;
  return {
    baseUrl: `${url.protocol}//${url.host}${path}`,
    hostname: url.hostname,
    authority: url.host,
    scheme: url.protocol === 'http:' ? 'http' : 'https',
    isBuiltIn: builtIn !== undefined && new URL(builtIn).origin === url.origin,
  };
}
