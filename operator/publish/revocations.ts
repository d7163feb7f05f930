// The revoked keys in the manifest: keys that left the table recently, so that a gateway without the new shard refuses them too.

import { REVOCATION_CHARS, REVOCATIONS_MAX } from '../../core/contract/manifest.ts';
import type { TableContent } from '../../core/contract/routing-table.ts';
import { differing } from '../lists/differing.ts';
import { lowerBound } from '../lists/lower-bound.ts';

export interface Revocation {
  /** The first 16 hex digits. */
  readonly digest: string;
  /** By the clock of the process that keeps the list. */
  readonly addedMs: number;
}

/** By then every gateway has the shard, or has other troubles. */
const KEPT_MS = 10 * 60_000;

/**
 * The list for the manifest of `next`, newest first; at the limit the oldest leave.
 *
 * @param next its keys are in the order of their digests, as in every table.
 */
export function listRevocations(
  earlier: Pick<TableContent, 'keys'> | undefined,
  next: Pick<TableContent, 'keys'>,
  inForce: readonly Revocation[],
  nowMs: number,
): readonly Revocation[] {
  const gone = differing(earlier?.keys ?? [], next.keys)
    .gone.map(({ sha256 }) => shortened(sha256))
    .filter((digest) => !works(digest, next));
  const added = new Set(gone);
  const kept = inForce.filter(
    ({ digest, addedMs }) => nowMs - addedMs < KEPT_MS && !added.has(digest) && !works(digest, next),
  );
  return [...[...added].map((digest) => ({ digest, addedMs: nowMs })), ...kept].slice(0, REVOCATIONS_MAX);
}

/** Does a key of the table begin with it? */
export function works(digest: string, { keys }: Pick<TableContent, 'keys'>): boolean {
  const index = lowerBound(keys, ({ sha256 }) => sha256 < digest);
  return keys[index]?.sha256.startsWith(digest) ?? false;
}

export function shortened(sha256: string): string {
  return sha256.slice(0, REVOCATION_CHARS);
}
