// Compiles Providers and ModelRoutes. Each result is cached by its inputs, and so is the whole, since most changes are of ApiKeys.

import type { TableContent } from '../../core/contract/routing-table.ts';
import type { AddressRules } from '../../core/egress/address-rules.ts';
import { isSameList } from '../lists/differing.ts';
import { type ModelRoute, parseModelRoute } from '../resources/model-route.ts';
import type { Parsed } from '../resources/parse.ts';
import { type Provider, parseProvider } from '../resources/provider.ts';
import type {
  ConfigMapRecord,
  NamespaceRecord,
  PlatformSettings,
  RawObject,
  SecretRecord,
} from '../watch/snapshot.ts';
import type { Catalog } from './catalog.ts';
import { type Claim, type Conflict, findModelConflicts, type Served } from './checks/model-conflict.ts';
import { certificateTurns, configMapOf } from './connection.ts';
import { contain } from './contain.ts';
import type { HealthCheck } from './health-check.ts';
import { type HoldProviderInput, holdProvider } from './hold-provider.ts';
import { type HeldClaim, holdRoute, settleHeldRoute } from './hold-route.ts';
import { type FindByPlace, placeOf } from './index-by-place.ts';
import { type LastGood, mayHold } from './last-good.ts';
import { createMemo, createStable } from './memo.ts';
import { comparePlace, compareText } from './order.ts';
import {
  type CompiledProvider,
  compileProvider,
  notAccepted,
  type ProviderInput,
  secretsOf,
} from './providers.ts';
import { lookUpPrices, lookUpWindows, nextPriceMs, quoteAt } from './quotes.ts';
import {
  type CompiledRoute,
  compileRoute,
  draftRoute,
  type RouteClaim,
  type RouteDraft,
  refOf,
  refuse,
} from './routes.ts';
import { startTurns, type Turns } from './turns.ts';
import type { ProviderVerdict, RoutingVerdict } from './verdict.ts';

/** Unchanged inputs must be identical values (===) to those of the last compile, lists too. */
interface RoutingInput {
  readonly providers: readonly RawObject[];
  readonly modelRoutes: readonly RawObject[];
  readonly namespaces: readonly NamespaceRecord[];
  readonly findSecret: FindByPlace<SecretRecord>;
  readonly findConfigMap: FindByPlace<ConfigMapRecord>;
  readonly platform: PlatformSettings;
  readonly addressRules: AddressRules;
  readonly lastGood: LastGood;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

interface Routing {
  readonly table: Pick<TableContent, 'providers' | 'credentials' | 'routes' | 'unavailable'>;
  /** Of Providers, then of ModelRoutes; by namespace and name. */
  readonly verdicts: readonly RoutingVerdict[];
  /** Of the Providers in the table. */
  readonly healthChecks: readonly HealthCheck[];
}

interface RoutingCompiler {
  /** With the Unix milliseconds at which the same input gives another result, if there is such a time. */
  compile(input: RoutingInput): { readonly routing: Routing; readonly staleAtMs: number | undefined };
  /** How many were computed since this was last asked. */
  takeCounts(): { readonly providers: number; readonly routes: number };
}

interface LastRouting {
  readonly inputs: readonly unknown[];
  readonly routing: Routing;
  readonly madeMs: number;
  readonly staleAtMs: number | undefined;
}

export function createRoutingCompiler(catalog: Catalog): RoutingCompiler {
  const parsedProviders = createMemo();
  const parsedRoutes = createMemo();
  const certificateTimes = createMemo();
  const compiledProviders = createMemo();
  const heldProviders = createMemo();
  const draftedRoutes = createMemo();
  const lookedUp = createMemo();
  const compiledRoutes = createMemo();
  const providerVerdicts = createMemo();
  const stableProviders = createStable<TableContent['providers']>();
  const stableCredentials = createStable<TableContent['credentials']>();
  const stableRoutes = createStable<TableContent['routes']>();
  const stableUnavailable = createStable<NonNullable<TableContent['unavailable']>>();
  const stableVerdicts = createStable<readonly RoutingVerdict[]>();
  let last: LastRouting | undefined;

  return {
    compile,
    takeCounts: () => ({ providers: compiledProviders.takeCount(), routes: compiledRoutes.takeCount() }),
  };

  function compile(input: RoutingInput): {
    readonly routing: Routing;
    readonly staleAtMs: number | undefined;
  } {
    const { modelRoutes, namespaces, findSecret, findConfigMap, platform, addressRules } = input;
    const { lastGood, nowMs } = input;
    const ofProviders = startTurns(nowMs);
    const providers = compileProviders();
    const inputs = [modelRoutes, namespaces, platform, lastGood, ...providers.values()];
    if (last === undefined || !isSameList(last.inputs, inputs) || !isTimely(last, nowMs)) {
      const turns = startTurns(nowMs);
      const routing = describe(providers, compileRoutes(turns));
      for (const { held } of routing.verdicts) turns.at(held?.untilMs);
      last = { inputs, routing, madeMs: nowMs, staleAtMs: turns.next() };
    }
    ofProviders.at(last.staleAtMs);
    return { routing: last.routing, staleAtMs: ofProviders.next() };

    function compileProviders(): ReadonlyMap<string, CompiledProvider> {
      const compiled = new Map<string, CompiledProvider>();
      for (const object of input.providers) {
        const one = contain(
          () => providerOf(object),
          (fault) => notAccepted(object, fault),
        );
        compiled.set(placeOf(object.metadata), one);
      }
      return compiled;
    }

    function providerOf(object: RawObject): CompiledProvider {
      const { namespace } = object.metadata;
      const parsed = parsedProviders.get(object, [], () => parseProvider(object));
      const secret = (name: string) => findSecret(namespace, name);
      const configMap = (name: string) => findConfigMap(namespace, name);
      const used = parsed.ok ? usedBy(parsed.value.spec, { secret, configMap }) : [];
      const certificates = certificateTimes.get(object, used, () =>
        parsed.ok ? certificateTurns(parsed.value.spec, { secret, configMap }) : [],
      );
      const inputs = [platform, selectorInput(parsed, namespaces), ofProviders.passed(certificates), ...used];
      const one = { object, parsed, secret, configMap, namespaces, platform, addressRules, nowMs };
      const present = compiledProviders.get(object, inputs, () => compileProvider(one));
      return held(present, one);
    }

    function held(present: CompiledProvider, one: HoldProviderInput): CompiledProvider {
      const { object } = one;
      const form = mayHold('Provider', object, present.verdict, lastGood, nowMs);
      const good = form && lastGood.provider(placeOf(object.metadata));
      if (form === undefined || good === undefined) return present;
      const { entry, credentials } = good;
      const used = credentials.map(({ from }) => (from === undefined ? undefined : one.secret(from.secret)));
      const inputs = [present, platform, namespaces, form.sinceMs, form.untilMs, form.generation, entry];
      return heldProviders.get(object, [...inputs, ...credentials, ...used], () =>
        holdProvider(present, good, form, one),
      );
    }

    function compileRoutes(turns: Turns): readonly CompiledRoute[] {
      const drafts = modelRoutes.map((object) =>
        contain(
          () => draftOf(object),
          (fault): RouteDraft => ({ kind: 'refused', verdict: refuse(object, fault) }),
        ),
      );
      const claims = drafts.map((draft) => (draft.kind === 'claim' ? draft.claim : undefined));
      // A route that leaves service no longer keeps its ids: repeat without these routes until no more leave.
      const leaving = new Set<string>();
      for (;;) {
        const { settled, conflicts } = settleClaims(drafts, claims, leaving, turns);
        const left = claims.flatMap((claim, index) => {
          const stays = settled[index]?.entry !== undefined;
          return claim === undefined || stays || servedBy(claim) === undefined ? [] : [claim];
        });
        const more = left.filter((claim) => !leaving.has(placeOf(claim)));
        if (more.length === 0) return settled;
        // A claim that lost to one of the others may win after that one has left.
        const byThemselves = more.filter((claim) => !conflicts.has(claim));
        for (const claim of byThemselves.length > 0 ? byThemselves : more) leaving.add(placeOf(claim));
      }
    }

    function draftOf(object: RawObject): RouteDraft {
      const parsed = parsedRoutes.get(object, [], () => parseModelRoute(object));
      return draftedRoutes.get(object, [platform, selectorInput(parsed, namespaces)], () =>
        draftRoute({ object, parsed, namespaces, platform }),
      );
    }

    /** A form that is held makes another claim than the present one, so that others win or lose by it: until no more are held. */
    function settleClaims(
      drafts: readonly RouteDraft[],
      claims: readonly (RouteClaim | HeldClaim | undefined)[],
      leaving: ReadonlySet<string>,
      turns: Turns,
    ): { readonly settled: CompiledRoute[]; readonly conflicts: ReadonlyMap<Claim, Conflict> } {
      const conflicts = findModelConflicts(
        claims.filter((claim) => claim !== undefined),
        (claim) => (leaving.has(placeOf(claim)) ? undefined : servedBy(claim)),
      );
      const settled = drafts.map((draft, index) => settleClaim(draft, claims[index], conflicts, turns));
      const next = claims.map((claim, index) => {
        const object = modelRoutes[index];
        const present = settled[index];
        if ((claim !== undefined && 'held' in claim) || object === undefined || present === undefined)
          return claim;
        const findProvider = (id: string) => providers.get(id);
        const one = { object, present, namespaces, platform, lastGood, nowMs, findProvider };
        return (
          contain(
            () => holdRoute(one),
            () => undefined,
          ) ?? claim
        );
      });
      return next.some((claim, index) => claim !== claims[index])
        ? settleClaims(drafts, next, leaving, turns)
        : { settled, conflicts };
    }

    /** The entry of a route in the table in use. An object that was recreated under an old name inherits it. */
    function servedBy({ namespace, name }: Claim): Served | undefined {
      const entry = lastGood.route(`${namespace}/${name}`);
      return entry && { ids: [entry.model, ...entry.aliases], sharedWith: entry.sharedWith };
    }

    function settleClaim(
      draft: RouteDraft,
      claim: RouteClaim | HeldClaim | undefined,
      conflicts: ReadonlyMap<Claim, Conflict>,
      turns: Turns,
    ): CompiledRoute {
      if (claim !== undefined && 'held' in claim) return settleHeldRoute(claim, conflicts.has(claim));
      if (draft.kind === 'refused') return { verdict: draft.verdict, attachedTo: [] };
      const conflict = conflicts.get(draft.claim);
      const targets = draft.claim.route.spec.targets.map((target) =>
        providers.get(placeOf(refOf(draft.claim.namespace, target))),
      );
      const lists = targets.map((provider) => provider?.priceList.id);
      const { prices, windows } = lookedUp.get(draft.claim, [...lists, platform], () => ({
        prices: lookUpPrices(draft.claim.route, targets, catalog, platform),
        windows: lookUpWindows(draft.claim.route, targets, catalog),
      }));
      turns.at(nextPriceMs(prices, nowMs));
      const quotes = prices.map((periods) => quoteAt(periods, nowMs));
      const inputs = [
        ...[conflict?.winner, conflict?.modelId, conflict?.by, platform],
        ...targets,
        ...quotes,
      ];
      return compiledRoutes.get(draft.claim, inputs, () =>
        contain(
          () => compileRoute(draft.claim, conflict, targets, quotes, windows, platform),
          (fault) => ({ verdict: refuse(draft.claim.route, fault), attachedTo: [] }),
        ),
      );
    }
  }
  /** Unchanged parts stay identical values (===), so that the next compile can skip them. */
  function describe(
    compiled: ReadonlyMap<string, CompiledProvider>,
    routes: readonly CompiledRoute[],
  ): Routing {
    const providers = [...compiled.values()];
    const attached = countAttached(routes);
    const ofProviders = [...compiled].map(([id, { verdict }]) => {
      const attachedRoutes = attached.get(id) ?? 0;
      return providerVerdicts.get(
        verdict,
        [attachedRoutes],
        (): ProviderVerdict => ({ ...verdict, attachedRoutes }),
      );
    });
    const ofRoutes = routes.map(({ verdict }) => verdict);
    const unavailable = routes.flatMap((route) => route.unavailable ?? []);
    return {
      table: {
        providers: stableProviders(sortedById(providers.flatMap(({ entry }) => entry ?? []))),
        credentials: stableCredentials(sortedById(providers.flatMap(({ credentials }) => credentials))),
        routes: stableRoutes(sortedById(routes.flatMap(({ entry }) => entry ?? []))),
        ...(unavailable.length === 0 ? {} : { unavailable: stableUnavailable(sortedById(unavailable)) }),
      },
      verdicts: stableVerdicts([...ofProviders.sort(comparePlace), ...ofRoutes.sort(comparePlace)]),
      healthChecks: providers
        .flatMap(({ healthCheck }) => healthCheck ?? [])
        .sort((a, b) => compareText(a.provider, b.provider)),
    };
  }
}

/** No moment has passed, in whichever direction, since it was made. */
function isTimely({ madeMs, staleAtMs }: LastRouting, nowMs: number): boolean {
  return madeMs <= nowMs && (staleAtMs === undefined || nowMs < staleAtMs);
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

/** How many routes name each Provider, by `namespace/name`. */
function countAttached(routes: readonly CompiledRoute[]): ReadonlyMap<string, number> {
  const attached = new Map<string, number>();
  for (const { attachedTo } of routes) {
    for (const id of attachedTo) attached.set(id, (attached.get(id) ?? 0) + 1);
  }
  return attached;
}

function sortedById<T extends { readonly id: string }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => compareText(a.id, b.id));
}
