// A manifest and its shards to one view; in pieces where it takes long.

import type { Manifest } from '../../../core/contract/manifest.ts';
import type {
  Credential,
  KeyEntry,
  ProviderEntry,
  RouteEntry,
} from '../../../core/contract/routing-table.ts';
import { buildTableView, type TableView } from '../view.ts';
import type { ShardContent } from './decode-shard.ts';

/** Keys indexed in one go: about a millisecond. */
const pieceKeys = 4_000;

/** @throws {TableRefusedError} `invalid` where the shards do not fit together. */
export async function assembleView(
  { format, minReader, epoch, generation, settings, hints = [] }: Manifest,
  shards: readonly ShardContent[],
  breathe: () => Promise<void>,
): Promise<TableView> {
  const keys = new Map<string, KeyEntry>();
  const providers: ProviderEntry[] = [];
  const routes: RouteEntry[] = [];
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
        break;
      case 'credentials':
        credentials.push(...shard.credentials);
    }
    if (sinceBreath < pieceKeys) continue;
    sinceBreath = 0;
    await breathe();
  }
  const content = { settings, providers, routes, credentials, keys: [] };
  return buildTableView({ format, minReader, epoch, generation, hints, ...content }, keys);
}

/** Whether two manifests stand for the same table, whatever its number. */
export function hasSameContent(a: Manifest, b: Manifest): boolean {
  return (
    a.shards.length === b.shards.length &&
    a.shards.every(({ kind, sha256 }, at) => b.shards[at]?.kind === kind && b.shards[at].sha256 === sha256) &&
    JSON.stringify(a.settings) === JSON.stringify(b.settings) &&
    JSON.stringify(a.hints ?? []) === JSON.stringify(b.hints ?? [])
  );
}
