// Runs the first compilation in pieces, so that it does not block the event loop. The results of the pieces are cached for the whole.

import { changed } from '../lists/differing.ts';
import type { Snapshot } from '../watch/snapshot.ts';
import type { Compile } from './compile.ts';

/** So few that one piece takes some tens of milliseconds. */
const KEYS_AT_ONCE = 1_000;
const ROUTES_AT_ONCE = 100;

/** @param yieldNow yields to other work. */
export async function warmUp(
  compile: Compile,
  snapshot: Snapshot,
  nowMs: number,
  yieldNow: () => Promise<void>,
): Promise<void> {
  for (const modelRoutes of piecesOf(snapshot.modelRoutes, ROUTES_AT_ONCE)) {
    compile({ ...snapshot, modelRoutes, apiKeys: [] }, nowMs);
    await yieldNow();
  }
  // Each list goes on from the one before: the compile remembers the objects of its last run.
  let apiKeys: Snapshot['apiKeys'] = [];
  for (const added of piecesOf(snapshot.apiKeys, KEYS_AT_ONCE)) {
    apiKeys = changed(apiKeys, { gone: [], added });
    compile({ ...snapshot, providers: [], modelRoutes: [], apiKeys }, nowMs);
    await yieldNow();
  }
}

function* piecesOf<T>(items: readonly T[], size: number): Iterable<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
