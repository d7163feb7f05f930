// Is the Secret bound to the host that its value would be sent to?

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Finding } from '../verdict.ts';
import { ALLOWED_HOSTS_ANNOTATION, type SecretUse } from './secret-use.ts';

export function hostNotAllowed(
  use: SecretUse,
  secret: SecretRecord,
  endpoint: Endpoint,
): Finding | undefined {
  const annotation = Object.hasOwn(secret.annotations, ALLOWED_HOSTS_ANNOTATION)
    ? secret.annotations[ALLOWED_HOSTS_ANNOTATION]
    : undefined;
  if (annotation === undefined) {
    // Without the annotation the only host is the one that nobody can choose.
    if (endpoint.isBuiltIn) return undefined;
  } else if (
    annotation.split(',').some((entry) => authorityOf(entry, endpoint.scheme) === endpoint.authority)
  ) {
    return undefined;
  }
  const fact = annotation === undefined ? 'is bound to no host' : 'is bound to other hosts';
  return {
    reason: 'HostNotAllowed',
    message:
      `${use.field} names Secret ${use.secret}, which ${fact}, so its value is not sent to ${endpoint.authority}; ` +
      `whoever may write the Secret can allow that: add ${endpoint.authority} to its annotation ${ALLOWED_HOSTS_ANNOTATION}`,
  };
}

// Exactly `host` or `host:port`: nothing that a URL parser would read more out of, and no wildcard.
const HOST_ENTRY = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/;

/** An entry in the spelling of `Endpoint.authority`; undefined where it is no exact host. */
function authorityOf(entry: string, scheme: Endpoint['scheme']): string | undefined {
  const host = entry.trim().toLowerCase();
  return HOST_ENTRY.test(host) ? URL.parse(`${scheme}://${host}`)?.host : undefined;
}
