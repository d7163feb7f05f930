// How do the shards of a table come into the cluster, and go? Written when they are missing, deleted when no table names them.

import { eachOf } from './each-of.ts';
import type { Shard } from './shards.ts';
import { SHARD_CALLS_AT_ONCE } from './table-store.ts';
import { namesInUse, type PublishTools, type Term } from './term.ts';

/** Gives how many bytes that were. */
export async function writeShards(
  { store, tableNamespace, report }: PublishTools,
  lead: Term,
  shards: readonly Shard[],
): Promise<number> {
  await eachOf(shards, SHARD_CALLS_AT_ONCE, async (shard) => {
    lead.mustLead();
    const { name } = shard.ref;
    if ((await store.ensureShard(shard)) === 'replaced') {
      const message = `Secret ${tableNamespace}/${name} did not match the digest in its name and was replaced`;
      report({ type: 'shard-replaced', name, message });
    }
    lead.present.add(name);
  });
  return shards.reduce((sum, shard) => sum + shard.compressed().length, 0);
}

/** Writes again what is in the table and not in the cluster. A shard that is there but in doubt is left out of `presentShardNames`. */
export async function repair(
  tools: PublishTools,
  lead: Term,
  presentShardNames: ReadonlySet<string>,
): Promise<{ readonly shardsWritten: number }> {
  const published = lead.holder.published();
  if (published === undefined) return { shardsWritten: 0 };
  const gone = published.manifest.shards.filter(({ name }) => !presentShardNames.has(name));
  // The next publish makes shards that this term has not cut yet.
  for (const { name } of gone) lead.present.delete(name);
  const shards = gone.flatMap(({ name }) => published.table.shards.get(name) ?? []);
  await writeShards(tools, lead, shards);
  if (!(await lead.holder.look())) await lead.holder.renew();
  return { shardsWritten: shards.length };
}

/** Deletes those that are not in use. */
export async function dropShards(
  { store, instance }: PublishTools,
  lead: Term,
  names: readonly string[],
): Promise<number> {
  // A leader that slept through its end remembers an old table, and would delete shards of the new one.
  await lead.holder.look();
  const used = namesInUse(lead, instance);
  const unused = names.filter((name) => !used.has(name));
  await eachOf(unused, SHARD_CALLS_AT_ONCE, async (name) => {
    lead.mustLead();
    lead.present.delete(name);
    await store.deleteShard(name);
  });
  return unused.length;
}
