// Which parts of the table in use does the compilation need to hold last known good forms? The entries, and the start of each hold. A new
// leader finds both in the cluster, in the table and in the status of the object.

import { z } from 'zod';
import type { KeyEntry, TableContent } from '../../core/contract/routing-table.ts';
import type { HoldFacts, LastGood } from '../compile/last-good.ts';
import type { RoutingVerdict } from '../compile/verdict.ts';
import { keyOf } from '../compile/verdict-names.ts';
import type { RawObject } from '../watch/snapshot.ts';
import { providerOf } from './forms.ts';

interface LastFormsOptions {
  /** How long a form is held; 0: not at all. */
  readonly holdMs: number;
  /** As it was read last, with its status. */
  objectOf(kind: 'Provider' | 'ModelRoute', namespace: string, name: string): RawObject | undefined;
}

/** By `Kind/namespace/name`. */
type Verdicts = ReadonlyMap<string, RoutingVerdict>;

interface LastForms {
  /** For the next compile. @param content of the table in use. */
  of(content: TableContent | undefined): LastGood;
  /** To be called after every compile. */
  onCompiled(verdicts: Verdicts): void;
  /** These verdicts are those of the table in use, but for objects that wait. @param waits by `Kind/namespace/name`. */
  onPublished(verdicts: Verdicts, waits: ReadonlyMap<string, unknown>): void;
}

interface Known extends HoldFacts {
  readonly uid: unknown;
}

export function createLastForms({ holdMs, objectOf }: LastFormsOptions): LastForms {
  /** By `Kind/namespace/name`, as is the next. */
  const known = new Map<string, Known>();
  /** Facts from the statuses of unknown objects; read once. */
  const stored = new Map<string, { readonly uid: unknown; readonly facts: HoldFacts | undefined }>();
  let compiled: Verdicts = new Map();
  /** Of a table that is out as a whole. */
  let noted: Verdicts | undefined;
  let inUse: TableContent | undefined;
  /** For the table in use, as long as nothing else becomes known. */
  let lastGood: LastGood | undefined;

  return {
    of(content) {
      if (!isSameRouting(inUse, content)) lastGood = undefined;
      inUse = content;
      lastGood ??= lastGoodOf(content);
      return lastGood;
    },
    onCompiled(verdicts) {
      if (verdicts === compiled) return;
      compiled = verdicts;
      for (const [key, { kind, namespace, name, held }] of verdicts) {
        if (held === undefined) continue;
        const { sinceMs, generation } = held;
        const uid = objectOf(kind, namespace, name)?.metadata.uid;
        note(key, { uid, sinceMs, ...(generation === undefined ? {} : { generation }) });
      }
      for (const facts of [known, stored]) {
        for (const key of facts.keys()) if (!verdicts.has(key) && facts.delete(key)) lastGood = undefined;
      }
    },
    onPublished(verdicts, waits) {
      if (verdicts === noted) return;
      noted = waits.size === 0 ? verdicts : undefined;
      for (const [key, { kind, namespace, name, generation, held, isInTable }] of verdicts) {
        // An expired form stays known, so that its time does not start again.
        if (!isInTable || held !== undefined || waits.has(key)) continue;
        const uid = objectOf(kind, namespace, name)?.metadata.uid;
        note(key, { uid, ...(generation === undefined ? {} : { generation }) });
      }
    },
  };

  function note(key: string, facts: Known): void {
    const before = known.get(key);
    const { uid, sinceMs, generation } = facts;
    if (before?.uid === uid && before?.sinceMs === sinceMs && before?.generation === generation) return;
    known.set(key, facts);
    lastGood = undefined;
  }

  function lastGoodOf(content: TableContent | undefined): LastGood {
    const forms = content === undefined ? undefined : indexOf(content);
    return {
      holdMs: forms === undefined ? 0 : holdMs,
      provider: (id) => forms?.().providers.get(id),
      route: (id) => forms?.().routes.get(id),
      keyHolders: (digests) => holdersOf(digests, inUse?.keys ?? []),
      facts(kind, object) {
        const { namespace, name, uid } = object.metadata;
        const key = keyOf({ kind, namespace, name });
        const facts = known.get(key);
        if (facts !== undefined) return facts.uid === uid ? facts : undefined;
        const asked = stored.get(key);
        if (asked?.uid === uid && asked !== undefined) return asked.facts;
        const found = storedFacts(objectOf(kind, namespace, name));
        stored.set(key, { uid, facts: found });
        return found;
      },
    };
  }
}

/** Keys are looked up in whatever table is in use. */
function isSameRouting(a: TableContent | undefined, b: TableContent | undefined): boolean {
  return a?.providers === b?.providers && a?.credentials === b?.credentials && a?.routes === b?.routes;
}

/** One walk, and only where ApiKeys contest a digest: an index of all of them would be rebuilt for every table. */
function holdersOf(digests: ReadonlySet<string>, keys: readonly KeyEntry[]): Map<string, string> {
  const holders = new Map<string, string>();
  for (const { sha256, id } of keys) if (digests.has(sha256)) holders.set(sha256, id);
  return holders;
}

/** Looked up only for objects that are wrong, which mostly there are none of. */
function indexOf({ providers, credentials, routes }: TableContent) {
  let built: ReturnType<typeof build> | undefined;
  return () => {
    built ??= build();
    return built;
  };

  function build() {
    const owned = Map.groupBy(credentials, providerOf);
    return {
      providers: new Map(
        providers.map((entry) => [entry.id, { entry, credentials: owned.get(entry.id) ?? [] }]),
      ),
      routes: new Map(routes.map((entry) => [entry.id, entry])),
    };
  }
}

const statusSchema = z.object({
  observedGeneration: z.int(),
  conditions: z.array(
    z.object({
      type: z.string(),
      status: z.string(),
      reason: z.string(),
      observedGeneration: z.int().optional(),
      lastTransitionTime: z.string(),
    }),
  ),
});

/** Facts written by an earlier leader. An object that was recreated under an old name has no status. */
function storedFacts(object: RawObject | undefined): HoldFacts | undefined {
  const parsed = statusSchema.safeParse(object?.status);
  if (!parsed.success) return undefined;
  const { conditions } = parsed.data;
  const degraded = conditions.find(
    ({ type, status, reason }) => type === 'Degraded' && status === 'True' && reason === 'LastKnownGood',
  );
  const sinceMs = Date.parse(degraded?.lastTransitionTime ?? '');
  const generation = conditions.find(
    ({ type, status }) => type === 'Programmed' && status === 'True',
  )?.observedGeneration;
  return {
    ...(Number.isNaN(sinceMs) ? {} : { sinceMs }),
    ...(generation === undefined ? {} : { generation }),
  };
}
