// How many connections may there be, and how many from one address? Those over either bound are closed before a byte is read.

import type { Server, Socket } from 'node:net';
import { BlockList } from 'node:net';
import { sourceOf } from '../request/source-of.ts';

export interface ConnectionBounds {
  readonly connectionsMax: number;
  /** From one address, of IPv6 from one network of 64 bits; proxies may have as many as there may be. */
  readonly connectionsPerAddressMax: number;
  /** Addresses of proxies, as CIDRs or single ones: many callers come from them. */
  readonly proxies: readonly string[];
}

export const connectionRefusals = ['total', 'address', 'heap'] as const;
export type ConnectionRefusal = (typeof connectionRefusals)[number];

export interface ConnectionGuard {
  /** False: new connections are closed at once; open ones stay. */
  accept(accepts: boolean): void;
}

export function guardConnections(
  server: Server,
  { connectionsMax, connectionsPerAddressMax, proxies }: ConnectionBounds,
  onRefused: (why: ConnectionRefusal) => void,
): ConnectionGuard {
  const byAddress = new Map<string, number>();
  const isProxy = matchAddresses(proxies);
  let accepts = true;
  server.maxConnections = connectionsMax;
  server.on('drop', () => onRefused(accepts ? 'total' : 'heap'));
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return;
    const address = sourceOf(remoteAddress);
    const count = (byAddress.get(address) ?? 0) + 1;
    if (count > connectionsPerAddressMax) {
      onRefused('address');
      socket.destroy();
      return;
    }
    byAddress.set(address, count);
    socket.once('close', () => {
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left === 0) byAddress.delete(address);
      else byAddress.set(address, left);
    });
  });
  return {
    accept(now) {
      accepts = now;
      server.maxConnections = now ? connectionsMax : 0;
    },
  };
}

/** @throws {TypeError} if one is neither an address nor a CIDR. */
export function matchAddresses(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}
