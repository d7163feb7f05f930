// Does an address lead back to this gateway? An upstream there would call itself for ever.

import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
// Not an address of any machine, but connecting to it reaches one's own.
loopback.addAddress('0.0.0.0', 'ipv4');
loopback.addAddress('::', 'ipv6');
loopback.addAddress('::1', 'ipv6');

/** @param ownPort The port that the gateway serves on, at the loopback address. */
export function isOwnAddress(url: URL, ownPort: number): boolean {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  return port === ownPort && isLoopback(url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''));
}

/** A URL has brought 127.1, 0x7f000001 and their like into one spelling already. */
function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true;
  const version = isIP(hostname);
  // IPv4-mapped IPv6 addresses are found under the IPv4 ranges.
  return version !== 0 && loopback.check(hostname, version === 4 ? 'ipv4' : 'ipv6');
}
