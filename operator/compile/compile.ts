// What shall every gateway do, and what do we tell the users? A snapshot and the time in, the content of
// the routing table and one verdict per object out. Pure: the same snapshot gives the same bytes, whatever
// order its lists are in.
//
//   providers ──► compileProvider ─────────────────────────┐
//   routes ─────► draftRoute ──► findModelConflicts ──► compileRoute ──► table, verdicts
//   keys ───────► compileKey ──► findConflicts ──► withConflict ──┘
//
// Where the present form of a Provider or ModelRoute cannot be served, its last good one may stand in for it (`hold-rules.ts`).
// Each box in camel case that takes one object is remembered by its inputs: one changed key costs one key.

import { type AddressRules, parseAddressRules } from '../../egress/address-rules.ts';
import type { KeyEntry, TableContent } from '../../gateway/contract/routing-table.ts';
import { parseApiKey } from '../resources/api-key.ts';
import { type ModelRoute, parseModelRoute } from '../resources/model-route.ts';
import type { Parsed } from '../resources/parse.ts';
import { type Provider, parseProvider } from '../resources/provider.ts';
import type {
  ConfigMapRecord,
  NamespaceRecord,
  PlatformSettings,
  RawObject,
  SecretRecord,
  Snapshot,
} from '../watch/snapshot.ts';
import { type Catalog, PRICE_CATALOG } from './catalog.ts';
import { createDigestConflicts } from './checks/digest-conflict.ts';
import { type Claim, type Conflict, findModelConflicts, type Served } from './checks/model-conflict.ts';
import { certificateTurns, configMapOf } from './connection.ts';
import type { HealthCheck } from './health-check.ts';
import { type HoldProviderInput, holdProvider } from './hold-provider.ts';
import { type HeldClaim, holdRoute, settleHeldRoute } from './hold-route.ts';
import { indexByPlace } from './index-by-place.ts';
import { createKeyMemo, type KeyReader } from './key-memo.ts';
import { type CompiledKey, compileKey, secretNameOf, turningPoints, withConflict } from './keys.ts';
import { type LastGood, mayHold, NOTHING_GOOD } from './last-good.ts';
import { createMemo, createSorter, createStable } from './memo.ts';
import { compareText } from './order.ts';
import { type CompiledProvider, compileProvider, type ProviderInput, secretsOf } from './providers.ts';
import { lookUpPrices, nextPriceMs, quoteAt } from './quotes.ts';
import {
  type CompiledRoute,
  compileRoute,
  draftRoute,
  type RouteClaim,
  type RouteDraft,
  refOf,
} from './routes.ts';
import type { ApiKeyVerdict, ProviderVerdict, Verdict } from './verdict.ts';

export interface CompileResult {
  readonly table: TableContent;
  /** One for every object, by kind, namespace and name. */
  readonly verdicts: readonly Verdict[];
  /** Of the Providers in the table. */
  readonly healthChecks: readonly HealthCheck[];
  /**
   * Unix milliseconds at which the same snapshot gives another result: a key or a certificate expires, a price changes, a form was
   * held long enough.
   */
  readonly staleAtMs?: number;
  /** How many objects had to be looked at anew; the rest was taken over from the run before. */
  readonly compiled: { readonly providers: number; readonly routes: number; readonly keys: number };
}

/**
 * @param nowMs Unix milliseconds.
 * @param lastGood what the table in use holds; absent: nothing is held.
 * @throws {Error} where `platform.egressAllow` cannot be read; nothing in the objects themselves throws.
 */
export type Compile = (snapshot: Snapshot, nowMs: number, lastGood?: LastGood) => CompileResult;

/** A compile with a memory of its last run. */
export function createCompiler(catalog: Catalog = PRICE_CATALOG): Compile {
  const parsedProviders = createMemo();
  const parsedRoutes = createMemo();
  const certificateTimes = createMemo();
  const compiledProviders = createMemo();
  const heldProviders = createMemo();
  const draftedRoutes = createMemo();
  const lookedUpPrices = createMemo();
  const compiledRoutes = createMemo();
  const compiledKeys = createKeyMemo();
  const findConflicts = createDigestConflicts<CompiledKey>();
  const sortKeys = createSorter<KeyEntry>((a, b) => compareText(a.sha256, b.sha256));
  const sortVerdicts = createSorter<ApiKeyVerdict>(comparePlace);
  const stableNamespaces = createStable<NamespaceRecord>();
  const stablePlatform = createStablePlatform();

  return (snapshot, nowMs, lastGood = NOTHING_GOOD) => {
    const { platform, addressRules } = stablePlatform(snapshot.platform);
    const namespaces = stableNamespaces(snapshot.namespaces);
    const findSecret = indexByPlace(snapshot.secrets);
    const findConfigMap = indexByPlace(snapshot.configMaps);
    let staleAtMs: number | undefined;
    const turnsAt = (timeMs: number): void => {
      if (staleAtMs === undefined || timeMs < staleAtMs) staleAtMs = timeMs;
    };
    const providers = compileProviders();
    const routeObjects = present(snapshot.modelRoutes);
    const routes = compileRoutes();
    const keys = compileKeys();
    for (const { verdict } of [...providers.values(), ...routes]) {
      if (verdict.held !== undefined) turnsAt(verdict.held.untilMs);
    }
    return {
      table: {
        settings: settingsOf(platform),
        providers: sortedById([...providers.values()].flatMap(({ entry }) => entry ?? [])),
        credentials: sortedById([...providers.values()].flatMap(({ credentials }) => credentials)),
        routes: sortedById(routes.flatMap(({ entry }) => entry ?? [])),
        keys: sortKeys(keys.flatMap(({ entries }) => entries)),
      },
      verdicts: [
        ...providerVerdicts(providers, routes).sort(comparePlace),
        ...routes.map(({ verdict }) => verdict).sort(comparePlace),
        ...sortVerdicts(keys.map(({ verdict }) => verdict)),
      ],
      healthChecks: [...providers.values()]
        .flatMap(({ healthCheck }) => healthCheck ?? [])
        .sort((a, b) => compareText(a.provider, b.provider)),
      ...(staleAtMs === undefined ? {} : { staleAtMs }),
      compiled: {
        providers: compiledProviders.takeCount(),
        routes: compiledRoutes.takeCount(),
        keys: compiledKeys.takeCount(),
      },
    };

    function compileProviders(): Map<string, CompiledProvider> {
      const compiled = new Map<string, CompiledProvider>();
      for (const object of present(snapshot.providers)) {
        const { namespace } = object.metadata;
        const parsed = parsedProviders.get(object, [], () => parseProvider(object));
        const secret = (name: string) => findSecret(namespace, name);
        const configMap = (name: string) => findConfigMap(namespace, name);
        const used = parsed.ok ? usedBy(parsed.value.spec, { secret, configMap }) : [];
        const turns = certificateTimes.get(object, used, () =>
          parsed.ok ? certificateTurns(parsed.value.spec, { secret, configMap }) : [],
        );
        const inputs = [platform, selectorInput(parsed, namespaces), passed(turns), ...used];
        const input = { object, parsed, secret, configMap, namespaces, platform, addressRules, nowMs };
        const present = compiledProviders.get(object, inputs, () => compileProvider(input));
        compiled.set(placeOf(object.metadata), held(present, input));
      }
      return compiled;
    }

    function held(present: CompiledProvider, input: HoldProviderInput): CompiledProvider {
      const { object } = input;
      const form = mayHold('Provider', object, present.verdict, lastGood, nowMs);
      const good = form && lastGood.provider(placeOf(object.metadata));
      if (form === undefined || good === undefined) return present;
      const { entry, credentials } = good;
      const used = credentials.map(({ from }) =>
        from === undefined ? undefined : input.secret(from.secret),
      );
      const inputs = [present, platform, namespaces, form.sinceMs, form.untilMs, form.generation, entry];
      return heldProviders.get(object, [...inputs, ...credentials, ...used], () =>
        holdProvider(present, good, form, input),
      );
    }

    function compileRoutes(): CompiledRoute[] {
      const drafts = routeObjects.map((object) => {
        const parsed = parsedRoutes.get(object, [], () => parseModelRoute(object));
        return draftedRoutes.get(object, [platform, selectorInput(parsed, namespaces)], () =>
          draftRoute({ object, parsed, namespaces, platform }),
        );
      });
      const claims = drafts.map((draft) => (draft.kind === 'claim' ? draft.claim : undefined));
      // Who leaves service keeps no id against others any more: begun anew without them, until no more leave.
      const leaving = new Set<string>();
      for (;;) {
        const { settled, conflicts } = settleClaims(drafts, claims, leaving);
        const left = claims.flatMap((claim, index) => {
          const stays = settled[index]?.entry !== undefined;
          return claim === undefined || stays || servedBy(claim) === undefined ? [] : [claim];
        });
        const more = left.filter((claim) => !leaving.has(placeOf(claim)));
        if (more.length === 0) return settled;
        // Who lost to one of the others may win without it.
        const byThemselves = more.filter((claim) => !conflicts.has(claim));
        for (const claim of byThemselves.length > 0 ? byThemselves : more) leaving.add(placeOf(claim));
      }
    }

    /** A form that is held makes another claim than the present one, so that others win or lose by it: until no more are held. */
    function settleClaims(
      drafts: readonly RouteDraft[],
      claims: readonly (RouteClaim | HeldClaim | undefined)[],
      leaving: ReadonlySet<string>,
    ): { readonly settled: CompiledRoute[]; readonly conflicts: ReadonlyMap<Claim, Conflict> } {
      const conflicts = findModelConflicts(
        claims.filter((claim) => claim !== undefined),
        (claim) => (leaving.has(placeOf(claim)) ? undefined : servedBy(claim)),
      );
      const settled = drafts.map((draft, index) => settleClaim(draft, claims[index], conflicts));
      const next = claims.map((claim, index) => {
        const object = routeObjects[index];
        const present = settled[index];
        if ((claim !== undefined && 'held' in claim) || object === undefined || present === undefined)
          return claim;
        const findProvider = (id: string) => providers.get(id);
        return holdRoute({ object, present, namespaces, platform, lastGood, nowMs, findProvider }) ?? claim;
      });
      return next.some((claim, index) => claim !== claims[index])
        ? settleClaims(drafts, next, leaving)
        : { settled, conflicts };
    }

    /** What the table in use has of a route; an object that was made anew under an old name goes on with what is served. */
    function servedBy({ namespace, name }: Claim): Served | undefined {
      const entry = lastGood.route(`${namespace}/${name}`);
      return entry && { ids: [entry.model, ...entry.aliases], sharedWith: entry.sharedWith };
    }

    function settleClaim(
      draft: RouteDraft,
      claim: RouteClaim | HeldClaim | undefined,
      conflicts: ReadonlyMap<Claim, Conflict>,
    ): CompiledRoute {
      if (claim !== undefined && 'held' in claim) return settleHeldRoute(claim, conflicts.has(claim));
      if (draft.kind === 'refused') return { verdict: draft.verdict, attachedTo: [] };
      const conflict = conflicts.get(draft.claim);
      const targets = draft.claim.route.spec.targets.map((target) =>
        providers.get(placeOf(refOf(draft.claim.namespace, target))),
      );
      const lists = targets.map((provider) => provider?.priceList.vendor ?? provider?.priceList.why);
      const prices = lookedUpPrices.get(draft.claim, lists, () =>
        lookUpPrices(draft.claim.route, targets, catalog),
      );
      const turn = nextPriceMs(prices, nowMs);
      if (turn !== undefined) turnsAt(turn);
      const quotes = prices.map((periods) => quoteAt(periods, nowMs));
      const inputs = [
        ...[conflict?.winner, conflict?.modelId, conflict?.by, platform],
        ...targets,
        ...quotes,
      ];
      return compiledRoutes.get(draft.claim, inputs, () =>
        compileRoute(draft.claim, conflict, targets, quotes, platform),
      );
    }

    /** Of the time, only the number of turning points passed makes a difference. */
    function passed(turns: readonly number[]): number {
      let count = 0;
      for (const turn of turns) {
        if (turn <= nowMs) count += 1;
        else turnsAt(turn);
      }
      return count;
    }

    function compileKeys(): CompiledKey[] {
      const input = { read: readKey, findSecret, platform, passed };
      const compiled = compiledKeys.compile(present(snapshot.apiKeys), input);
      const { refused, contested } = findConflicts(compiled, lastGood.keyHolders);
      if (contested.size === 0) return compiled;
      return compiled.map((key) => withConflict(key, refused.get(key), contested.has(key)));
    }

    function readKey(object: RawObject): KeyReader {
      const parsed = parseApiKey(object);
      const { keyPrefix } = platform;
      return {
        secretName: secretNameOf(parsed),
        turns: (secret) => turningPoints(parsed, secret, keyPrefix),
        compile: (secret) => compileKey({ object, parsed, secret, keyPrefix, nowMs }),
      };
    }
  };
}

/** An object on its way out is out: nothing of ours holds a deletion up, and access ends at once. */
function present(objects: readonly RawObject[]): readonly RawObject[] {
  return objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

function placeOf({ namespace, name }: Place): string {
  return `${namespace}/${name}`;
}

function comparePlace(a: Place, b: Place): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** Everything beside the object itself that its result hangs on; absent ones too. */
function usedBy(
  spec: Provider['spec'],
  { secret, configMap }: Pick<ProviderInput, 'secret' | 'configMap'>,
): readonly (SecretRecord | ConfigMapRecord | undefined)[] {
  const name = configMapOf(spec);
  return [name === undefined ? undefined : configMap(name), ...secretsOf(spec).map(secret)];
}

/** The namespaces are an input of those objects alone that select among them. */
function selectorInput(
  parsed: Parsed<Provider> | Parsed<ModelRoute>,
  namespaces: readonly NamespaceRecord[],
): readonly NamespaceRecord[] | undefined {
  return parsed.ok && parsed.value.spec.allowedNamespaces.from === 'Selector' ? namespaces : undefined;
}

interface Platform {
  readonly platform: PlatformSettings;
  readonly addressRules: AddressRules;
}

/** Settings are few and plain, so they are compared by what they say. */
function createStablePlatform(): (next: PlatformSettings) => Platform {
  let last: (Platform & { readonly text: string }) | undefined;
  return (next) => {
    const text = JSON.stringify(next);
    if (last?.text === text) return last;
    last = { text, platform: next, addressRules: parseAddressRules(next.egressAllow) };
    return last;
  };
}

function settingsOf({ servicePrefix, keyPrefix, egressAllow }: PlatformSettings): TableContent['settings'] {
  return {
    servicePrefix,
    keyPrefix,
    egressAllow: egressAllow.map(({ cidr, namespaces }) => ({ cidr, namespaces: [...namespaces] })),
  };
}

function providerVerdicts(
  providers: ReadonlyMap<string, CompiledProvider>,
  routes: readonly CompiledRoute[],
): ProviderVerdict[] {
  const attached = new Map<string, number>();
  for (const { attachedTo } of routes) {
    for (const id of attachedTo) attached.set(id, (attached.get(id) ?? 0) + 1);
  }
  return [...providers].map(([id, { verdict }]) => ({ ...verdict, attachedRoutes: attached.get(id) ?? 0 }));
}

function sortedById<T extends { readonly id: string }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => compareText(a.id, b.id));
}
