// Reads the state for a new leader: the pointer, its shards, and the retired keys. It writes nothing.

import type { TableVersion } from '../../core/contract/exchange.ts';
import { pointerName } from '../../core/contract/manifest.ts';
import type { HealthHint, KeyEntry, TableContent } from '../../core/contract/routing-table.ts';
import type { RetiredKey } from '../watch/snapshot.ts';
import { DeposedError } from './deposed.ts';
import { ACCEPT_DOWNGRADE_ANNOTATION } from './pointer-holder.ts';
import { shortened } from './revocations.ts';
import type { Pointer } from './table-store.ts';
import type { PublishTools, Table } from './term.ts';

export interface TakenOver {
  /** What gateways serve: without keys that the manifest calls revoked, and without shards that cannot be read. */
  readonly content: TableContent | undefined;
  /** Of that content. */
  readonly version: TableVersion | undefined;
  /** Keys that are in its shards, and that the manifest calls revoked. */
  readonly revoked: readonly KeyEntry[];
  /** Keys that left the table, and stay with their namespace. */
  readonly retired: readonly RetiredKey[];
  /** As the manifest says them. */
  readonly hints: readonly HealthHint[];
}

export interface Findings {
  readonly taken: TakenOver;
  readonly pointer: Pointer | undefined;
  readonly table: Table;
  /** Also of an unreadable manifest, if it states one. */
  readonly version: TableVersion | undefined;
  readonly shardNames: readonly string[];
  /** The unreadable ones among them. */
  readonly broken: ReadonlySet<string>;
}

/** @throws {DeposedError} where the table was written by a newer operator, and needs a newer reader. */
export async function readFindings(tools: PublishTools): Promise<Findings> {
  const { store, clock, report } = tools;
  const pointer = await store.readPointer();
  const found = pointer?.manifest;
  const manifest = found?.kind === 'readable' ? found.manifest : undefined;
  if (found?.kind === 'unreadable') {
    if (found.isNewer === true) mustBeginAgain(tools, pointer, found.problem);
    const message = `${placeOf(tools)} cannot be read: ${found.problem}; a new table is started`;
    report({ type: 'pointer-unreadable', message });
  }
  const read = manifest === undefined ? undefined : await store.readShards(manifest);
  for (const problem of read?.problems ?? []) report({ type: 'shard-unreadable', ...problem });
  const retired = await tools.retiredStore.read();

  const content = read && withoutRevoked(read.content, manifest?.revocations ?? []);
  const working = new Set(content?.keys);
  const revoked = read?.content.keys.filter((entry) => !working.has(entry)) ?? [];
  // When they were added is written nowhere; here they count from now.
  const revocations = (manifest?.revocations ?? []).map((digest) => ({ digest, addedMs: clock.now() }));
  const version = manifest && { epoch: manifest.epoch, generation: manifest.generation };
  return {
    taken: { content, version, revoked, retired, hints: manifest?.hints ?? [] },
    pointer,
    table: { content, revocations, shards: new Map() },
    version: version ?? (found?.kind === 'unreadable' ? found.version : undefined),
    shardNames: (manifest?.shards ?? []).map(({ name }) => name),
    broken: new Set(read?.problems.map(({ name }) => name)),
  };
}

/** Name of the pointer in messages. */
export function placeOf({
  tableNamespace,
  instance,
}: Pick<PublishTools, 'tableNamespace' | 'instance'>): string {
  return `Secret ${tableNamespace}/${pointerName(instance)}`;
}

/** This operator would not even know what it takes away. */
function mustBeginAgain(tools: PublishTools, pointer: Pointer | undefined, problem: string): void {
  if (pointer?.metadata.annotations?.[ACCEPT_DOWNGRADE_ANNOTATION] === 'true') return;
  throw new DeposedError(
    `${placeOf(tools)} was written by a newer operator: ${problem}. Gateways continue to serve it; run the newer operator, or let ` +
      `this operator start a new table: kubectl annotate secret ${pointerName(tools.instance)} -n ${tools.tableNamespace} ${ACCEPT_DOWNGRADE_ANNOTATION}=true`,
  );
}

/** A gateway refuses these whatever its shards say. */
function withoutRevoked(content: TableContent, revocations: readonly string[]): TableContent {
  const revoked = new Set(revocations);
  return { ...content, keys: content.keys.filter(({ sha256 }) => !revoked.has(shortened(sha256))) };
}
