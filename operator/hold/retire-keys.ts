// Retires keys that leave the table: only their namespace may bring them back. Otherwise a revoked key would work again for any tenant
// that imports its digest.

import type { KeyEntry } from '../../core/contract/routing-table.ts';
import { changed, differing } from '../lists/differing.ts';
import { lowerBound } from '../lists/lower-bound.ts';
import type { RetiredKey } from '../watch/snapshot.ts';

/** Clients that still send a key after a year have been refused for a year. */
export const RETIRED_FOR_MS = 365 * 24 * 3_600_000;

/** Limit for one namespace. At the limit its oldest entries go, and only the namespace itself can reach it. */
export const RETIRED_MAX = 2_000;

interface RetireInput {
  /** Known so far, oldest first. */
  readonly retired: readonly RetiredKey[];
  /** Of the table in use. */
  readonly last: readonly KeyEntry[];
  /** Of the table that is to follow it, in the order of their digests. */
  readonly next: readonly KeyEntry[];
  /** Digests that the platform releases, or their beginnings. */
  readonly released: readonly string[];
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** The same list where nothing is new. */
export function retireKeys({ retired, last, next, released, nowMs }: RetireInput): readonly RetiredKey[] {
  const isReleased = (digest: string) => released.some((beginning) => digest.startsWith(beginning));
  const leaving = differing(last, next)
    .gone.map(({ sha256, id }) => ({ digest: sha256, namespace: namespaceOf(id), retiredMs: nowMs }))
    .filter((key) => !isServed(key, next) && !isReleased(key.digest));
  const owners = leaving.length === 0 ? undefined : new Map(retired.map((key) => [key.digest, key]));
  // The first owner keeps a key, also where an operator that knew nothing of this served it for another namespace.
  const added = leaving.filter(
    ({ digest, namespace }) => (owners?.get(digest)?.namespace ?? namespace) === namespace,
  );
  const renewed = new Set(added.map(({ digest }) => digest));
  const gone = retired.filter(
    ({ digest, retiredMs }) =>
      nowMs - retiredMs >= RETIRED_FOR_MS || renewed.has(digest) || isReleased(digest),
  );
  const all = changed(retired, { gone, added });
  const surplus = surplusOf(all, new Set(added.map(({ namespace }) => namespace)));
  return changed(all, { gone: surplus, added: [] });
}

/** The digests that the annotation names, each with at least as many digits as a status shows. */
export function readReleased(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((digest) => /^[0-9a-f]{16,64}$/.test(digest));
}

function isServed({ digest, namespace }: RetiredKey, keys: readonly KeyEntry[]): boolean {
  const entry = keys[lowerBound(keys, ({ sha256 }) => sha256 < digest)];
  return entry?.sha256 === digest && namespaceOf(entry.id) === namespace;
}

function surplusOf(all: readonly RetiredKey[], grown: ReadonlySet<string>): readonly RetiredKey[] {
  return [...grown].flatMap((namespace) => {
    const own = all.filter((key) => key.namespace === namespace);
    return own.slice(0, Math.max(0, own.length - RETIRED_MAX));
  });
}

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
