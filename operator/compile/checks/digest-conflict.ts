// Do two ApiKeys stand for one key? It goes on working for the one for which it works by the table in use, whoever comes to ask for
// it; where it works for nobody, the older one has it. The other one gets nothing by it.

import { differing } from '../../lists/differing.ts';
import { type Aged, compareAge } from '../order.ts';
import type { Finding } from '../verdict.ts';

/** An ApiKey and the digests it stands for. Also a disabled or expired one: else its key would live on. */
export interface DigestClaim extends Aged {
  readonly digests: readonly string[];
  /** Those of them that work now. */
  readonly entries: readonly { readonly sha256: string }[];
}

/** The ids (`namespace/name`) of the ApiKeys for which these digests work by the table in use. */
export type FindHolders = (digests: ReadonlySet<string>) => ReadonlyMap<string, string>;

const nobody: ReadonlyMap<string, string> = new Map();

export interface DigestConflicts<C> {
  /** Digests that a claim does not get. */
  readonly refused: ReadonlyMap<C, readonly string[]>;
  /** Claims that keep a digest which somebody else claims too. */
  readonly contested: ReadonlySet<C>;
}

/**
 * With a memory: claims that are the same values as in the call before are not looked at again. Holders are asked for only of
 * digests that several claim.
 */
export function createDigestConflicts<C extends DigestClaim>(): (
  claims: readonly C[],
  findHolders?: FindHolders,
) => DigestConflicts<C> {
  let last: readonly C[] = [];
  /** One of those who claim it, for each digest. */
  const owners = new Map<string, C>();
  /** All who claim it, where they are several. */
  const shared = new Map<string, Set<C>>();

  return (claims, findHolders = () => nobody) => {
    const { gone, added } = differing(last, claims);
    last = claims;
    for (const claim of gone) for (const digest of claim.digests) drop(digest, claim);
    for (const claim of added) for (const digest of claim.digests) take(digest, claim);
    return settle(shared.size === 0 ? nobody : findHolders(new Set(shared.keys())));
  };

  function take(digest: string, claim: C): void {
    const other = owners.get(digest);
    if (other === undefined) {
      owners.set(digest, claim);
      return;
    }
    const all = shared.get(digest);
    if (all) all.add(claim);
    else shared.set(digest, new Set([other, claim]));
  }

  function drop(digest: string, claim: C): void {
    const left = shared.get(digest);
    left?.delete(claim);
    const [first] = left ?? [];
    if (first === undefined) owners.delete(digest);
    else owners.set(digest, first);
    if (left !== undefined && left.size < 2) shared.delete(digest);
  }

  function settle(holders: ReadonlyMap<string, string>): DigestConflicts<C> {
    const refused = new Map<C, string[]>();
    const contested = new Set<C>();
    for (const [digest, claimants] of shared) {
      const byAge = [...claimants].sort(compareAge);
      const winner = byAge.find((claim) => keeps(claim, digest, holders.get(digest))) ?? byAge[0];
      if (winner !== undefined) contested.add(winner);
      for (const claim of byAge) {
        if (claim !== winner) refused.set(claim, [...(refused.get(claim) ?? []), digest].sort());
      }
    }
    return { refused, contested };
  }
}

/** Whether the key works for this one by the table in use, and is to go on doing so. */
function keeps(
  { namespace, name, entries }: DigestClaim,
  digest: string,
  holder: string | undefined,
): boolean {
  return holder === `${namespace}/${name}` && entries.some(({ sha256 }) => sha256 === digest);
}

/** Whose the other ApiKey is stays open: it may be another tenant's. */
export function digestRefused(digests: readonly string[]): Finding {
  return {
    reason: 'DigestConflict',
    message:
      `the key with SHA-256 ${digests.map(short).join(', ')} already belongs to another ApiKey, and works for that one ` +
      'alone; make a new key for this ApiKey',
  };
}

export function digestContested(): Finding {
  return {
    reason: 'DigestConflict',
    message:
      'another ApiKey names the same key and was refused; this one keeps working. If you did not do that yourself, the ' +
      'key or its hash is known to others: make a new one',
  };
}

function short(digest: string): string {
  return `${digest.slice(0, 16)}…`;
}
