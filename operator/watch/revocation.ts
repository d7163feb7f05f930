// Does a change revoke access? Then it must be published at once.

import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../core/kube/object.ts';
import { membersOf } from '../resources/loose.ts';
import type { Kind } from '../resources/resource.ts';
import type { RawObject } from './snapshot.ts';

/** In doubt yes: it costs a publish that is some hundred milliseconds early. */
export function isRevocation(
  kind: Kind,
  before: RawObject | undefined,
  after: RawObject | undefined,
): boolean {
  if (before === undefined) return false;
  if (after === undefined || after.metadata.deletionTimestamp !== undefined) return true;
  const [old, now] = [membersOf(before.spec), membersOf(after.spec)];
  if (kind !== 'ApiKey') return !isDeepStrictEqual(old.allowedNamespaces, now.allowedNamespaces);
  return (
    (now.disabled === true && old.disabled !== true) ||
    endsEarlier(old.expiresAt, now.expiresAt) ||
    !isDeepStrictEqual(old.models, now.models) ||
    losesImport(old.imports, now.imports) ||
    // A shorter overlap takes the previous key away sooner.
    !isDeepStrictEqual(membersOf(old.rotation).overlap, membersOf(now.rotation).overlap)
  );
}

function endsEarlier(before: unknown, after: unknown): boolean {
  return timeOf(after) < timeOf(before);
}

/** Without an end, or with one that cannot be read: never. */
function timeOf(value: unknown): number {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}

function losesImport(before: unknown, after: unknown): boolean {
  const ends = endsByDigest(after);
  return [...endsByDigest(before)].some(([digest, end]) => (ends.get(digest) ?? -1) < end);
}

function endsByDigest(imports: unknown): Map<unknown, number> {
  const list: readonly unknown[] = Array.isArray(imports) ? imports : [];
  return new Map(list.flatMap((item) => (isRecord(item) ? [[item.sha256, timeOf(item.notAfter)]] : [])));
}
