// May the namespace reach this address? Reports before any traffic what the gateway refuses at connect time.

import { type AddressRules, judgeHost } from '../../../core/egress/address-rules.ts';
import type { Endpoint, ProxyEndpoint } from '../endpoint.ts';
import type { Finding } from '../verdict.ts';

/** Only what the address itself shows; what a name resolves to is judged at every connect. */
export function endpointNotAllowed(
  namespace: string,
  endpoint: Endpoint,
  rules: AddressRules,
): Finding | undefined {
  const verdict = judgeHost(rules, namespace, endpoint.hostname);
  if (verdict.kind !== 'denied') return undefined;
  const sentence = verdict.sentence.replace(/\.$/, '');
  return { reason: 'EndpointNotAllowed', message: `spec.baseURL ${endpoint.baseUrl}: ${sentence}` };
}

/** The proxy of a Provider is dialled as any upstream is, so it is judged as one. */
export function proxyNotAllowed(
  namespace: string,
  proxy: ProxyEndpoint | undefined,
  rules: AddressRules,
): Finding | undefined {
  if (proxy === undefined) return undefined;
  const verdict = judgeHost(rules, namespace, proxy.hostname);
  if (verdict.kind !== 'denied') return undefined;
  const sentence = verdict.sentence.replace(/\.$/, '');
  return { reason: 'EndpointNotAllowed', message: `spec.proxy.url ${proxy.url}: ${sentence}` };
}
