// Publishes one content: reads the facts, plans, then writes the shards first and the pointer last.

import type { TableVersion } from '../../core/contract/exchange.ts';
import type { HealthHint, TableContent } from '../../core/contract/routing-table.ts';
import { letOthers } from '../turn.ts';
import type { RetiredKey } from '../watch/snapshot.ts';
import { EARLIER_MANIFESTS_KEPT } from './collect.ts';
import { DeposedError } from './deposed.ts';
import { keepCopy } from './earlier-tables.ts';
import { planRevocation, planTable, type TablePlan } from './plan-table.ts';
import { writeShards } from './table-shards.ts';
import { SHARD_CALLS_AT_ONCE } from './table-store.ts';
import type { PublishTools, Term } from './term.ts';

export interface PublishOptions {
  /** Access is taken away: where many shards have to be written, the revocations go ahead of them. */
  readonly urgent?: boolean;
  /** The content was made with `isAbsenceAccepted`; the next write of the pointer takes the annotation off. */
  readonly acceptsAbsence?: boolean;
  /** Keys that left the table until then, with this content too: they are written before it is in use. Absent: as before. */
  readonly retired?: readonly RetiredKey[];
  /** `retired` was made with this `release`; the next write of the pointer takes the annotation off. */
  readonly releases?: string | undefined;
  /** Faults that the operator's own checks found. */
  readonly hints?: readonly HealthHint[];
}

export interface Published extends TableVersion {
  /** False: this content was in use already, and the pointer was not written. */
  readonly isNew: boolean;
  readonly shardsWritten: number;
  /** Compressed shards and manifests. */
  readonly bytesWritten: number;
  readonly durationMs: number;
}

export async function publishTable(
  tools: PublishTools,
  lead: Term,
  content: TableContent,
  how: PublishOptions,
): Promise<Published> {
  const { clock, cutter } = tools;
  const { holder, present } = lead;
  const startedMs = clock.now();
  const published = holder.published();
  const cut = await cutter.cut(content, published?.manifest.shards ?? [], () => letOthers(clock));
  const { hints = [] } = how;
  const nowMs = clock.now();
  const plan = planTable({ published, present, content, cut, hints, nowMs, wallMs: clock.wallMs() });
  const { isNew, missing } = plan;
  let bytesWritten = 0;

  lead.coming = plan.manifest.shards.map(({ name }) => name);
  // guard: revocation-first
  if (isNew && how.urgent === true && missing.length > SHARD_CALLS_AT_ONCE) {
    // A revocation does not wait for a hundred shard writes.
    bytesWritten += await revokeAhead(lead, plan);
  }
  bytesWritten += await writeAhead(tools, lead, plan, how);
  bytesWritten += await writePointer(lead, plan, how);
  await tidyRetired(tools, lead);
  const { epoch, generation } = holder.published()?.manifest ?? holder.highest();
  const durationMs = clock.now() - startedMs;
  return { epoch, generation, isNew, shardsWritten: missing.length, bytesWritten, durationMs };
}

/** All that has to be there before the pointer says so. Gives the bytes of shards. */
async function writeAhead(
  tools: PublishTools,
  lead: Term,
  plan: TablePlan,
  how: PublishOptions,
): Promise<number> {
  const { copied } = plan;
  // Beside the shards, so that it costs no time.
  const keeping = copied && keepCopy(tools, lead, copied);
  // The list of retired keys goes out first, so that no other ApiKey can get a key that this table takes away. A table that only gives
  // a key back, from existing shards, does not wait for the list: the next publish writes it.
  const retiring = writeRetired(tools, lead, how).catch((error: unknown) => {
    if (error instanceof DeposedError || plan.takesAway || plan.missing.length > 0) throw error;
  });
  const writing = [writeShards(tools, lead, plan.missing), retiring, keeping] as const;
  try {
    const [bytes] = await Promise.all(writing);
    return bytes;
  } catch (error) {
    await Promise.allSettled(writing);
    // One object suffices to take access away, also where a shard cannot be written.
    if (!(error instanceof DeposedError)) await revokeAhead(lead, plan);
    throw error;
  }
}

async function writeRetired(
  { retiredStore }: PublishTools,
  lead: Term,
  { retired, releases }: PublishOptions,
): Promise<void> {
  if (retired !== undefined) await retiredStore.write(retired, lead.mustLead);
  if (releases === undefined) return;
  // The annotation is the only record of the release, so the list is written before the annotation is removed.
  await retiredStore.tidy(lead.mustLead);
  lead.holder.endRelease(releases);
}

/** The pointer says that keys are revoked, and is the same otherwise. Gives the bytes. */
async function revokeAhead({ holder }: Term, plan: TablePlan): Promise<number> {
  const ahead = planRevocation(holder.published(), plan);
  return ahead === undefined ? 0 : await holder.publish(ahead.manifest, ahead.table);
}

/** Gives the bytes. */
async function writePointer(
  lead: Term,
  { isNew, copied, manifest, table }: TablePlan,
  { acceptsAbsence: endsAcceptance = false }: PublishOptions,
): Promise<number> {
  const { holder } = lead;
  if (!isNew) {
    holder.know(table);
    if (endsAcceptance) holder.endAcceptance();
    return 0;
  }
  const isFirst = holder.published() === undefined;
  const bytes = await holder.publish(manifest, table, { endsAcceptance });
  lead.used = [...lead.used, lead.coming].slice(-1 - EARLIER_MANIFESTS_KEPT);
  if (copied !== undefined || isFirst) lead.sameSince = holder.published()?.manifest.generation ?? 0;
  return bytes;
}

/** No revocation waits for it, and what is left is taken away by the next publish. */
async function tidyRetired({ retiredStore }: PublishTools, lead: Term): Promise<void> {
  await retiredStore.tidy(lead.mustLead).catch((error: unknown) => {
    if (error instanceof DeposedError) throw error;
  });
}
