// Which earlier tables can be used again? Those of the last manifests: copies of them, and the shards that they name, are kept.

import { keptManifestName } from '../../core/contract/manifest.ts';
import type { TableContent } from '../../core/contract/routing-table.ts';
import { EARLIER_MANIFESTS_KEPT } from './collect.ts';
import { DeposedError } from './deposed.ts';
import { eachOf } from './each-of.ts';
import type { Published } from './pointer-holder.ts';
import { type KeptManifest, SHARD_CALLS_AT_ONCE } from './table-store.ts';
import type { PublishTools, Table, Term } from './term.ts';

export type EarlierTable =
  | { readonly type: 'read'; readonly content: TableContent }
  /** With what is wrong, in words. */
  | { readonly type: 'not-there'; readonly message: string };

/** Of the manifest in the pointer, before another one is there. */
export async function keepCopy(
  { store, report }: PublishTools,
  lead: Term,
  { manifest, text }: Published<Table>,
): Promise<void> {
  const { generation, shards } = manifest;
  if (lead.kept.has(generation)) return;
  try {
    lead.mustLead();
    await store.keepManifest({ generation, since: Math.min(lead.sameSince, generation) }, text);
    lead.kept = new Map([...lead.kept, [generation, shards.map(({ name }) => name)]]);
  } catch (error) {
    // No table waits for a copy of the one before.
    if (error instanceof DeposedError) return;
    const fact = error instanceof Error ? error.message : String(error);
    report({
      type: 'manifest-not-kept',
      message: `no copy of table generation ${generation} could be kept: ${fact}`,
    });
  }
}

export async function readEarlier(
  { store }: PublishTools,
  lead: Term,
  generation: number,
): Promise<EarlierTable> {
  const published = lead.holder.published();
  const notThere = (fact: string): EarlierTable => ({
    type: 'not-there',
    message: `table generation ${generation} ${fact}`,
  });
  const isPublished =
    published !== undefined && lead.sameSince <= generation && generation <= published.manifest.generation;
  if (isPublished && published.table.content !== undefined) {
    return { type: 'read', content: published.table.content };
  }
  const copies = await store.listKept();
  const copy = copies.find((one) => one.since <= generation && generation <= one.generation);
  const found = copy && (await store.readKept(copy.generation));
  if (found === undefined) {
    const kept = copies.slice(0, EARLIER_MANIFESTS_KEPT).map(describeKept);
    return notThere(`is not kept; ${kept.length === 0 ? 'none is yet' : `kept are ${kept.join(', ')}`}`);
  }
  if (found.kind === 'unreadable') return notThere(`cannot be read: ${found.problem}`);
  const { content, problems } = await store.readShards(found.manifest);
  const [problem] = problems;
  if (problem !== undefined) return notThere(`cannot be read: ${problem.message}`);
  return { type: 'read', content };
}

/** Every shard and copy of this installation; reads again which copies there are, and what those that stay name. */
export async function listAllPieces(
  { store, instance }: PublishTools,
  lead: Term,
): Promise<readonly string[]> {
  const shards = await store.listShards();
  const copies = await store.listKept();
  const pinned = Number(lead.holder.pin());
  const staying = copies.filter(
    ({ generation, since }, index) =>
      index < EARLIER_MANIFESTS_KEPT || (since <= pinned && pinned <= generation),
  );
  const named = await eachOf(staying, SHARD_CALLS_AT_ONCE, async ({ generation }) => {
    const known = lead.kept.get(generation);
    if (known !== undefined) return [generation, known] as const;
    const found = await store.readKept(generation);
    const refs = found?.kind === 'readable' ? found.manifest.shards : [];
    return [generation, refs.map(({ name }) => name)] as const;
  });
  lead.kept = new Map(named);
  return [...shards, ...copies.map(({ generation }) => keptManifestName(instance, generation))];
}

function describeKept({ generation, since }: KeptManifest): string {
  return since === generation ? `${generation}` : `${since} to ${generation}`;
}
