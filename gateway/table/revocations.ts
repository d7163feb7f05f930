// What does a table look like without the keys that were revoked? Pure.

import { REVOCATION_CHARS } from '../../core/contract/manifest.ts';
import type { TableView } from './view.ts';

/** Up to this number, comparing with each is faster than cutting a text out of every digest. */
const fewMax = 8;

/** The same view where it holds none of them. */
export function withoutKeys(view: TableView, digestBeginnings: ReadonlySet<string>): TableView {
  const few = digestBeginnings.size <= fewMax ? [...digestBeginnings] : undefined;
  const isRevoked = (digest: string): boolean =>
    few
      ? few.some((beginning) => digest.startsWith(beginning))
      : digestBeginnings.has(digest.slice(0, REVOCATION_CHARS));
  const revoked: string[] = [];
  for (const digest of view.keys.keys()) if (isRevoked(digest)) revoked.push(digest);
  if (revoked.length === 0) return view;
  // A copy: holders of the old view must not see a change.
  const keys = new Map(view.keys);
  for (const digest of revoked) keys.delete(digest); // guard: revoked-key
  return Object.freeze({ ...view, keys });
}
