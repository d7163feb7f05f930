// May the namespace reach this address? What the gateway refuses at connect time, told before any traffic.

import { type AddressRules, judgeHost } from '../../../egress/address-rules.ts';
import type { Endpoint } from '../endpoint.ts';
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
