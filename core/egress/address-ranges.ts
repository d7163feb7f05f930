// Which addresses are never an ordinary public server? Data only, straight from the IANA special-purpose registries
// (RFC 6890 and its updates) and the clouds' own documentation of their metadata services.

/** Why an address or a host is refused. Short, fixed words: they go into condition reasons and metric labels. */
export type DenyReason =
  | 'metadata'
  | 'embedded-ipv4'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'shared'
  | 'site-local'
  | 'multicast'
  | 'documentation'
  | 'benchmarking'
  | 'reserved'
  | 'cluster'
  | 'zone-id'
  | 'unreadable-host'
  | 'internal-name'
  | 'no-address';

export interface AddressRange {
  readonly cidr: string;
  readonly reason: DenyReason;
  /** Reads after "is ": `10.0.0.1 is a private address`. */
  readonly noun: string;
}

/**
 * Addresses at which a cloud hands out credentials or instance data. No allowlist opens them.
 * 168.63.129.16 (Azure) lies in public space, so no range would catch it.
 */
export const metadataAddresses: readonly string[] = [
  '169.254.169.254', // AWS, Google Cloud, Azure, OpenStack and most others
  '169.254.170.2', // AWS ECS task credentials
  '169.254.170.23', // AWS EKS Pod Identity
  '169.254.42.42', // Scaleway
  '169.254.0.23', // Tencent Cloud
  '168.63.129.16', // Azure WireServer
  '100.100.100.200', // Alibaba Cloud
  '192.0.0.192', // Oracle Cloud
  'fd00:ec2::254', // AWS
  'fd00:ec2::23', // AWS EKS Pod Identity
  'fd20:ce::254', // Google Cloud
  'fd00:c1::a9fe:a9fe', // Oracle Cloud
  'fd00:42::42', // Scaleway
  'fe80::a9fe:a9fe', // OpenStack
];

/**
 * IPv6 forms that carry an IPv4 address, and the two "no address" forms. No allowlist opens them: an opened IPv4 range
 * opens the IPv4 addresses alone. One server then has one spelling, and `::/0` cannot open metadata through NAT64.
 */
export const unopenableRanges: readonly AddressRange[] = [
  { cidr: '0.0.0.0/8', reason: 'unspecified', noun: 'an address of "this network" (0.0.0.0/8)' },
  { cidr: '::/128', reason: 'unspecified', noun: 'the unspecified address' },
  // Deprecated, and `::1` lies inside: `address-rules.ts` lets loopback out before it looks here.
  { cidr: '::/96', reason: 'embedded-ipv4', noun: 'an IPv4-compatible address' },
  { cidr: '::ffff:0:0/96', reason: 'embedded-ipv4', noun: 'an IPv4-mapped address' },
  { cidr: '::ffff:0:0:0/96', reason: 'embedded-ipv4', noun: 'an IPv4-translated address' },
  { cidr: '64:ff9b::/96', reason: 'embedded-ipv4', noun: 'a NAT64 address' },
  { cidr: '64:ff9b:1::/48', reason: 'embedded-ipv4', noun: 'a local NAT64 address' },
  { cidr: '2002::/16', reason: 'embedded-ipv4', noun: 'a 6to4 address' },
  { cidr: '2001::/32', reason: 'embedded-ipv4', noun: 'a Teredo address' },
];

/** Refused unless the allowlist opens them. The first match names the address, so narrow rows stand before wide ones. */
export const deniedRanges: readonly AddressRange[] = [
  { cidr: '10.0.0.0/8', reason: 'private', noun: 'a private address' },
  { cidr: '172.16.0.0/12', reason: 'private', noun: 'a private address' },
  { cidr: '192.168.0.0/16', reason: 'private', noun: 'a private address' },
  // guard: egress-private-range
  { cidr: '100.64.0.0/10', reason: 'shared', noun: 'a carrier-grade NAT address' },
  { cidr: '127.0.0.0/8', reason: 'loopback', noun: 'a loopback address' },
  { cidr: '169.254.0.0/16', reason: 'link-local', noun: 'a link-local address' },
  { cidr: '192.0.0.0/24', reason: 'reserved', noun: 'an IETF protocol address' },
  { cidr: '192.0.2.0/24', reason: 'documentation', noun: 'a documentation address' },
  { cidr: '198.51.100.0/24', reason: 'documentation', noun: 'a documentation address' },
  { cidr: '203.0.113.0/24', reason: 'documentation', noun: 'a documentation address' },
  { cidr: '192.88.99.0/24', reason: 'reserved', noun: 'a 6to4 relay address' },
  { cidr: '198.18.0.0/15', reason: 'benchmarking', noun: 'a benchmarking address' },
  { cidr: '224.0.0.0/4', reason: 'multicast', noun: 'a multicast address' },
  { cidr: '255.255.255.255/32', reason: 'multicast', noun: 'the broadcast address' },
  { cidr: '240.0.0.0/4', reason: 'reserved', noun: 'a reserved address' },
  { cidr: '::1/128', reason: 'loopback', noun: 'the loopback address' },
  { cidr: 'fc00::/7', reason: 'private', noun: 'a unique local address' },
  { cidr: 'fe80::/10', reason: 'link-local', noun: 'a link-local address' },
  { cidr: 'fec0::/10', reason: 'site-local', noun: 'a site-local address' },
  { cidr: 'ff00::/8', reason: 'multicast', noun: 'a multicast address' },
  { cidr: '2001:db8::/32', reason: 'documentation', noun: 'a documentation address' },
  { cidr: '3fff::/20', reason: 'documentation', noun: 'a documentation address' },
  { cidr: '2001:2::/48', reason: 'benchmarking', noun: 'a benchmarking address' },
  { cidr: '2001::/23', reason: 'reserved', noun: 'an IETF protocol address' },
];

/** All of today's public IPv6 unicast space (RFC 4291 §2.4). What lies outside is refused without being listed. */
export const publicIpv6Cidr = '2000::/3';
