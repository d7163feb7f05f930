// Which ApiKey gets a key that several ApiKeys claim, or that was retired? It stays in the namespace that has it in the table in use, or
// had it last. There the ApiKey that has it keeps it, else the oldest gets it. All other ApiKeys are refused.

import { differing } from '../../lists/differing.ts';
import type { RetiredKey } from '../../watch/snapshot.ts';
import { type Aged, compareAge, compareText } from '../order.ts';
import type { Finding } from '../verdict.ts';

/** An ApiKey and its digests. Disabled and expired ones count too: otherwise another ApiKey could bring their key back. */
export interface DigestClaim extends Aged {
  readonly digests: readonly string[];
  /** The digests that work now. */
  readonly entries: readonly { readonly sha256: string }[];
}

/** The ids (`namespace/name`) of the ApiKeys for which these digests work by the table in use. */
export type FindHolders = (digests: ReadonlySet<string>) => ReadonlyMap<string, string>;

const nobody: ReadonlyMap<string, string> = new Map();
const noneRetired: readonly RetiredKey[] = [];

/** A digest that a claim does not get, and why: another ApiKey of the same namespace, or of another namespace, has it, or had it. */
export interface RefusedDigest {
  readonly digest: string;
  readonly why: 'taken' | 'foreign' | 'retired';
}

interface DigestConflicts<C> {
  readonly refused: ReadonlyMap<C, readonly RefusedDigest[]>;
  /** Claims that keep a digest which another ApiKey claims too. */
  readonly contested: ReadonlySet<C>;
}

/**
 * With a memory: claims that are the same values as in the call before are not looked at again. Holders are asked for only of
 * digests that several claim.
 */
export function createDigestConflicts<C extends DigestClaim>(): (
  claims: readonly C[],
  findHolders?: FindHolders,
  retired?: readonly RetiredKey[],
) => DigestConflicts<C> {
  let last: readonly C[] = [];
  let lastRetired: readonly RetiredKey[] = [];
  /** The namespace that a retired digest stays with. */
  const homes = new Map<string, string>();
  /** Retired digests that an ApiKey claims again. */
  const returning = new Set<string>();
  /** One of the claims, for each digest. */
  const owners = new Map<string, C>();
  /** All claims of a digest that several claim. */
  const shared = new Map<string, Set<C>>();

  return (claims, findHolders = () => nobody, retired = noneRetired) => {
    noteRetired(retired);
    const { gone, added } = differing(last, claims);
    last = claims;
    for (const claim of gone) for (const digest of claim.digests) drop(digest, claim);
    for (const claim of added) for (const digest of claim.digests) take(digest, claim);
    return settle(shared.size === 0 ? nobody : findHolders(new Set(shared.keys())));
  };

  function noteRetired(retired: readonly RetiredKey[]): void {
    const { gone, added } = differing(lastRetired, retired);
    lastRetired = retired;
    for (const { digest } of gone) {
      homes.delete(digest);
      returning.delete(digest);
    }
    for (const { digest, namespace } of added) {
      homes.set(digest, namespace);
      if (owners.has(digest)) returning.add(digest);
    }
  }

  function take(digest: string, claim: C): void {
    if (homes.has(digest)) returning.add(digest);
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
    if (first === undefined) {
      owners.delete(digest);
      returning.delete(digest);
    } else owners.set(digest, first);
    if (left !== undefined && left.size < 2) shared.delete(digest);
  }

  function settle(holders: ReadonlyMap<string, string>): DigestConflicts<C> {
    const refused = new Map<C, RefusedDigest[]>();
    const contested = new Set<C>();
    for (const digest of new Set([...shared.keys(), ...returning])) {
      const byAge = [...claimantsOf(digest)].sort(compareAge);
      const holder = holders.get(digest);
      const home = homes.get(digest) ?? (holder && namespaceOf(holder));
      const entitled = home === undefined ? byAge : byAge.filter(({ namespace }) => namespace === home);
      const winner = entitled.find((claim) => keeps(claim, digest, holder)) ?? entitled[0];
      if (winner !== undefined && byAge.length > 1) contested.add(winner);
      for (const claim of byAge) {
        if (claim === winner) continue;
        const why =
          claim.namespace === winner?.namespace ? 'taken' : winner === undefined ? 'retired' : 'foreign';
        refused.set(claim, [...(refused.get(claim) ?? []), { digest, why }]);
      }
    }
    for (const digests of refused.values()) digests.sort((a, b) => compareText(a.digest, b.digest));
    return { refused, contested };
  }

  function claimantsOf(digest: string): Iterable<C> {
    const owner = owners.get(digest);
    return shared.get(digest) ?? (owner === undefined ? [] : [owner]);
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

/** Does not name the other ApiKey: it may be another tenant's. */
export function digestRefused(refused: readonly RefusedDigest[]): Finding {
  const keys = (wanted: RefusedDigest['why']) => {
    const digests = refused.filter(({ why }) => why === wanted).map(({ digest }) => short(digest));
    return digests.length === 0 ? [] : [`the key with SHA-256 ${digests.join(', ')}`];
  };
  const alone = 'already belongs to another ApiKey, and works only for that one';
  const newKey =
    'import the SHA-256 of another key, or, where Penstock makes its keys, rotate this ApiKey with spec.rotation.trigger';
  const messages = [
    ...keys('taken').map((key) => `${key} ${alone}; ${newKey}`),
    ...keys('foreign').map(
      (key) =>
        `${key} ${alone}. That ApiKey is in another namespace, so this namespace cannot use the key until a year after its end ` +
        `there; ${newKey}`,
    ),
    ...keys('retired').map(
      (key) =>
        `${key} belonged to an ApiKey of another namespace, so this namespace cannot use it until a year after its end; ${newKey}. ` +
        'Where the key was moved on purpose, the platform team can release it with the annotation penstock.dev/release-key',
    ),
  ];
  return { reason: 'DigestConflict', message: messages.join('; ') };
}

export function digestContested(): Finding {
  return {
    reason: 'DigestConflict',
    message:
      'another ApiKey names the same key and was refused; this one keeps working. If you did not do that yourself, the ' +
      'key or its hash is known to others: make a new one',
  };
}

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

function short(digest: string): string {
  return `${digest.slice(0, 16)}…`;
}
