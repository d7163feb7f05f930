// Do two ApiKeys stand for one key? It goes on working for the older one; the newer one gets nothing by it.

import { differing } from '../differing.ts';
import { type Aged, compareAge } from '../order.ts';
import type { Finding } from '../verdict.ts';

/** An ApiKey and the digests it stands for. Also a disabled or expired one: else its key would live on. */
export interface DigestClaim extends Aged {
  readonly digests: readonly string[];
}

export interface DigestConflicts<C> {
  /** Digests that a claim does not get. */
  readonly refused: ReadonlyMap<C, readonly string[]>;
  /** Claims that keep a digest which somebody else claims too. */
  readonly contested: ReadonlySet<C>;
}

/** With a memory: claims that are the same values as in the call before are not looked at again. */
export function createDigestConflicts<C extends DigestClaim>(): (claims: readonly C[]) => DigestConflicts<C> {
  let last: readonly C[] = [];
  /** One of those who claim it, for each digest. */
  const owners = new Map<string, C>();
  /** All who claim it, where they are several. */
  const shared = new Map<string, readonly C[]>();

  return (claims) => {
    const { gone, added } = differing(last, claims);
    last = claims;
    for (const claim of gone) for (const digest of claim.digests) drop(digest, claim);
    for (const claim of added) for (const digest of claim.digests) take(digest, claim);
    return settle();
  };

  function take(digest: string, claim: C): void {
    const other = owners.get(digest);
    if (other === undefined) owners.set(digest, claim);
    else shared.set(digest, [...(shared.get(digest) ?? [other]), claim]);
  }

  function drop(digest: string, claim: C): void {
    const left = (shared.get(digest) ?? []).filter((one) => one !== claim);
    const [first] = left;
    if (first === undefined) owners.delete(digest);
    else owners.set(digest, first);
    if (left.length > 1) shared.set(digest, left);
    else shared.delete(digest);
  }

  function settle(): DigestConflicts<C> {
    const refused = new Map<C, string[]>();
    const contested = new Set<C>();
    for (const [digest, claimants] of shared) {
      const [oldest, ...rest] = claimants.toSorted(compareAge);
      if (oldest !== undefined) contested.add(oldest);
      for (const claim of rest) refused.set(claim, [...(refused.get(claim) ?? []), digest].sort());
    }
    return { refused, contested };
  }
}

/** Whose the other ApiKey is stays open: it may be another tenant's. */
export function digestRefused(digests: readonly string[]): Finding {
  return {
    reason: 'DigestConflict',
    message:
      `the key with SHA-256 ${digests.map(short).join(', ')} already belongs to an older ApiKey, and works for that one ` +
      'alone; make a new key for this ApiKey',
  };
}

export function digestContested(): Finding {
  return {
    reason: 'DigestConflict',
    message:
      'a newer ApiKey names the same key and was refused; this one keeps working. If you did not do that yourself, the ' +
      'key or its hash is known to others: make a new one',
  };
}

function short(digest: string): string {
  return `${digest.slice(0, 16)}…`;
}
