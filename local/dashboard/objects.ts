// What would an API server have made of the manifests? The same objects with uid, generation, resourceVersion and status, and word of
// each change to its watchers.

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ExchangeResponse } from '../../core/contract/exchange.ts';
import type { Spent } from '../../core/contract/spend.ts';
import { targetTroubles } from '../../operator/status/target-troubles.ts';
import type { RawObject } from '../../operator/watch/snapshot.ts';
import type { Deployment } from '../deploy.ts';
import { type Manifests, objectId } from '../manifests.ts';
import { healthHere } from './health.ts';
import { spendStatusOf } from './spend-status.ts';
import { type StatusFacts, statusOf } from './status.ts';

export const PLURALS = { apikeys: 'ApiKey', providers: 'Provider', modelroutes: 'ModelRoute' } as const;
export type Plural = keyof typeof PLURALS;
export type OwnKind = (typeof PLURALS)[Plural];

/** As it is shown. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface ObjectChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
}

export interface LocalObjects {
  /** The newest reading of the manifests. Gives the same, with each object's generation: what is compiled then is judged as that. */
  take(manifests: Manifests): Manifests;
  /** What became of the manifests that were taken last. */
  judge(deployment: Deployment): void;
  /** The gateway's news of upstreams. */
  hear(heard: ExchangeResponse): void;
  /** The ledger's spend. @param apiKeys `namespace/name` of changed ones; undefined: any may have changed. */
  spend(spentOf: SpentOf, apiKeys: readonly string[] | undefined): void;
  /** The manifests taken last. */
  manifests(): Manifests;
  get(kind: OwnKind, namespace: string, name: string): ApiObject | undefined;
  /** By namespace and name. @param namespace undefined: all. */
  list(kind: OwnKind, namespace: string | undefined): readonly ApiObject[];
  /** The file that the object stood in when it could last be read; undefined where nothing is wrong with it. */
  unreadFileOf(kind: OwnKind, namespace: string, name: string): string | undefined;
  /** Of the newest change. */
  resourceVersion(): string;
  /** Gives what ends it. */
  onChange(listener: (change: ObjectChange) => void): () => void;
}

type SpentOf = (apiKey: string) => Spent | undefined;
/** Facts from outside the compile. */
type Judged = Omit<StatusFacts, 'health' | 'troubles' | 'spend'>;

interface Known {
  /** As the manifests have it. */
  readonly raw: RawObject;
  /** As it is compiled. */
  readonly stamped: RawObject;
  readonly shown: ApiObject;
  /** Undefined: it is in none. */
  readonly file: string | undefined;
}

export function openObjects(manifests: Manifests, wallMs: () => number): LocalObjects {
  const known = new Map<string, Known>();
  const listeners = new Set<(change: ObjectChange) => void>();
  // Never that of an earlier process: what a page knows from then is old.
  let version = wallMs() * 1_000;
  let latest = manifests;
  /** Of the objects in the table: the generation in use, by id. */
  let inUse: ReadonlyMap<string, number> = new Map();
  let healthOf = healthHere(undefined);
  /** The last judgements, by id. */
  const judged = new Map<string, Judged>();
  /** Undefined: the ledger was not heard yet. */
  let spentOf: SpentOf | undefined;

  function notify(type: ObjectChange['type'], object: ApiObject): void {
    for (const listener of [...listeners]) listener({ type, object });
  }

  function stamp(kind: OwnKind, raw: RawObject, places: Manifests['places']): RawObject {
    const { namespace, name } = raw.metadata;
    const id = objectId(kind, namespace, name);
    const file = places.get(id)?.file;
    const before = known.get(id);
    if (before !== undefined && isDeepStrictEqual(before.raw, raw)) {
      known.set(id, { ...before, file });
      return before.stamped;
    }
    const isSameSpec = before !== undefined && isDeepStrictEqual(before.raw.spec, raw.spec);
    const generation = (before?.shown.metadata.generation ?? 0) + (isSameSpec ? 0 : 1);
    version += 1;
    const { status: _, ...own } = raw;
    const stamped = { ...own, metadata: { ...raw.metadata, generation } };
    const shown: ApiObject = {
      ...own,
      apiVersion: String(raw.apiVersion),
      kind,
      metadata: {
        ...raw.metadata,
        uid: uidOf(id, String(raw.metadata.creationTimestamp)),
        resourceVersion: String(version),
        generation,
      },
      ...(before?.shown.status === undefined ? {} : { status: before.shown.status }),
    };
    known.set(id, { raw, stamped, shown, file });
    notify(before === undefined ? 'ADDED' : 'MODIFIED', shown);
    return stamped;
  }

  function forgetMissing(): void {
    const present = new Set(
      allOf(latest).map(([kind, { metadata }]) => objectId(kind, metadata.namespace, metadata.name)),
    );
    for (const [id, { shown, file }] of known) {
      // An object in a file that is unreadable in the middle of an edit is not deleted.
      if (present.has(id) || (file !== undefined && latest.unread.has(file))) continue;
      known.delete(id);
      version += 1;
      notify('DELETED', { ...shown, metadata: { ...shown.metadata, resourceVersion: String(version) } });
    }
  }

  function setStatus(id: string, facts: Judged): void {
    const one = known.get(id);
    judged.set(id, facts);
    // Of an earlier form, there is nothing to be said of this one.
    if (one === undefined || one.shown.metadata.generation !== facts.verdict.generation) return;
    const { kind, namespace, name } = facts.verdict;
    const { verdict } = facts;
    const health = verdict.kind === 'Provider' ? healthOf(verdict) : undefined;
    const troubles = verdict.kind === 'ModelRoute' ? targetTroubles(verdict, healthOfProvider) : new Map();
    const nowMs = wallMs();
    const spend =
      kind === 'ApiKey' && spentOf !== undefined
        ? spendStatusOf(one.raw.spec, spentOf(`${namespace}/${name}`), nowMs)
        : undefined;
    const status = statusOf({ ...facts, health, troubles, spend }, one.shown.status, nowMs);
    if (isDeepStrictEqual(status, one.shown.status)) return;
    version += 1;
    const metadata = { ...one.shown.metadata, resourceVersion: String(version) };
    const shown = { ...one.shown, metadata, status };
    known.set(id, { ...one, shown });
    notify('MODIFIED', shown);
  }

  function healthOfProvider(provider: string) {
    const [namespace = '', name = ''] = provider.split('/');
    const verdict = judged.get(objectId('Provider', namespace, name))?.verdict;
    return verdict?.kind === 'Provider' ? healthOf(verdict) : undefined;
  }

  return {
    take(read) {
      latest = {
        ...read,
        providers: read.providers.map((raw) => stamp('Provider', raw, read.places)),
        modelRoutes: read.modelRoutes.map((raw) => stamp('ModelRoute', raw, read.places)),
        apiKeys: read.apiKeys.map((raw) => stamp('ApiKey', raw, read.places)),
      };
      forgetMissing();
      return latest;
    },
    judge({ verdicts, outcome, generation, problems }) {
      const idOf = (one: (typeof verdicts)[number]) => objectId(one.kind, one.namespace, one.name);
      judged.clear();
      if (outcome !== 'kept')
        inUse = new Map(verdicts.map((verdict) => [idOf(verdict), verdict.generation ?? 0]));
      for (const verdict of verdicts) {
        const isInUse = inUse.get(idOf(verdict)) === verdict.generation;
        setStatus(idOf(verdict), { verdict, isInUse, tableGeneration: generation, problems });
      }
    },
    hear(heard) {
      healthOf = healthHere(heard);
      for (const [id, facts] of judged) if (facts.verdict.kind !== 'ApiKey') setStatus(id, facts);
    },
    spend(spend, apiKeys) {
      spentOf = spend;
      const changed = apiKeys && new Set(apiKeys);
      for (const [id, facts] of judged) {
        const { kind, namespace, name } = facts.verdict;
        if (kind === 'ApiKey' && changed?.has(`${namespace}/${name}`) !== false) setStatus(id, facts);
      }
    },
    manifests: () => latest,
    get: (kind, namespace, name) => known.get(objectId(kind, namespace, name))?.shown,
    list(kind, namespace) {
      const shown = [...known.values()].map((one) => one.shown);
      return shown
        .filter(
          (one) => one.kind === kind && (namespace === undefined || one.metadata.namespace === namespace),
        )
        .sort(
          (a, b) =>
            order(a.metadata.namespace, b.metadata.namespace) || order(a.metadata.name, b.metadata.name),
        );
    },
    unreadFileOf(kind, namespace, name) {
      const id = objectId(kind, namespace, name);
      const file = known.get(id)?.file;
      return file !== undefined && !latest.places.has(id) ? file : undefined;
    },
    resourceVersion: () => String(version),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function allOf({ providers, modelRoutes, apiKeys }: Manifests): readonly (readonly [OwnKind, RawObject])[] {
  return [
    ...providers.map((object) => ['Provider', object] as const),
    ...modelRoutes.map((object) => ['ModelRoute', object] as const),
    ...apiKeys.map((object) => ['ApiKey', object] as const),
  ];
}

/** As databases order text, whatever the language of the machine. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Another one for an object that was created again under the name, and the same after a restart. */
function uidOf(id: string, createdAt: string): string {
  const digits = hash('sha256', `${id} ${createdAt}`, 'hex');
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => digits.slice(from, to))
    .join('-');
}
