// Does the Provider have TLS settings without https?

import type { ProviderSpec } from '../../resources/provider.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Finding } from '../verdict.ts';

export function tlsWithoutHttps({ tls }: ProviderSpec, { scheme, baseUrl }: Endpoint): Finding | undefined {
  if (tls === undefined || scheme === 'https') return undefined;
  return {
    reason: 'Invalid',
    message: `spec.tls has no effect on spec.baseURL ${baseUrl}, which is plain http; write https there, or remove spec.tls`,
  };
}
