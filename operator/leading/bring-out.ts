// One run from the cluster to a published table: snapshot, compile, hold missing objects, apply a pin, withhold entries that older
// gateways cannot read, publish. An object that fits into no table is left out alone.

import type { HealthHint, KeyEntry, TableContent } from '../../core/contract/routing-table.ts';
import type { Compile, CompileResult } from '../compile/compile.ts';
import type { HealthCheck } from '../compile/health-check.ts';
import type { Condition, Verdict } from '../compile/verdict.ts';
import { keyOf, type NamesOf } from '../compile/verdict-names.ts';
import { createFormIndex, type FormOf, type Forms } from '../hold/forms.ts';
import { findLostTargets, type HeldCounts, holdAbsent } from '../hold/hold-absent.ts';
import { createLastForms } from '../hold/last-forms.ts';
import { type Grants, grantsOf, pinContent } from '../hold/pin-content.ts';
import { readReleased, retireKeys } from '../hold/retire-keys.ts';
import type { Wait, Waits } from '../hold/waits.ts';
import { type Reader, withholdNewer } from '../hold/withhold-newer.ts';
import type { Published, PublishOptions } from '../publish/publish-table.ts';
import type { Publisher } from '../publish/publisher.ts';
import { leaveOut, UnfitEntryError } from '../publish/unfit-entry.ts';
import type { Cluster } from '../watch/cluster.ts';
import type { CheckedPolicy, RetiredKey, Snapshot } from '../watch/snapshot.ts';
import { createGatherer, type Verdicts, withVerdict } from './verdicts.ts';

export interface BringOutParts {
  readonly publisher: Publisher;
  readonly cluster: Cluster;
  readonly compile: Compile;
  readonly namesOf: NamesOf;
  /** Whether the operator's settings name this namespace, or all. */
  isServed(namespace: string): boolean;
  /** How long the last good form of an object is held. */
  readonly holdMs: number;
  /** The ready gateway pods. */
  readers(): readonly Reader[];
  /** How the pin is ended. */
  readonly unpinCommand: string;
  wallMs(): number;
  /** Yields to other work: at the first run everything is new. */
  yieldNow(): Promise<void>;
  /** Faults that the operator's own checks found, for the table that is about to be written. */
  takeHints(): readonly HealthHint[];
  /** Called with the table that was found; generation 0 without one. */
  onTakenOver(epoch: number | undefined, generation: number, hints: readonly HealthHint[]): void;
  onPublished(published: Published): void;
  /** Counts of held entries, and the namespaces that cannot be read. */
  onHeld(held: HeldCounts, unreadable: ReadonlySet<string>): void;
  /** Retired keys that any namespace may have again; none where the annotation named none. */
  onReleased(keys: readonly RetiredKey[]): void;
  /** Called with the present pin at every run. */
  onPin(pin: Pin | undefined): void;
}

/** What an annotation on the pointer wants, and what came of it. */
export type Pin =
  | { readonly type: 'pinned'; readonly generation: number }
  /** There is no such table: the one in use stays. */
  | { readonly type: 'impossible'; readonly wanted: string; readonly message: string };

interface RunFacts {
  readonly judged: Verdicts;
  /** Unix milliseconds at which the same snapshot gives another table. */
  readonly staleAtMs: number | undefined;
  /** Objects that the table has in another form, though nothing is wrong with them. */
  readonly waits: Waits;
}

export type TableRun =
  | (RunFacts & {
      readonly type: 'published';
      readonly generation: number;
      /** The form of each object in the table. */
      readonly forms: Forms;
      /** The forms in the table that this term has found; at its first run only. */
      readonly found: FormOf | undefined;
      readonly content: TableContent;
      readonly healthChecks: readonly HealthCheck[];
      readonly policies: readonly CheckedPolicy[];
    })
  | (RunFacts & {
      readonly type: 'failed';
      readonly error: unknown;
      /** Of the table that may have been published despite the error. */
      readonly attempted: FormOf;
    });

interface BringOut {
  /** One at a time. @throws {KubeError} where the table that is there could not be read. */
  run(isUrgent: boolean): Promise<TableRun>;
  /** False until the table that is there has been read. */
  hasTakenOver(): boolean;
}

interface InUse {
  readonly content: TableContent | undefined;
  /** Of keys that left it and the tables before it. */
  readonly retired: readonly RetiredKey[];
  /** Present until this term has published. */
  readonly found?: FormOf;
  /** Keys of the table that was found that no gateway accepts. Present until this term has published. */
  readonly revoked?: readonly KeyEntry[];
}

/** What would go out. */
interface Draft {
  readonly compiled: CompileResult;
  readonly judged: Verdicts;
  readonly held: HeldCounts;
  readonly wanted: TableContent;
  readonly waits: Waits;
}

interface PinnedTable {
  /** The text of the annotation. */
  readonly wanted: string;
  readonly content: TableContent;
  readonly pin: Pin;
}

export function createBringOut(parts: BringOutParts): BringOut {
  const { publisher, cluster, compile, namesOf } = parts;
  const gather = createGatherer(namesOf);
  const forms = createFormIndex();
  const lastForms = createLastForms({ holdMs: parts.holdMs, objectOf: cluster.object });
  let inUse: InUse | undefined;
  /** The result of the last pin. */
  let pinned: PinnedTable | undefined;
  /** Changed in tables that did not get out, as far as is known. */
  let unreported: ReadonlySet<string> = new Set();

  return {
    hasTakenOver: () => inUse !== undefined,
    async run(isUrgent) {
      inUse ??= await takeOver();
      const { found } = inUse;
      const isFirst = found !== undefined;
      if (isFirst) await parts.yieldNow();
      const snapshot = cluster.snapshot();
      const acceptsAbsence = publisher.isAbsenceAccepted();
      const unreadable = cluster.unreadableNamespaces();
      const releases = publisher.release();
      const retired = retiring(inUse, releases);
      let draft = await draftWith(inUse, snapshot, inUse.retired, { acceptsAbsence, unreadable });
      const leaving = retired(draft.wanted);
      // What this table takes from one namespace must not go to another one with it.
      // guard: key-moves-between-tenants
      if (leaving !== inUse.retired) {
        draft = await draftWith(inUse, snapshot, leaving, { acceptsAbsence, unreadable });
      }
      const { compiled, held, wanted, waits } = draft;
      let { judged } = draft;
      lastForms.onCompiled(judged.routing);
      parts.onHeld(held, unreadable);
      if (isFirst) await parts.yieldNow();
      const out = await publishFitting(wanted, retired, {
        urgent: isUrgent,
        acceptsAbsence,
        hints: parts.takeHints(),
        releases,
      });
      for (const [key, message] of out.refused) {
        const verdict = judged.get(key);
        if (verdict !== undefined) judged = withVerdict(judged, key, refuse(verdict, message));
      }
      const facts = { judged, staleAtMs: compiled.staleAtMs, waits };
      if (isFirst) await forms.prepare(out.content, parts.yieldNow);
      const now = forms.index(out.content);
      if (isFirst) await parts.yieldNow();
      const changed = unreported.size === 0 ? now.changed : new Set([...unreported, ...now.changed]);
      if ('error' in out) {
        unreported = changed;
        // The keys stay retired although the write failed: no other ApiKey may get them.
        inUse = {
          ...inUse,
          retired: out.retired,
          ...(found === undefined ? {} : { found: whereSame(found, now.of) }),
        };
        return { ...facts, type: 'failed', error: out.error, attempted: now.of };
      }
      unreported = new Set();
      if (releases !== undefined) {
        const left = new Set(out.retired);
        parts.onReleased(inUse.retired.filter((key) => !left.has(key)));
      }
      inUse = { content: out.content, retired: out.retired };
      lastForms.onPublished(judged.routing, waits);
      const { content: published, generation } = out;
      return {
        ...facts,
        type: 'published',
        generation,
        forms: { ...now, changed },
        found,
        content: published,
        healthChecks: compiled.healthChecks,
        policies: snapshot.policies ?? [],
      };
    },
  };

  async function draftWith(
    { content: last }: InUse,
    snapshot: Snapshot,
    retiredKeys: readonly RetiredKey[],
    absence: { readonly acceptsAbsence: boolean; readonly unreadable: ReadonlySet<string> },
  ): Promise<Draft> {
    const compiled = compile({ ...snapshot, retiredKeys }, parts.wallMs(), lastForms.of(last));
    const judged = gather(compiled.verdicts);
    const { content, held } = holdAbsent({
      last,
      next: compiled.table,
      isPresent: (kind, id) => cluster.object(kind, ...splitId(id)) !== undefined,
      isReadable: (namespace) => !absence.unreadable.has(namespace),
      wasSeenDeleted: cluster.wasSeenDeleted,
      isTargetLost: findLostTargets(judged.routing.values(), snapshot.modelRoutes),
      isServed: parts.isServed,
      isAccepted: absence.acceptsAbsence,
    });
    const { content: wanted, waits } = await keepBack(content, last, snapshot);
    return { compiled, judged, held, wanted, waits };
  }

  /** Gives the keys that are retired once a content is in use. */
  function retiring({ content, revoked = [], retired }: InUse, releases: string | undefined) {
    const served = content?.keys ?? [];
    const last = revoked.length === 0 ? served : [...served, ...revoked];
    const released = releases === undefined ? [] : readReleased(releases);
    return ({ keys }: TableContent) =>
      retireKeys({ retired, last, next: keys, released, nowMs: parts.wallMs() });
  }

  /** The content that may be published now, and the objects that wait. */
  async function keepBack(content: TableContent, last: TableContent | undefined, snapshot: Snapshot) {
    pinned = await findPinned(last);
    parts.onPin(pinned?.pin);
    const kept = pinned === undefined ? undefined : pinContent(pinned.content, content, snapshot);
    let grants: Grants | undefined;
    const fitting = withholdNewer({
      last,
      next: kept?.content ?? content,
      readers: parts.readers(),
      grants: () => {
        grants ??= grantsOf(snapshot);
        return grants;
      },
    });
    if (pinned === undefined || kept === undefined) return fitting;
    const wait = pinWait(pinned.pin);
    const waits = new Map([...fitting.waits, ...[...kept.differing].map((key) => [key, wait] as const)]);
    return { content: fitting.content, waits };
  }

  async function findPinned(last: TableContent | undefined): Promise<PinnedTable | undefined> {
    const wanted = publisher.pin();
    if (wanted === undefined) return undefined;
    if (pinned?.wanted === wanted) return pinned;
    const impossible = (message: string): PinnedTable | undefined =>
      last && { wanted, content: last, pin: { type: 'impossible', wanted, message } };
    if (!/^[0-9]{1,16}$/.test(wanted)) return impossible('it must be the number of a table generation');
    const generation = Number(wanted);
    const found = await publisher.readEarlier(generation);
    if (found.type === 'not-there') return impossible(found.message);
    return { wanted, content: found.content, pin: { type: 'pinned', generation } };
  }

  function pinWait(pin: Pin): Wait {
    const what =
      pin.type === 'pinned'
        ? `the table is pinned to generation ${pin.generation}`
        : `the table stays as it was, because it cannot be pinned to ${pin.wanted}`;
    const message = `${what}; the current form of the object waits until the pin is removed: ${parts.unpinCommand}`;
    return { status: 'Unknown', reason: 'Pinned', message };
  }

  async function takeOver(): Promise<InUse> {
    const { content, version, revoked, retired, hints } = await publisher.takeOver();
    parts.onTakenOver(version?.epoch, version?.generation ?? 0, hints);
    // Writes the new epoch, which fences the former leader. Without a table there was no leader to fence.
    await publisher.heartbeat();
    const taken = { content, revoked, retired };
    if (content === undefined) return { ...taken, found: () => undefined };
    await forms.prepare(content, parts.yieldNow);
    return { ...taken, found: forms.index(content).of };
  }

  /** Gives the content that is in use now, or was to be; and the left-out objects by the key of their verdict, with the reason. */
  async function publishFitting(
    wanted: TableContent,
    retiredBy: (content: TableContent) => readonly RetiredKey[],
    how: PublishOptions,
  ): Promise<
    {
      readonly content: TableContent;
      readonly retired: readonly RetiredKey[];
      readonly refused: ReadonlyMap<string, string>;
    } & ({ readonly generation: number } | { readonly error: unknown })
  > {
    const refused = new Map<string, string>();
    let content = wanted;
    for (;;) {
      const retired = retiredBy(content);
      try {
        const published = await publisher.publish(content, { ...how, retired });
        parts.onPublished(published);
        return { content, retired, refused, generation: published.generation };
      } catch (error) {
        if (!(error instanceof UnfitEntryError)) return { content, retired, refused, error };
        const smaller = leaveOut(content, error);
        if (entriesOf(smaller) === entriesOf(content)) return { content, retired, refused, error };
        content = smaller;
        const [namespace, name] = splitId(error.objectId);
        refused.set(keyOf({ kind: error.objectKind, namespace, name }), error.message);
      }
    }
  }
}

/** A form only if both agree on it. */
function whereSame(of: FormOf, other: FormOf): FormOf {
  return (kind, id) => {
    const form = of(kind, id);
    return form === other(kind, id) ? form : undefined;
  };
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

function splitId(id: string): [namespace: string, name: string] {
  const slash = id.indexOf('/');
  return [id.slice(0, slash), id.slice(slash + 1)];
}
