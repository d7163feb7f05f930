// May a namespace reach this address or this host? Pure: no resolver, no socket, no clock, so that the operator can judge a
// Provider with the very rules that hold when a gateway connects. Default: public addresses only.

import { BlockList } from 'node:net';
import {
  type AddressRange,
  type DenyReason,
  deniedRanges,
  metadataAddresses,
  publicIpv6Cidr,
  unopenableRanges,
} from './address-ranges.ts';
import { canonicalAddress, readHost } from './read-host.ts';

export type { DenyReason } from './address-ranges.ts';

/** One opened range. `namespaces: ['*']` opens it for every namespace. */
export interface AllowEntry {
  readonly cidr: string;
  readonly namespaces: readonly string[];
}

/** Made by `parseAddressRules`, read by the judges, opaque to everyone else. */
export interface AddressRules {
  readonly allow: readonly AllowedBlock[];
  readonly metadata: readonly Block[];
  readonly unopenable: readonly Block[];
  readonly denied: readonly Block[];
  readonly publicIpv6: Block;
}

/** Reachable. `allowlisted` says by which entry; only that opens an internal name. */
export type AllowedAddress =
  | { readonly kind: 'public'; readonly address: string; readonly family: 4 | 6 }
  | { readonly kind: 'allowlisted'; readonly address: string; readonly family: 4 | 6; readonly cidr: string };

/** Refused. The sentence names the thing, the fact and the way out, and is fit for a condition or an error. */
export interface Denied {
  readonly kind: 'denied';
  readonly reason: DenyReason;
  readonly sentence: string;
}

type AddressVerdict = AllowedAddress | Denied;

/** A name is not judged until it is resolved: give its addresses to `judgeAnswers`. */
export interface NameToResolve {
  readonly kind: 'name';
  readonly name: string;
  /** An internal name is reachable only where every address is in the namespace's allowlist. */
  readonly isInternal: boolean;
}

export type HostVerdict = AddressVerdict | NameToResolve;

type AnswersVerdict = { readonly kind: 'reachable'; readonly addresses: readonly AllowedAddress[] } | Denied;

interface Block {
  readonly cidr: string;
  readonly reason: DenyReason;
  readonly noun: string;
  readonly family: 4 | 6;
  readonly prefixBits: number;
  readonly address: string;
  readonly list: BlockList;
}

// Inside the IPv4-compatible range ::/96, which can never be opened; but loopback itself can be.
const loopbackIpv6 = '::1';

type AllowedBlock = Block & { readonly namespaces: ReadonlySet<string> };

/**
 * Reads the platform's settings into rules.
 * @param allow the chart value `egress.allow`: `[{ cidr, namespaces }]`.
 * @param clusterCidrs the chart value `egress.deny`: Pod, Service and node ranges and the API server's address, refused like private ranges even where
 *   they lie in public space; `allow` can open them.
 * @throws Error with one sentence that names the entry, for a value that cannot be read or could never act.
 */
export function parseAddressRules(allow: unknown, clusterCidrs: readonly string[] = []): AddressRules {
  const { metadata, unopenable, denied, publicIpv6 } = fixedBlocks();
  if (!Array.isArray(allow))
    throw new Error('egress.allow is not a list; write [{ cidr, namespaces }], or [].');
  const cluster = clusterCidrs.map((cidr, index) =>
    buildBlock({ cidr, reason: 'cluster', noun: 'an address of this cluster' }, `egress.deny[${index}]`),
  );
  return {
    allow: allow.map((entry: unknown, index) => parseAllowEntry(entry, index, [...metadata, ...unopenable])),
    metadata,
    unopenable,
    denied: [...cluster, ...denied],
    publicIpv6,
  };
}

/**
 * For addresses that the platform or this program has said, as those of a cloud's token service in the cluster's own network, and the only rules
 * by which a metadata address is reached. Nothing that a Provider, a Secret or a request names is ever judged by them.
 */
export function platformRules(): AddressRules {
  const everywhere = ['0.0.0.0/0', '::/0'].map((cidr) => ({ cidr, namespaces: ['*'] }));
  return { ...parseAddressRules(everywhere), metadata: [] };
}

/** @throws where one of them is not a CIDR. */
export function isRangeWithin(inner: string, outer: string): boolean {
  const [innerBlock, outerBlock] = [inner, outer].map((cidr) =>
    buildBlock({ cidr, reason: 'private', noun: 'a range' }, 'the range'),
  );
  return innerBlock !== undefined && outerBlock !== undefined && isWithin(innerBlock, outerBlock);
}

/** Judges one address as a resolver or a socket gives it. Anything that is not a plain address is refused. */
export function judgeAddress(rules: AddressRules, namespace: string, address: string): AddressVerdict {
  const read = canonicalAddress(address);
  if (read === undefined) {
    const reason = address.includes('%') ? 'zone-id' : 'unreadable-host';
    return deny(
      reason,
      `${quote(address)} is not an address that a server can have; name a plain IP address.`,
    );
  }
  return judgeCanonical(rules, namespace, read.address, read.family);
}

/**
 * Checks the host of a URL: `url.hostname`, or another text in its place. Only the host: no port, no user.
 * A name comes back as `name`, unless it is internal and the namespace has no opened range at all.
 */
export function judgeHost(rules: AddressRules, namespace: string, host: string): HostVerdict {
  const read = readHost(host);
  switch (read.kind) {
    case 'address':
      return judgeCanonical(rules, namespace, read.address, read.family);
    case 'name':
      if (read.isInternal && !rules.allow.some((entry) => isFor(entry, namespace))) {
        return denyInternalName(read.name, `no TenantPolicy opens a range to namespace ${namespace}`);
      }
      return read;
    case 'zone-id':
      return deny('zone-id', `${quote(host)} carries a zone id; name the address without it.`);
    case 'unreadable':
      return deny('unreadable-host', `${quote(host)} is not a host name or an IP address; correct the URL.`);
  }
}

/**
 * Judges everything a name resolved to. One refused address refuses the whole answer: a resolver that mixes good and bad
 * addresses is being steered, and the order in which we would try them is not ours to trust.
 */
export function judgeAnswers(
  rules: AddressRules,
  namespace: string,
  host: NameToResolve,
  addresses: readonly string[],
): AnswersVerdict {
  const reachable: AllowedAddress[] = [];
  for (const address of addresses) {
    const verdict = judgeAddress(rules, namespace, address);
    // guard: egress-name-address
    if (verdict.kind === 'denied') {
      return deny(verdict.reason, `${host.name} resolves to ${address}: ${verdict.sentence}`);
    }
    if (host.isInternal && verdict.kind !== 'allowlisted') {
      return denyInternalName(
        host.name,
        `no TenantPolicy opens its address ${address} to namespace ${namespace}`,
      );
    }
    reachable.push(verdict);
  }
  if (reachable.length === 0) {
    return deny('no-address', `${host.name} resolves to no address; check the name and its DNS records.`);
  }
  return { kind: 'reachable', addresses: reachable };
}

function judgeCanonical(
  rules: AddressRules,
  namespace: string,
  address: string,
  family: 4 | 6,
): AddressVerdict {
  const isIn = (block: Block) => isInBlock(block, address, family);
  const metadata = rules.metadata.find(isIn);
  // guard: egress-metadata
  if (metadata !== undefined) {
    return deny(
      'metadata',
      `${address} is ${metadata.noun}, which can never be opened; name a model server.`,
    );
  }
  const unopenable = address === loopbackIpv6 ? undefined : rules.unopenable.find(isIn);
  if (unopenable !== undefined) {
    const wayOut =
      unopenable.reason === 'embedded-ipv4'
        ? 'write the IPv4 address itself'
        : "name the server's own address";
    return deny(unopenable.reason, `${address} is ${unopenable.noun}, which can never be opened; ${wayOut}.`);
  }
  // guard: egress-allow-namespace
  const opened = rules.allow.find((entry) => isFor(entry, namespace) && isIn(entry));
  if (opened !== undefined) return { kind: 'allowlisted', address, family, cidr: opened.cidr };
  const denied = rules.denied.find(isIn);
  if (denied !== undefined) return denyRange(namespace, address, denied.reason, denied.noun);
  if (family === 6 && !isIn(rules.publicIpv6)) {
    return denyRange(namespace, address, 'reserved', 'outside the public IPv6 space');
  }
  return { kind: 'public', address, family };
}

function parseAllowEntry(entry: unknown, index: number, neverOpened: readonly Block[]): AllowedBlock {
  const where = `egress.allow[${index}]`;
  if (typeof entry !== 'object' || entry === null || !('cidr' in entry) || !('namespaces' in entry)) {
    throw new Error(`${where} is not { cidr, namespaces }; write both.`);
  }
  const { cidr, namespaces } = entry;
  if (typeof cidr !== 'string') throw new Error(`${where}.cidr is not text; write it like 10.20.0.0/16.`);
  if (!Array.isArray(namespaces) || namespaces.length === 0) {
    throw new Error(
      `${where}.namespaces is not a list of names; write namespaces, or ['*'] for all of them.`,
    );
  }
  const names = namespaces.map((name: unknown) => {
    if (typeof name === 'string' && (name === '*' || namespaceName.test(name))) return name;
    throw new Error(
      `${where}.namespaces has ${quote(name)}, not a namespace; write its name, or ['*'] for all.`,
    );
  });
  const block = buildBlock({ cidr, reason: 'private', noun: 'an opened address' }, `${where}.cidr`);
  // A setting without effect is refused, not ignored: its author believes that the range is open.
  const swallowing =
    block.address === loopbackIpv6 ? undefined : neverOpened.find((range) => isWithin(block, range));
  if (swallowing !== undefined) {
    throw new Error(
      `${where}.cidr ${cidr} is ${swallowing.noun}, which can never be opened; remove the entry.`,
    );
  }
  return { ...block, namespaces: new Set(names) };
}

let fixed: Pick<AddressRules, 'metadata' | 'unopenable' | 'denied' | 'publicIpv6'> | undefined;

/** The same in all rules, and made once: each of them is a native object. */
function fixedBlocks(): NonNullable<typeof fixed> {
  fixed ??= {
    metadata: metadataAddresses.map((address) => {
      const cidr = address.includes(':') ? `${address}/128` : `${address}/32`;
      return buildBlock({ cidr, reason: 'metadata', noun: 'a cloud metadata address' }, 'metadata');
    }),
    unopenable: unopenableRanges.map((range) => buildBlock(range, 'unopenable')),
    denied: deniedRanges.map((range) => buildBlock(range, 'denied')),
    publicIpv6: buildBlock({ cidr: publicIpv6Cidr, reason: 'reserved', noun: 'public' }, 'public'),
  };
  return fixed;
}

// RFC 1123 label, as Kubernetes names its namespaces.
const namespaceName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

function buildBlock(range: AddressRange, where: string): Block {
  const [text = '', bits = '', ...rest] = range.cidr.split('/');
  const read = canonicalAddress(text);
  const prefixBits = /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (read === undefined || rest.length > 0 || !(prefixBits <= (read.family === 4 ? 32 : 128))) {
    throw new Error(`${where} ${quote(range.cidr)} is not a CIDR; write address/bits, like 10.20.0.0/16.`);
  }
  const list = new BlockList();
  list.addSubnet(read.address, prefixBits, familyName(read.family));
  return { ...range, family: read.family, prefixBits, address: read.address, list };
}

// BlockList takes IPv4-mapped addresses for IPv4: a rule for ::ffff:0:0/96 or ::/0 would match every plain IPv4 address,
// and a rule for 10.0.0.0/8 would match ::ffff:10.0.0.1. So a block is only ever asked about its own family.
function isInBlock(block: Block, address: string, family: 4 | 6): boolean {
  return block.family === family && block.list.check(address, familyName(family));
}

function isWithin(inner: Block, outer: Block): boolean {
  return inner.prefixBits >= outer.prefixBits && isInBlock(outer, inner.address, inner.family);
}

function isFor(entry: AllowedBlock, namespace: string): boolean {
  return entry.namespaces.has('*') || entry.namespaces.has(namespace);
}

function familyName(family: 4 | 6): 'ipv4' | 'ipv6' {
  return family === 4 ? 'ipv4' : 'ipv6';
}

function denyRange(namespace: string, address: string, reason: DenyReason, noun: string): Denied {
  return deny(
    reason,
    `${address} is ${noun}, and no TenantPolicy opens it to namespace ${namespace}; ` +
      'use a public address, or ask the platform team to add it to spec.egress.allow of a TenantPolicy.',
  );
}

function denyInternalName(name: string, fact: string): Denied {
  return deny(
    'internal-name',
    `${name} is a cluster-internal name, and ${fact}; use a public name, or ask the platform team to add it to spec.egress.allow of a TenantPolicy.`,
  );
}

function deny(reason: DenyReason, sentence: string): Denied {
  return { kind: 'denied', reason, sentence };
}

function quote(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 100) : value) ?? String(value);
}
