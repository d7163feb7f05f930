// Which entries of the last table stay although their objects are missing? A faulty empty list must not end all service, so
// many missing objects without a deletion event are held until a human confirms. Reported deletions take effect at once, and so do
// changes of existing objects. Entries of a namespace that cannot be read stay unchanged.

import {
  credentialsOf,
  dialectNameSchema,
  type RouteEntry,
  type TableContent,
  type TargetEntry,
} from '../../core/contract/routing-table.ts';
import { isRecord } from '../../core/kube/object.ts';
import { findModelConflicts } from '../compile/checks/model-conflict.ts';
import { compareText } from '../compile/order.ts';
import type { ModelRouteVerdict, Verdict } from '../compile/verdict.ts';
import { differing } from '../lists/differing.ts';
import { type TableObjectKind, withoutServed, withProviders } from '../publish/unfit-entry.ts';
import type { RawObject } from '../watch/snapshot.ts';

export interface HoldAbsentInput {
  /** The content in use; without the keys that its manifest revokes, as `takeOver` gives it. */
  readonly last: TableContent | undefined;
  readonly next: TableContent;
  /** Is the object in the cluster? @param id `namespace/name`. */
  isPresent(kind: TableObjectKind, id: string): boolean;
  /** Is anything known about this namespace? */
  isReadable(namespace: string): boolean;
  /** Is the namespace served, by the settings? Objects of other namespaces leave the table. */
  isServed(namespace: string): boolean;
  /** Did an event tell of its deletion? */
  wasSeenDeleted(kind: TableObjectKind, id: string): boolean;
  /**
   * Does this route, as it is now, name the target, and is nothing wrong with either but that the target's
   * Provider is not found? See `findLostTargets`.
   */
  isTargetLost(routeId: string, targetName: string): boolean;
  /** A human has agreed to the absence. */
  readonly isAccepted: boolean;
}

/** How many objects of a kind are in the table although they are absent. */
export type HeldCounts = Readonly<Record<TableObjectKind, number>>;

interface HeldContent {
  readonly content: TableContent;
  readonly held: HeldCounts;
}

/** Fewer than that are believed; so is half of a kind or less. */
const HELD_MIN = 20;

export function holdAbsent(input: HoldAbsentInput): HeldContent {
  const { last, next } = input;
  if (last === undefined) return { content: next, held: { Provider: 0, ModelRoute: 0, ApiKey: 0 } };
  const heldProviders = heldIds('Provider', last.providers, next.providers, input);
  const heldRoutes = heldIds('ModelRoute', last.routes, next.routes, input);
  const heldKeys = heldIds('ApiKey', last.keys, next.keys, input);
  const held = { Provider: heldProviders.size, ModelRoute: heldRoutes.size, ApiKey: heldKeys.size };
  if (heldProviders.size + heldRoutes.size + heldKeys.size === 0) return { content: next, held };

  const providers = merged(next.providers, last.providers, ({ id }) => id, heldProviders);
  const routes = holdRoutes(input, heldRoutes, heldProviders, new Set(providers.map(({ id }) => id)));
  const content = {
    settings: next.settings,
    providers,
    credentials: holdCredentials(last, next, heldProviders),
    routes,
    ...withoutServed(next.unavailable, routes),
    keys: merged(next.keys, last.keys, ({ sha256 }) => sha256, heldKeys),
  };
  return { content, held };
}

/**
 * The targets whose Provider is not found, of routes that nothing else keeps out of service.
 *
 * @param modelRoutes as they were compiled: of a suspended route without targets the verdict tells only the latter.
 */
export function findLostTargets(
  verdicts: Iterable<Verdict>,
  modelRoutes: readonly RawObject[],
): HoldAbsentInput['isTargetLost'] {
  // Asked only where Providers are absent.
  let lost: ReadonlySet<string> | undefined;
  return (routeId, targetName) => {
    lost ??= lostTargets([...verdicts], modelRoutes);
    return lost.has(`${routeId}/${targetName}`);
  };
}

function lostTargets(verdicts: readonly Verdict[], modelRoutes: readonly RawObject[]): ReadonlySet<string> {
  const suspended = new Set(
    modelRoutes
      .filter(({ spec }) => isRecord(spec) && spec.suspended === true)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
  );
  return new Set(
    verdicts
      .filter((verdict) => verdict.kind === 'ModelRoute')
      .filter(wantsTargetsOnly)
      .filter(({ namespace, name }) => !suspended.has(`${namespace}/${name}`))
      .flatMap(({ namespace, name, targets }) =>
        targets
          .filter(({ state }) => state === 'RefNotFound')
          .map((target) => `${namespace}/${name}/${target.name}`),
      ),
  );
}

function wantsTargetsOnly({ conditions }: ModelRouteVerdict): boolean {
  const reason = conditions.find(({ type }) => type === 'Accepted')?.reason;
  return reason === 'Accepted' || reason === 'NoUsableTarget';
}

interface Entry {
  readonly id: string;
}

/** The ids of the objects to hold: all of what cannot be read, and of what is missing, where it is enough. */
function heldIds(
  kind: TableObjectKind,
  last: readonly Entry[],
  next: readonly Entry[],
  { isPresent, isReadable, isServed, wasSeenDeleted, isAccepted }: HoldAbsentInput,
): ReadonlySet<string> {
  // Entries that the compile gave again are present. An ApiKey with several digests has several entries.
  const gone = new Set(
    differing(last, next)
      .gone.map(({ id }) => id)
      .filter((id) => isServed(namespaceOf(id))),
  );
  const unknown = [...gone].filter((id) => !isReadable(namespaceOf(id)));
  const absent = [...gone].filter(
    (id) => isReadable(namespaceOf(id)) && !isPresent(kind, id) && !wasSeenDeleted(kind, id),
  );
  if (absent.length < HELD_MIN || isAccepted) return new Set(unknown); // guard: mass-deletion
  const all = new Set(last.map(({ id }) => id));
  return new Set(absent.length > all.size / 2 ? [...unknown, ...absent] : unknown);
}

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

/** A present entry comes before a held one of the same name. */
function merged<T extends { readonly id: string }>(
  next: readonly T[],
  last: readonly T[],
  nameOf: (entry: T) => string,
  heldIds: ReadonlySet<string>,
): T[] {
  if (heldIds.size === 0) return [...next];
  const held = last.filter((entry) => heldIds.has(entry.id));
  const owners = new Map(held.map((entry) => [nameOf(entry), entry.id]));
  // What works for one that is only out of sight is not given to another one.
  const free = next.filter((entry) => (owners.get(nameOf(entry)) ?? entry.id) === entry.id);
  const taken = new Set(free.map(nameOf));
  const rest = held.filter((entry) => !taken.has(nameOf(entry)));
  return [...free, ...rest].sort((a, b) => compareText(nameOf(a), nameOf(b)));
}

function holdCredentials(
  last: TableContent,
  next: TableContent,
  heldProviders: ReadonlySet<string>,
): TableContent['credentials'] {
  const used = new Set(last.providers.filter(({ id }) => heldProviders.has(id)).flatMap(credentialsOf));
  return merged(next.credentials, last.credentials, ({ id }) => id, used);
}

function holdRoutes(
  { last, next, isPresent, isTargetLost }: HoldAbsentInput,
  heldRoutes: ReadonlySet<string>,
  heldProviders: ReadonlySet<string>,
  providerIds: ReadonlySet<string>,
): RouteEntry[] {
  const compiled = new Map(next.routes.map((route) => [route.id, route]));
  const routes = new Map(compiled);
  for (const earlier of last?.routes ?? []) {
    if (heldRoutes.has(earlier.id)) {
      routes.set(earlier.id, earlier);
    } else if (isPresent('ModelRoute', earlier.id)) {
      // The compile does not see a held provider, so the routes that are there lost their targets at it.
      const lost = earlier.targets.filter(
        ({ name, provider }) => heldProviders.has(provider) && isTargetLost(earlier.id, name),
      );
      if (lost.length > 0) routes.set(earlier.id, withTargets(earlier, routes.get(earlier.id), lost));
    }
  }
  const usable = withProviders([...routes.values()], providerIds);
  return withoutConflicts(usable, compiled).sort((a, b) => compareText(a.id, b.id));
}

function withTargets(
  earlier: RouteEntry,
  now: RouteEntry | undefined,
  lost: readonly TargetEntry[],
): RouteEntry {
  if (now === undefined) return { ...earlier, targets: [...lost] };
  const isServed = new Set([...now.endpoints, ...earlier.endpoints]);
  return {
    ...now,
    targets: [...now.targets, ...lost],
    endpoints: dialectNameSchema.options.filter((dialect) => isServed.has(dialect)),
  };
}

/** A model id that an object in the cluster claims now is no longer that of a held route. */
function withoutConflicts(
  routes: readonly RouteEntry[],
  compiled: ReadonlyMap<string, RouteEntry>,
): RouteEntry[] {
  const claims = routes.map((route) => {
    const [namespace = '', name = ''] = route.id.split('/');
    return {
      route,
      namespace,
      name,
      createdAt: compiled.has(route.id) ? '' : 'held',
      ids: [route.model, ...route.aliases],
      sharedWith: route.sharedWith,
    };
  });
  const lost = findModelConflicts(claims);
  return claims.filter((claim) => !lost.has(claim)).map(({ route }) => route);
}
