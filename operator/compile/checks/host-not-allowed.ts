// Is the Secret bound to the host that its value would be sent to?

import { judgeHost, parseAddressRules } from '../../../core/egress/address-rules.ts';
import type { SecretRecord } from '../../watch/snapshot.ts';
import { DEFAULT_PORTS, type Destination } from '../endpoint.ts';
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
    // Without the annotation, the Secret goes only to a built-in host, which no tenant can choose.
    if (destination.isBuiltIn) return undefined;
  } else if (annotation.split(',').some((entry) => isDestination(entry, destination))) {
    return undefined;
  }
  const { authority, scheme, seenAs } = destination;
  const entry = scheme === impliedScheme(destination) ? authority : `${scheme}://${authority}`;
  const to = `${entry}${seenAs === undefined ? '' : `, ${seenAs}`}`;
  const fact =
    annotation === undefined
      ? `which has no annotation ${ALLOWED_HOSTS_ANNOTATION}, so its value is not sent to ${to}; add it with this host`
      : `whose annotation ${ALLOWED_HOSTS_ANNOTATION} does not list ${to}, so its value is not sent there; add the host`;
  const { namespace, secret: name } = use;
  // A reader of the Provider may not read the Secret, so the shell looks up its other hosts.
  const present =
    annotation === undefined
      ? ''
      : `"$(kubectl -n ${namespace} get secret ${name} -o jsonpath='{.metadata.annotations.${ALLOWED_HOSTS_ANNOTATION.replaceAll('.', '\\.')}}')",`;
  return {
    reason: 'HostNotAllowed',
    message:
      `${use.field} names Secret ${use.secret}, ${fact}, or run: ` +
      `kubectl -n ${namespace} annotate secret ${name} --overwrite ` +
      `${ALLOWED_HOSTS_ANNOTATION}=${present}'${entry}'`,
  };
}

// Exactly `host`, `host:port`, or one of these behind a scheme: no path, user or wildcard.
const HOST_ENTRY = /^(?:(https?|socks5):\/\/)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/;

function isDestination(entry: string, destination: Destination): boolean {
  const { hostname, port, scheme } = destination;
  const [, named, host, portText] = HOST_ENTRY.exec(entry.trim().toLowerCase()) ?? [];
  if (host === undefined || URL.parse(`http://${host}`)?.hostname !== hostname) return false;
  if ((named ?? impliedScheme(destination)) !== scheme) return false;
  return (portText === undefined ? DEFAULT_PORTS[scheme] : Number(portText)) === port;
}

// The author of a Provider chooses its scheme, and could send a value over the internet in the clear: so http to a public host needs the
// consent of the Secret's author. For a private address, which the platform must have opened, the Provider's word is enough.
function impliedScheme({ hostname, scheme }: Destination): Destination['scheme'] {
  return judgeHost(nothingOpened, '', hostname).kind === 'denied' ? scheme : 'https';
}

const nothingOpened = parseAddressRules([]);
