// Is the Secret bound to the host that its value would be sent to?

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Destination } from '../endpoint.ts';
import type { Finding } from '../verdict.ts';
import { ALLOWED_HOSTS_ANNOTATION, type SecretUse } from './secret-use.ts';

export function hostNotAllowed(
  use: SecretUse,
  secret: SecretRecord,
  destination: Destination,
): Finding | undefined {
  const annotation = Object.hasOwn(secret.annotations, ALLOWED_HOSTS_ANNOTATION)
    ? secret.annotations[ALLOWED_HOSTS_ANNOTATION]
    : undefined;
  if (annotation === undefined) {
    // Without the annotation the only host is the one that nobody can choose.
    if (destination.isBuiltIn) return undefined;
  } else if (annotation.split(',').some((entry) => isDestination(entry, destination))) {
    return undefined;
  }
  const { authority, seenAs } = destination;
  const fact = annotation === undefined ? 'is bound to no host' : 'is bound to other hosts';
  return {
    reason: 'HostNotAllowed',
    message:
      `${use.field} names Secret ${use.secret}, which ${fact}, so its value is not sent to ${authority}` +
      `${seenAs === undefined ? '' : `, ${seenAs}`}; ` +
      `whoever may write the Secret can allow that: add ${authority} to its annotation ${ALLOWED_HOSTS_ANNOTATION}`,
  };
}

// Exactly `host` or `host:port`: nothing that a URL parser would read more out of, and no wildcard.
const HOST_ENTRY = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/;

function isDestination(entry: string, { hostname, port, defaultPort }: Destination): boolean {
  const [, host, portText] = HOST_ENTRY.exec(entry.trim().toLowerCase()) ?? [];
  if (host === undefined || URL.parse(`http://${host}`)?.hostname !== hostname) return false;
  return (portText === undefined ? defaultPort : Number(portText)) === port;
}
