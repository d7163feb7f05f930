// A manifest and its shards to one view; in pieces where it takes long.

import type { Manifest, ShardKind } from '../../../core/contract/manifest.ts';
import type {
  Credential,
  KeyEntry,
  ProviderEntry,
  RouteEntry,
  UnavailableRoute,
} from '../../../core/contract/routing-table.ts';
import { buildTableView, type TableView } from '../view.ts';
import type { ShardContent } from './decode-shard.ts';

/** Keys indexed in one go: about a millisecond. */
const pieceKeys = 4_000;

/** A table that was loaded whole. */
export interface WholeTable {
  readonly manifest: Manifest;
  /** As its shards have it, with the keys that were revoked. */
  readonly view: TableView;
}

/**
 * @param before Where only keys differ from it, everything else of its view is taken as it is.
 * @throws {TableRefusedError} `invalid` if the shards do not fit together.
 */
export async function assembleView(
  manifest: Manifest,
  shards: readonly ShardContent[],
  yieldNow: () => Promise<void>,
  before?: WholeTable,
): Promise<TableView> {
  const { format, minReader, epoch, generation, settings, hints = [] } = manifest;
  const keys = new Map<string, KeyEntry>();
  const providers: ProviderEntry[] = [];
  const routes: RouteEntry[] = [];
  const unavailable: UnavailableRoute[] = [];
  const credentials: Credential[] = [];
  let sinceBreath = 0;
  for (const shard of shards) {
    switch (shard.kind) {
      case 'keys':
        for (const key of shard.keys) keys.set(key.sha256, key);
        sinceBreath += shard.keys.length;
        break;
      case 'routes':
        providers.push(...shard.providers);
        routes.push(...shard.routes);
        unavailable.push(...shard.unavailable);
        break;
      case 'credentials':
        credentials.push(...shard.credentials);
    }
    if (sinceBreath < pieceKeys) continue;
    sinceBreath = 0;
    await yieldNow();
  }
  if (before && hasSameContent(manifest, before.manifest, 'keys')) {
    return Object.freeze({ ...before.view, epoch, generation, keys });
  }
  const content = { settings, providers, routes, unavailable, credentials, keys: [] };
  const view = buildTableView({ format, minReader, epoch, generation, hints, ...content }, keys);
  await yieldNow();
  return view;
}

/** Whether two manifests stand for the same table, whatever its number and its shards of kind `but`. */
export function hasSameContent(a: Manifest, b: Manifest, but?: ShardKind): boolean {
  return contentOf(a, but) === contentOf(b, but);
}

function contentOf({ shards, settings, hints = [] }: Manifest, but: ShardKind | undefined): string {
  const named = shards.filter(({ kind }) => kind !== but).map(({ kind, sha256 }) => [kind, sha256]);
  return JSON.stringify([named, settings, hints]);
}
