// How does one run make a table of what the cluster holds, and bring it out? Snapshot, compile, what is held back although it
// is absent, publish; an object that fits into no table stays out alone.

import type { HealthHint, TableContent } from '../../gateway/contract/routing-table.ts';
import type { Compile } from '../compile/compile.ts';
import type { HealthCheck } from '../compile/health-check.ts';
import type { Condition, Verdict } from '../compile/verdict.ts';
import { createFormIndex, type FormOf, type Forms } from '../publish/forms.ts';
import { findLostTargets, type HeldCounts, holdAbsent } from '../publish/hold-absent.ts';
import { createLastForms } from '../publish/last-forms.ts';
import type { Published, Publisher, PublishOptions } from '../publish/publisher.ts';
import { leaveOut, UnfitEntryError } from '../publish/unfit-entry.ts';
import { keyOf, type NamesOf } from '../publish/verdict-names.ts';
import type { Cluster } from '../watch/cluster.ts';

export interface BringOutParts {
  readonly publisher: Publisher;
  readonly cluster: Cluster;
  readonly compile: Compile;
  readonly namesOf: NamesOf;
  /** How long the last good form of an object is held. */
  readonly holdMs: number;
  wallMs(): number;
  /** What the operator's own checks found wrong, for the table that is about to be written. */
  takeHints(): readonly HealthHint[];
  /** The table that was found; its generation is 0 where there is none. */
  onTakenOver(epoch: number | undefined, generation: number, hints: readonly HealthHint[]): void;
  onPublished(published: Published): void;
  /** What is held now, and of which namespaces nothing is known. */
  onHeld(held: HeldCounts, unreadable: ReadonlySet<string>): void;
}

export interface RunFacts {
  /** Every verdict, by `Kind/namespace/name`. */
  readonly judged: ReadonlyMap<string, Verdict>;
  /** Unix milliseconds at which the same snapshot gives another table. */
  readonly staleAtMs: number | undefined;
}

export type TableRun =
  | (RunFacts & {
      readonly type: 'published';
      readonly generation: number;
      /** What the table holds for each object. */
      readonly forms: Forms;
      /** What the table held that this term has found; at its first run only. */
      readonly found: FormOf | undefined;
      readonly content: TableContent;
      readonly healthChecks: readonly HealthCheck[];
    })
  | (RunFacts & { readonly type: 'failed'; readonly error: unknown });

export interface BringOut {
  /** One at a time. @throws {KubeError} where the table that is there could not be read. */
  run(isUrgent: boolean): Promise<TableRun>;
  /** False until the table that is there has been read. */
  hasTakenOver(): boolean;
}

interface InUse {
  readonly content: TableContent | undefined;
  /** Present until this term has published. */
  readonly found?: FormOf;
}

export function createBringOut(parts: BringOutParts): BringOut {
  const { publisher, cluster, compile, namesOf } = parts;
  const indexForms = createFormIndex();
  const lastForms = createLastForms({ holdMs: parts.holdMs, objectOf: cluster.object });
  let inUse: InUse | undefined;

  return {
    hasTakenOver: () => inUse !== undefined,
    async run(isUrgent) {
      inUse ??= await takeOver();
      const snapshot = cluster.snapshot();
      const { table, verdicts, healthChecks, staleAtMs } = compile(
        snapshot,
        parts.wallMs(),
        lastForms.of(inUse.content),
      );
      lastForms.onCompiled(verdicts);
      const acceptsAbsence = publisher.isAbsenceAccepted();
      const unreadable = cluster.unreadableNamespaces();
      const { content, held } = holdAbsent({
        last: inUse.content,
        next: table,
        isPresent: (kind, id) => cluster.object(kind, ...placeOf(id)) !== undefined,
        isReadable: (namespace) => !unreadable.has(namespace),
        wasSeenDeleted: cluster.wasSeenDeleted,
        isTargetLost: findLostTargets(verdicts, snapshot.modelRoutes),
        isAccepted: acceptsAbsence,
      });
      parts.onHeld(held, unreadable);
      const judged = new Map(verdicts.map((verdict) => [namesOf(verdict).key, verdict]));
      try {
        const { found } = inUse;
        const out = await publishFitting(content, judged, {
          urgent: isUrgent,
          acceptsAbsence,
          hints: parts.takeHints(),
        });
        const { content: published, generation } = out;
        inUse = { content: published };
        const forms = indexForms(published);
        lastForms.onPublished([...judged.values()], new Map());
        return {
          type: 'published',
          judged,
          staleAtMs,
          generation,
          forms,
          found,
          content: published,
          healthChecks,
        };
      } catch (error) {
        return { type: 'failed', judged, staleAtMs, error };
      }
    },
  };

  async function takeOver(): Promise<InUse> {
    const { content, version, hints } = await publisher.takeOver();
    parts.onTakenOver(version?.epoch, version?.generation ?? 0, hints);
    // Tells the new epoch, which fences the leader before; where there is no table yet, there is nobody to fence.
    await publisher.heartbeat();
    return { content, found: content === undefined ? () => undefined : indexForms(content).of };
  }

  /** Gives the content that is in use now. Whoever was left out is judged anew. */
  async function publishFitting(
    wanted: TableContent,
    judged: Map<string, Verdict>,
    how: PublishOptions,
  ): Promise<{ readonly content: TableContent; readonly generation: number }> {
    let content = wanted;
    for (;;) {
      try {
        const published = await publisher.publish(content, how);
        parts.onPublished(published);
        return { content, generation: published.generation };
      } catch (error) {
        if (!(error instanceof UnfitEntryError)) throw error;
        const smaller = leaveOut(content, error);
        if (entriesOf(smaller) === entriesOf(content)) throw error;
        content = smaller;
        const [namespace, name] = placeOf(error.objectId);
        const key = keyOf({ kind: error.objectKind, namespace, name });
        const verdict = judged.get(key);
        if (verdict !== undefined) judged.set(key, refuse(verdict, error.message));
      }
    }
  }
}

function entriesOf({ keys, routes, providers }: TableContent): number {
  return keys.length + routes.length + providers.length;
}

function refuse(verdict: Verdict, message: string): Verdict {
  const conditions = verdict.conditions.map(
    (condition): Condition =>
      condition.type === 'Accepted'
        ? { ...condition, status: 'False', reason: 'Invalid', message }
        : condition,
  );
  return { ...verdict, conditions, isInTable: false };
}

function placeOf(id: string): [namespace: string, name: string] {
  const slash = id.indexOf('/');
  return [id.slice(0, slash), id.slice(slash + 1)];
}
