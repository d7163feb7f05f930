// May the namespace use the gateway's own identity at a cloud, through this role and at this address?

import { CLOUDS, type CloudName } from '../../../core/catalog/clouds.ts';
import { inWords } from '../../resources/in-words.ts';
import type { PlatformSettings } from '../../watch/snapshot.ts';
import type { Destination } from '../endpoint.ts';
import type { Finding } from '../verdict.ts';

/** The identity that a Provider without keys asks for. */
export interface IdentityUse {
  readonly cloud: CloudName;
  /** The role that the identity assumes; undefined: none. */
  readonly role: string | undefined;
}

/**
 * @param readers every host that sees its tokens. A tenant that could choose a host would get a token of the platform.
 * @param isServerChosen by the tenant's own rules of TLS.
 */
export function identityNotAllowed(
  namespace: string,
  use: IdentityUse | undefined,
  readers: readonly Destination[],
  isServerChosen: boolean,
  { platformNamespaces, cloudIdentities = [] }: PlatformSettings,
): Finding | undefined {
  if (use === undefined || platformNamespaces.includes(namespace)) return undefined;
  const { cloud, role } = use;
  const { hosts, member, role: field } = CLOUDS[cloud];
  const granted = cloudIdentities.filter(
    ({ type, namespaces }) => type === cloud && (namespaces.includes('*') || namespaces.includes(namespace)),
  );
  if (granted.length === 0)
    return refused(
      `the namespace ${namespace} may not use the identity of the gateway at ${cloud}. Set spec.auth.keys, or ask the platform team for ` +
        'cloudIdentities in a TenantPolicy',
    );
  const isGranted = granted.some(({ roles }) => roles === undefined || roles.some((one) => fits(one, role)));
  if (!isGranted)
    return refused(
      `the namespace ${namespace} may use the identity of the gateway at ${cloud} through ` +
        `${inWords([...new Set(granted.flatMap(({ roles = [] }) => roles))], 'or')} alone. Set spec.auth.${member}.${field} to such a role, ` +
        'or ask the platform team for another',
    );
  const foreign = readers.find(({ hostname, scheme }) => scheme !== 'https' || !hosts.test(hostname));
  // guard: identity-host
  if (foreign === undefined)
    return isServerChosen
      ? refused(
          'spec.tls changes which server is trusted, and a tenant may not send the identity of the gateway to such a server. Remove ' +
            'caRef, serverName and insecureSkipVerify, or set spec.auth.keys',
        )
      : undefined;
  return refused(
    `${foreign.authority} is not an address of ${cloud}, and a tenant may send the identity of the gateway to ${cloud} alone. Set ` +
      `spec.baseURL to an address of ${cloud}, without a proxy that could read the requests, or set spec.auth.keys`,
  );
}

function refused(message: string): Finding {
  return { reason: 'IdentityNotAllowed', message };
}

function fits(pattern: string, role: string | undefined): boolean {
  if (role === undefined) return false;
  return pattern.endsWith('*') ? role.startsWith(pattern.slice(0, -1)) : role === pattern;
}
