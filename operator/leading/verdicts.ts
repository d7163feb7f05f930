// The verdicts of one run, derived from the previous run by the differences: of fifty thousand ApiKeys few change.

import type { ApiKeyVerdict, RoutingVerdict, Verdict } from '../compile/verdict.ts';
import type { NamesOf } from '../compile/verdict-names.ts';
import { differing } from '../lists/differing.ts';
import { emptyMap, keysUnlike, type SharedMap } from '../lists/shared-map.ts';

/** Verdicts by `Kind/namespace/name`. */
export interface Verdicts {
  /** Of Providers, then of ModelRoutes, by namespace and name; the identical value while none has changed. */
  readonly routing: ReadonlyMap<string, RoutingVerdict>;
  readonly apiKeys: SharedMap<ApiKeyVerdict>;
  get(key: string): Verdict | undefined;
  /** Keys of all verdicts; ApiKeys come last. */
  keys(): Iterable<string>;
}

export const NO_VERDICTS: Verdicts = verdictsOf(new Map(), emptyMap());

function verdictsOf(routing: Verdicts['routing'], apiKeys: Verdicts['apiKeys']): Verdicts {
  return {
    routing,
    apiKeys,
    get: (key) => routing.get(key) ?? apiKeys.get(key),
    *keys() {
      yield* routing.keys();
      for (const [key] of apiKeys.entries()) yield key;
    },
  };
}

/** @returns what gathers the verdicts of each run; it remembers those of the last. */
export function createGatherer(namesOf: NamesOf): (verdicts: readonly Verdict[]) => Verdicts {
  let last: readonly Verdict[] = [];
  let { routing, apiKeys } = NO_VERDICTS;
  return (verdicts) => {
    const { gone, added } = differing(last, verdicts);
    last = verdicts;
    apiKeys = apiKeys.with([
      ...gone.filter(isOfApiKey).map((verdict) => [namesOf(verdict).key, undefined] as const),
      ...added.filter(isOfApiKey).map((verdict) => [namesOf(verdict).key, verdict] as const),
    ]);
    if (![...gone, ...added].every(isOfApiKey)) routing = routingIn(verdicts, namesOf);
    return verdictsOf(routing, apiKeys);
  };
}

function routingIn(verdicts: readonly Verdict[], namesOf: NamesOf): Verdicts['routing'] {
  const routing = new Map<string, RoutingVerdict>();
  for (const verdict of verdicts) {
    // ApiKeys come last.
    if (verdict.kind === 'ApiKey') break;
    routing.set(namesOf(verdict).key, verdict);
  }
  return routing;
}

/** The same, with another verdict on one of its objects. */
export function withVerdict({ routing, apiKeys }: Verdicts, key: string, verdict: Verdict): Verdicts {
  return verdict.kind === 'ApiKey'
    ? verdictsOf(routing, apiKeys.with([[key, verdict]]))
    : verdictsOf(new Map(routing).set(key, verdict), apiKeys);
}

/** Keys of objects whose verdicts differ, or that only one run knows. */
export function keysWithOtherVerdicts(a: Verdicts, b: Verdicts): readonly string[] {
  const routing = a.routing === b.routing ? [] : [...a.routing.keys(), ...b.routing.keys()];
  return [
    ...[...new Set(routing)].filter((key) => a.routing.get(key) !== b.routing.get(key)),
    ...keysUnlike(a.apiKeys, b.apiKeys),
  ];
}

function isOfApiKey(verdict: Verdict): verdict is ApiKeyVerdict {
  return verdict.kind === 'ApiKey';
}
