// What does one leader know of the table while its term lasts?

import type { Clock } from '../../core/clock.ts';
import type { InternalTls } from '../../core/contract/internal-tls.ts';
import { keptManifestName } from '../../core/contract/manifest.ts';
import type { TableContent } from '../../core/contract/routing-table.ts';
import type { PointerHolder } from './pointer-holder.ts';
import type { PublishReport } from './report.ts';
import type { RetiredStore } from './retired-store.ts';
import type { Revocation } from './revocations.ts';
import type { Shard, ShardCutter } from './shards.ts';
import type { TableStore } from './table-store.ts';

/** The table that is in the pointer. */
export interface Table {
  /** For the revocations of the next one. */
  readonly content: TableContent | undefined;
  readonly revocations: readonly Revocation[];
  /** By name, as far as this term has cut them. */
  readonly shards: ReadonlyMap<string, Shard>;
}

export interface Term {
  readonly holder: PointerHolder<Table>;
  /** Shards known to be in the cluster, and whole. */
  readonly present: Set<string>;
  /** Shard names of the last manifests, newest last. */
  used: readonly (readonly string[])[];
  /** Shards of the manifest that is being written, or whose write failed. */
  coming: readonly string[];
  /** Copies of manifests that are to stay, and the shards that each names; as far as they were read. */
  kept: ReadonlyMap<number, readonly string[]>;
  /** The first generation that has the present content but for keys and hints, as far as this term knows. */
  sameSince: number;
  /** @throws {DeposedError} where this term is over: before every write. */
  mustLead(): void;
}

/** What every step of a publisher works with. */
export interface PublishTools {
  readonly clock: Clock;
  readonly store: TableStore;
  readonly cutter: ShardCutter;
  readonly retiredStore: RetiredStore;
  readonly instance: string;
  readonly tableNamespace: string;
  internalTls(found: InternalTls | undefined): InternalTls | undefined;
  report(report: PublishReport): void;
}

/** Names of shards and of copies of manifests. */
export function namesInUse(lead: Term, instance: string): ReadonlySet<string> {
  const copies = [...lead.kept.keys()].map((generation) => keptManifestName(instance, generation));
  // A write without an answer may have put these shards into the pointer.
  const published = lead.holder.published()?.manifest.shards.map(({ name }) => name) ?? [];
  return new Set([
    ...lead.used.flat(),
    ...lead.coming,
    ...published,
    ...[...lead.kept.values()].flat(),
    ...copies,
  ]);
}
