// What does a URL host name: one address, or a name to resolve? Pure. Every spelling that a URL parser or inet_aton would
// take for an address is read as that address here, so nothing later sees two readings of one host.

import { isIP, isIPv4, isIPv6 } from 'node:net';

type ReadHost =
  | { readonly kind: 'address'; readonly address: string; readonly family: 4 | 6 }
  | { readonly kind: 'name'; readonly name: string; readonly isInternal: boolean }
  | { readonly kind: 'zone-id' }
  | { readonly kind: 'unreadable' };

// A URL parser drops tabs and newlines and ends the host at any of the others: text around them would be judged
// as one host and read as another.
const neverInHost = /[\p{Cc}\s/?#@\\:[\]<>^|]/u;

const internalSuffixes = ['localhost', 'svc', 'cluster.local', 'internal', 'local'];

/**
 * Reads the host part of a URL (WHATWG URL §3.5): an IPv6 address with or without brackets, an IPv4 address in any
 * spelling (`127.1`, `0x7f.1`, `2130706433`, full-width digits, percent-encoded), or a name. Addresses come back in
 * canonical form, names in lower case, in ASCII and without the trailing dot.
 */
export function readHost(host: string): ReadHost {
  if (host.includes(':')) return readIpv6(host);
  if (host === '' || neverInHost.test(host)) return { kind: 'unreadable' };
  const hostname = URL.parse(`http://${host}/`)?.hostname;
  if (hostname === undefined) return { kind: 'unreadable' };
  if (isIPv4(hostname)) return { kind: 'address', address: hostname, family: 4 };
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (!isResolvable(name)) return { kind: 'unreadable' };
  return { kind: 'name', name, isInternal: isInternalName(name) };
}

/** One address as a resolver or a socket gives it, in canonical form; `undefined` for anything else, zone ids included. */
export function canonicalAddress(address: string): { address: string; family: 4 | 6 } | undefined {
  if (isIP(address) === 0) return undefined;
  const read = readHost(address);
  return read.kind === 'address' ? { address: read.address, family: read.family } : undefined;
}

function readIpv6(host: string): ReadHost {
  const inner = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  // A zone id chooses a network interface of this machine; no address that needs one is a server for us.
  if (inner.includes('%')) return { kind: 'zone-id' };
  if (!isIPv6(inner)) return { kind: 'unreadable' };
  const hostname = URL.parse(`http://[${inner}]/`)?.hostname;
  return hostname === undefined
    ? { kind: 'unreadable' }
    : { kind: 'address', address: hostname.slice(1, -1), family: 6 };
}

function isResolvable(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => label.length > 0 && label.length <= 63);
}

function isInternalName(name: string): boolean {
  if (!name.includes('.')) return true;
  return internalSuffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}
